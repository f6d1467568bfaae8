"""What README promises is tested, and docs/promises.md says by what."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from table import every_row

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^]]*\]\([^)]*\)")
MADE_BY = re.compile(r"\s*\(`benchmarks/\w+\.py`\)")  # README names the benchmark beside the promise
TEST = re.compile(r"`([^`:]+)::(\w+)`")


def promised() -> list[str]:
    """The sentences of README's section of promises, those that only point to other pages aside."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("\n## Promises\n")[1].split("\n## ")[0]
    paragraphs = re.split(r"\n(?:- |\n)", f"\n{section}")
    texts = (MADE_BY.sub("", " ".join(text.removeprefix("- ").split())) for text in paragraphs)
    sentences = [each for text in texts for each in re.split(r"(?<=\.)\s+(?=[A-Z])", text) if each]
    return [each for each in sentences if not LINK.search(each) and not each.startswith("Licence")]


def rows() -> dict[str, str]:
    """Promise to the cell that names its tests."""
    table = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8").split("|---|---|\n")[1]
    cells = [line.strip("| \n").split(" | ", 1) for line in table.splitlines() if line.startswith("|")]
    return {promise.strip(): tests for promise, tests in cells}


def functions_of(path: Path) -> set[str]:
    """Names of the test functions of a file, methods included."""
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_promise_has_a_row_and_every_row_is_a_promise() -> None:
    """README and the table say the same, sentence by sentence, in the same order."""
    assert len(promised()) >= 10
    assert [*rows()] == promised()


@every_row("promise", rows())
def test_the_tests_of_a_promise_are_there(promise: str) -> None:
    """A test that is renamed or removed must be replaced in the table."""
    named = TEST.findall(rows()[promise])
    assert named
    assert rows()[promise].count("`") == 2 * len(named)  # nothing else stands in the cell
    for path, name in named:
        assert name.startswith("test_")
        assert name in functions_of(ROOT / path), f"{path}::{name}"
