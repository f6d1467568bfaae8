"""Validation of arguments that several methods share: fact types, times, windows, vectors, profiles, paths and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from io import BufferedIOBase, RawIOBase
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.options import Embedding
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.requests import GivenScores, MinScores
from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.time import Interval, LocalDates, as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.validation.limits import (
    MAX_BACKGROUND,
    MAX_NAME,
    MAX_QUERY,
    checked_id,
    checked_list,
    checked_moment,
    checked_text,
)

MAX_OPERATION = 512  # maximum characters of the `operation` key of a reflection


def checked_schema(schema: object) -> type[BaseModel] | None:
    """Validate the pydantic model for a structured answer; None stays None.

    Raises:
        InvalidRequest: the value is not a pydantic model class.
    """
    if schema is None:
        return None
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        raise InvalidRequest(
            "response_schema", f"{shown(schema)} is not a pydantic model", "Pass a subclass of BaseModel."
        )
    return schema


def checked_tools(value: object) -> tuple[Callable[..., object], ...]:
    """Validate the caller's tools; None means an empty list.

    Raises:
        InvalidRequest: the value is not a list, or a tool is not callable.
    """
    tools = [] if value is None else checked_list(value, "tools")
    for tool in tools:
        if not callable(tool) and not callable(
            getattr(tool, "ainvoke", None)
        ):  # LangChain tools have `ainvoke`
            reason = f"{shown(tool)} is not callable"
            raise InvalidRequest("tools", reason, "Pass functions or LangChain tools.")
    return tuple(tools)


UNIT = 1e-5  # tolerance for the length of a unit vector in float32
MAX_EMBEDDED = 64  # maximum number of texts to embed instead of the question

_REMEDY = "Pass a vector from the bank's embedder, or a list of texts to embed."


def checked_embedding(embedding: Embedding) -> tuple[float, ...] | tuple[str, ...]:
    """Return a unit vector, or texts to embed. An empty tuple means that the question itself is embedded.

    Args:
        embedding: the caller's value. The dimension of a vector is checked later, against the embedder.

    Raises:
        InvalidRequest: the value is neither a non-zero vector nor a list of texts.
    """
    if embedding is None:
        return ()
    if not isinstance(embedding, Sequence | np.ndarray) or isinstance(embedding, str | bytes):
        raise InvalidRequest("embedding", f"{type(embedding).__name__} is not a vector", _REMEDY)
    if any(isinstance(item, str) for item in embedding):
        if len(embedding) > MAX_EMBEDDED:
            raise InvalidRequest(
                "embedding", f"it has {len(embedding)} texts, over {MAX_EMBEDDED}", "Pass fewer."
            )
        return tuple(checked_text(text, f"embedding[{n}]", MAX_QUERY) for n, text in enumerate(embedding))
    return _unit_vector(embedding)


def _unit_vector(embedding: Sequence[Any] | npt.NDArray[Any]) -> tuple[float, ...]:
    try:
        vector = np.asarray(embedding)
    except ValueError:  # rows have different lengths
        raise InvalidRequest("embedding", "it is not a one-dimensional list of numbers", _REMEDY) from None
    if vector.ndim != 1 or not vector.size or vector.dtype.kind not in "fiu":
        raise InvalidRequest("embedding", "it is not a one-dimensional list of numbers", _REMEDY)
    vector = vector.astype(np.float64)
    if not np.isfinite(vector).all():
        raise InvalidRequest("embedding", "it contains NaN or infinity", _REMEDY)
    largest = np.abs(vector).max()
    if not largest:
        raise InvalidRequest("embedding", "all its numbers are zero", _REMEDY)
    scaled = vector / largest  # scaled first, so that squares neither overflow nor underflow
    length = float(np.linalg.norm(scaled)) * largest
    if abs(length - 1) < UNIT:  # a unit vector stays as it is, because its last bits decide ties
        return tuple(vector.tolist())
    return tuple((scaled / np.linalg.norm(scaled)).tolist())


class _Thresholds(BaseModel):
    """The valid range of each stage's score. Booleans and numeric strings are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    semantic: float | None = Field(None, ge=-1, le=1, description="a number from -1 to 1")
    keyword: float | None = Field(None, ge=0, description="a number from 0 to inf")
    reranker: float | None = Field(None, ge=0, le=1, description="a number from 0 to 1")
    final: float | None = Field(None, description="a number from -inf to inf")


def checked_min_scores(scores: GivenScores) -> MinScores:
    """Validate minimum scores.

    Args:
        scores: MinScores or a mapping from stages to thresholds; None means no minimum.

    Raises:
        InvalidRequest: a stage is unknown, or a threshold is outside its range.
    """
    if scores is None:
        return MinScores()
    if not isinstance(scores, MinScores | Mapping):
        raise InvalidRequest(
            "min_scores", f"{shown(scores)} is not a mapping", 'Pass MinScores or {"reranker": 0.3}.'
        )
    values = asdict(scores) if isinstance(scores, MinScores) else dict(scores)
    try:
        return MinScores(**_Thresholds.model_validate(values).model_dump())
    except ValidationError as error:
        problem = error.errors()[0]
        stage, value = problem["loc"][0] if problem["loc"] else next(iter(values), ""), problem["input"]
    stages = _Thresholds.model_fields
    if stage not in stages:
        raise InvalidRequest("min_scores", f"{shown(stage)} is not a stage", f"Use: {', '.join(stages)}.")
    expected = stages[str(stage)].description
    raise InvalidRequest(
        f"min_scores.{stage}", f"{shown(value)} is not {expected}", "Choose a number in that range."
    )


