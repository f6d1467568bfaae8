"""docs/conformance.md names exactly the cases of LangGraph's suites that our store does not pass."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXCEPTIONS = ROOT / "tests/conformance/langgraph_suites/exceptions.toml"
PAGE = ROOT / "docs/conformance.md"


def test_the_page_publishes_the_exceptions_that_a_run_allows() -> None:
    allowed = {case["name"] for case in tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["case"]}
    published = set(re.findall(r"`(test_\w+\.py::[\w:]+)`", PAGE.read_text(encoding="utf-8")))
    assert published == allowed
