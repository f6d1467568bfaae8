"""What prompts share: templates from files, and fences around text that is data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """The text of `templates/<name>.md`."""
    return (
        files("hindsight_integrations.prompts")
        .joinpath("templates", f"{name}.md")
        .read_text(encoding="utf-8")
        .strip()
    )


def fenced(label: str, lines: Iterable[str]) -> str:
    """Lines between markers that the lines themselves cannot imitate: memory text is data, never an instruction."""
    body = "\n".join(lines).replace("<<<", "< < <").replace(">>>", "> > >")
    return f"<<<{label}\n{body}\n{label}>>>"