ExportTarget: TypeAlias = str | Path | IO[str]


def checked_types(types: object) -> tuple[FactType, ...]:
    """Validate the fact types to search. A single type is accepted.

    Raises:
        InvalidRequest: the list is empty, or a type is unknown.
    """
    kinds = [types] if isinstance(types, str) else checked_list(types, "types")
    if not kinds:
        raise InvalidRequest("types", "it is empty", "Name at least one type, or omit `types`.")
    return tuple(choice(FactType, kind, "types") for kind in kinds)


def checked_instant(moment: object, field: str, dates: LocalDates) -> datetime | None:
    """Convert a time to UTC; None stays None.

    Args:
        moment: a datetime, a timestamp or a Unix time in seconds.
        field: the argument's name, for the error.
        dates: the time zone and date order of times that do not state them.

    Raises:
        InvalidRequest: the value cannot be parsed.
    """
    parsed = checked_moment(moment, field, date_order=dates.order)
    return as_utc(parsed, dates.zone) if parsed else None


def checked_window(bounds: object, dates: LocalDates) -> Interval | None:
    """Convert (start, end) to an interval; None stays None.

    Raises:
        InvalidRequest: a bound is missing or cannot be parsed, or the end is before the start.
    """
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidRequest(
            "window",
            f"{shown(bounds)} is not (start, end)",
            'Pass two times, ("2024-05-01", "2024-06-01").',
        )
    start, end = (checked_instant(bound, "window", dates) for bound in bounds)
    if start is None or end is None:
        raise InvalidRequest("window", "a bound is missing", "Pass (start, end).")
    return Interval(start, end)


def checked_unit_id(unit_id: object) -> str:
    """Validate the id of a memory.

    Raises:
        InvalidRequest: the id is not text, or contains characters that cannot be stored.
    """
    remedy = "Pass the id of a memory, a str returned by recall or retain."
    if not isinstance(unit_id, str):
        raise InvalidRequest("unit_id", f"it is {type(unit_id).__name__}, not an id", remedy)
    return checked_id(unit_id, "unit_id") or ""


def checked_profile(profile: object) -> BankProfile:
    """Validate a profile's texts and their limits.

    Raises:
        InvalidRequest: the value is not a profile, its name is blank or has several lines, or its name or background is too
            long or contains characters that cannot be stored.
    """
    if not isinstance(profile, BankProfile):
        raise InvalidRequest("profile", f"it is {type(profile).__name__}", "Pass a BankProfile.")
    for field, text, limit in (
        ("profile.name", profile.name, MAX_NAME),
        ("profile.background", profile.background, MAX_BACKGROUND),
    ):
        if len(text) > limit:
            reason = f"it has {len(text):,} characters, over the limit of {limit:,}"
            raise InvalidRequest(field, reason, "Shorten it, and retain further knowledge as memories.")
        if text and not text.strip():
            raise InvalidRequest(field, "it is blank", 'Pass some text, or "" for none.')
        if not is_storable(text):
            raise InvalidRequest(field, "it has control characters or lone surrogates", "Remove them.")
    if len(profile.name.splitlines()) > 1:
        raise InvalidRequest("profile.name", "it has several lines", "Pass a name of one line.")
    return profile


def checked_path(value: object, field: str) -> Path:
    """Return a path with `~` expanded. The path need not exist.

    Raises:
        InvalidRequest: the value is not a path, or not a valid file name.
    """
    remedy = "Pass a str or a Path that names a file or folder."
    if not isinstance(value, str | os.PathLike):
        raise InvalidRequest(field, f"it is {type(value).__name__}, not a path", remedy)
    try:
        path = Path(value).expanduser()
        name = os.fsencode(path)
    except (TypeError, UnicodeEncodeError, RuntimeError) as error:
        raise InvalidRequest(field, f"it is not a valid file name ({error})", remedy) from None
    if b"\0" in name or str(value) == "":
        raise InvalidRequest(field, "it is empty or contains a null character", remedy)
    return path


def checked_file(value: object, field: str, method: str) -> Path | IO[str]:
    """Validate a path or an open text file.

    Args:
        value: the caller's value.
        field: the argument's name, for errors.
        method: method that the file must have, "read" or "write".

    Raises:
        InvalidRequest: the value is neither a path nor an open text file.
    """
    if isinstance(value, str | os.PathLike):
        return checked_path(value, field)
    remedy = "Pass a path, or an open file in text mode."
    if not callable(getattr(value, method, None)):
        raise InvalidRequest(field, f"it is {type(value).__name__}, not a path or a file", remedy)
    if isinstance(value, RawIOBase | BufferedIOBase):
        raise InvalidRequest(field, "the file was opened in binary mode", remedy)
    if getattr(value, "closed", False):
        raise InvalidRequest(field, "the file is closed", remedy)
    file: IO[str] = value  # type: ignore[assignment] # only its method was checked
    return file
