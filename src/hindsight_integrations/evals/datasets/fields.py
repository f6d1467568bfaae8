"""Reading published files: a field that is not as described is named with its file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hindsight_integrations.evals.errors import DatasetInvalid

T = TypeVar("T")


class Published(BaseModel):
    """A part of a published file. What it holds beyond what we read is left aside."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_json(path: Path, shape: type[T]) -> T:
    """A JSON file as the shape wanted.

    Raises:
        DatasetInvalid: it is no JSON, or a field is not as it should be; names the first.
    """
    try:
        return TypeAdapter(shape).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DatasetInvalid(path, _place(first["loc"]), first["msg"]) from error


def _place(loc: tuple[int | str, ...]) -> str:
    """A field as people write it: "qa[3].evidence"; "the file" for all of it."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc]
    return "".join(parts).removeprefix(".") or "the file"
