"""Prompts of the evaluations: the reader that answers from a system's context, and the judges."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """Return the text of `templates/<name>.md`."""
    return files(__name__).joinpath("templates", f"{name}.md").read_text(encoding="utf-8").strip()
