"""Each sentence of docs/promises.md has a test marked `promise`, and every marker quotes a sentence of that page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/promises.md"
BENCHMARK = re.compile(
    r"\s*\(`hindsight-evals bench \w+`\)"
)  # the page names the benchmark after the promise


def promises() -> list[str]:
    """The sentences of the page's lists."""
    items = re.findall(r"^- (.*(?:\n  .*)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    texts = (BENCHMARK.sub("", " ".join(item.split())) for item in items)
    return [sentence for text in texts for sentence in re.split(r"(?<=\.)\s+(?=[A-Z`])", text)]


def marked(*folders: str) -> dict[str, list[str]]:
    """Texts of the markers in these folders, each with the marked tests."""
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
    """The test is run by `make test`; those in `evals/tests` are additional."""
    tests = marked("tests")
    assert len(promises()) >= 25
    assert [promise for promise in promises() if promise not in tests] == []


def test_every_marker_is_a_promise() -> None:
    sentences = promises()
    assert {
        text: tests for text, tests in marked("tests", "evals/tests").items() if text not in sentences
    } == {}
