"""Each promise of README has a test, by the marker `promise`, and no test is marked with anything else."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE_BY = re.compile(r"\s*\(`hindsight-evals bench \w+`\)")  # README names the benchmark beside the promise


def promises() -> list[str]:
    """The sentences of README's section of promises; paragraphs with links point to other pages."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Promises\n")[1].split("\n## ")[0]
    paragraphs = re.split(r"\n(?:- |\n)", f"\n{section}")
    texts = (
        MADE_BY.sub("", " ".join(text.removeprefix("- ").split())) for text in paragraphs if "](" not in text
    )
    return [sentence for text in texts for sentence in re.split(r"(?<=\.)\s+(?=[A-Z])", text) if sentence]


def marked(*folders: str) -> dict[str, list[str]]:
    """Texts of the markers of the tests in these folders, each with the tests that bear it."""
    tests: dict[str, list[str]] = {}
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)) if "mark.promise" in source else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for decorator in node.decorator_list:
                    if (
                        isinstance(decorator, ast.Call)
                        and ast.unparse(decorator.func) == "pytest.mark.promise"
                    ):
                        (text,) = decorator.args
                        tests.setdefault(ast.literal_eval(text), []).append(f"{path.name}::{node.name}")
    return tests


def test_every_promise_has_a_test() -> None:
    """One that `make test` runs; those of `evals/tests` come on top."""
    tests = marked("tests")
    assert len(promises()) >= 10
    assert [promise for promise in promises() if promise not in tests] == []


def test_every_marker_is_a_promise() -> None:
    sentences = promises()
    assert {
        text: tests for text, tests in marked("tests", "evals/tests").items() if text not in sentences
    } == {}
