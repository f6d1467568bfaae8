"""The Python examples of the pages in docs/."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def text_of(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    """The Python examples of a page, in order."""
    return re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)


def example(page: str, marker: str) -> str:
    """The only example of a page that contains the marker."""
    (code,) = [code for code in blocks(page) if marker in code]
    return code
