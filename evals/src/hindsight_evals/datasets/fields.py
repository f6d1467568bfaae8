"""Read published files; errors name the file and the invalid field."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hindsight_evals.errors import DatasetInvalid

T = TypeVar("T")


class Published(BaseModel):
    """A part of a published file; fields that are not listed are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_json(path: Path, shape: type[T]) -> T:
    """Read a JSON file in the given form.

    Raises:
        DatasetInvalid: the file is not JSON, or a field is invalid; names the first one.
    """
    try:
        return TypeAdapter(shape).validate_json(path.read_bytes())
    except ValidationError as error:
        raise named_error(error, path) from error


def named_error(error: ValidationError, path: Path, within: str = "") -> DatasetInvalid:
    """Return the first error with its field as a readable path, such as "qa[3].evidence", or "the file".

    Args:
        error: pydantic's error.
        path: the file.
        within: the field that contains the validated value.
    """
    first = error.errors(include_url=False)[0]
    named = [part for part in first["loc"] if not str(part).startswith(("_", "list["))]  # branches of a union
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in named]
    return DatasetInvalid(path, (within + "".join(parts)).removeprefix(".") or "the file", first["msg"])
