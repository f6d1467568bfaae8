"""Reading published files: a field that is not as described is named with its file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hindsight_evals.errors import DatasetInvalid

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
        raise named_error(error, path) from error


def named_error(error: ValidationError, path: Path, within: str = "") -> DatasetInvalid:
    """The first thing wrong, with its field as people write it: "qa[3].evidence"; "the file" for all of it.

    Args:
        error: what pydantic says.
        path: the file.
        within: the field that what it read stands in.
    """
    first = error.errors(include_url=False)[0]
    named = [part for part in first["loc"] if not str(part).startswith(("_", "list["))]  # branches of a union
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in named]
    return DatasetInvalid(path, (within + "".join(parts)).removeprefix(".") or "the file", first["msg"])
