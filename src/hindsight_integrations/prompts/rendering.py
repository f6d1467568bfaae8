"""Load prompt templates, and fence text as data."""

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
    """Enclose lines in markers that the lines cannot contain, so that the model treats memory text as data."""
    body = "\n".join(lines).replace("<<<", "< < <").replace(">>>", "> > >")
    return f"<<<{label}\n{body}\n{label}>>>"
