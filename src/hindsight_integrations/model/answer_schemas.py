"""Schemas of answers as models are shown them: without what a model need not read in every request."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import WithJsonSchema


def bare(schema: dict[str, Any]) -> None:
    """Leave out what a model need not read in every request: titles that repeat a field's name, and docstrings for us."""
    for part in (schema, *schema["properties"].values()):
        part.pop("title", None)
    schema.pop("description", None)


def one_of(choices: type[StrEnum]) -> WithJsonSchema:
    """The schema of a choice: its values alone, without the docstring for us."""
    return WithJsonSchema({"enum": [each.value for each in choices], "type": "string"})
