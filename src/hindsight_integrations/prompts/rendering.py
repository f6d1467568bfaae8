"""Load prompt templates, format texts as data, and build the messages of prompts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole

T = TypeVar("T", bound=BaseModel)


@cache
def template(name: str) -> str:
    """Return the text of `templates/<name>.md`."""
    return (
        files("hindsight_integrations.prompts")
        .joinpath("templates", f"{name}.md")
        .read_text(encoding="utf-8")
        .strip()
    )


@cache
def table(name: str) -> list[list[str]]:
    """Return the rows of the table in `templates/<name>.md`, without its head."""
    rows = template(name).splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def fenced(label: str, lines: Iterable[str]) -> str:
    """Enclose lines in markers that the lines cannot contain, so that the model treats memory text as data."""
    body = "\n".join(lines).replace("<<<", "< < <").replace(">>>", "> > >")
    return f"<<<{label}\n{body}\n{label}>>>"


def one_line(text: str) -> str:
    """Remove line breaks, so that a text cannot imitate several."""
    return " ".join(text.split())


def numbered(texts: Iterable[str], first: int = 1) -> Iterator[str]:
    """Format each text on a separate line with its number."""
    return (f"[{number}] {one_line(text)}" for number, text in enumerate(texts, first))


def prompt_messages(system: str, parts: Iterable[str]) -> tuple[PromptMessage, PromptMessage]:
    """Build a system message, and a user message of parts that are separated by blank lines."""
    return PromptMessage(PromptRole.SYSTEM, system), PromptMessage(PromptRole.USER, "\n\n".join(parts))


def with_schema_in_words(prompt: Prompt[T]) -> Prompt[T]:
    """Append the schema to the system message, for a service without structured output."""
    schema = json.dumps(prompt.schema.model_json_schema(), separators=(",", ":"))
    asked = f"{template('json_answer')}\n{schema}"
    first, *rest = prompt.messages
    if first.role is PromptRole.SYSTEM:
        return replace(prompt, messages=(replace(first, text=f"{first.text}\n\n{asked}"), *rest))
    return replace(prompt, messages=(PromptMessage(PromptRole.SYSTEM, asked), first, *rest))
