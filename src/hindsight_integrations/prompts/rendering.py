"""Shared rendering: loading templates, and fencing text as data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """Return the text of `templates/<name>.md`."""
    return (
        files("hindsight_integrations.prompts")
        .joinpath("templates", f"{name}.md")
        .read_text(encoding="utf-8")
        .strip()
    )


def fenced(label: str, lines: Iterable[str]) -> str:
    """Fence lines between markers that the lines cannot imitate: memory text is data, never an instruction."""
    body = "\n".join(lines).replace("<<<", "< < <").replace(">>>", "> > >")
    return f"<<<{label}\n{body}\n{label}>>>"
