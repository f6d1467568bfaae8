"""Validation of single archive lines. Each table has a strict pydantic model, generated from its columns.

Consistency between lines is checked when they are imported; see `ledger/archive.py`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    create_model,
)
from sqlalchemy import Column

from hindsight_integrations.errors import ArchiveInvalid
from hindsight_integrations.ledger.tables import ROW_ID, Content, archived_columns, metadata
from hindsight_integrations.model.arrays import fault_of_vectors
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.model.entities import EntityRole, EntityType
from hindsight_integrations.model.items import namespace_from
from hindsight_integrations.model.records import spelling_key
from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.validation.items import LONGEST_VALUE, checked_key, checked_namespace, value_text
from hindsight_integrations.validation.limits import MAX_NAME, MAX_TAG, MAX_TAGS, MAX_TEXT

MAX_STORED = (
    4 * MAX_TEXT
)  # maximum characters of a text; a task may contain a passage with its context as JSON
MAX_ID = 512  # maximum characters of the id of a unit or entity
MAX_DIMENSION = 65_536  # maximum numbers per vector; known embedders have at most 12,288
# maximum characters of a field name in an error; an archive may contain any text as a name
LONGEST_SHOWN = 40
_FLOAT_BYTES = 4

Item = TypeVar("Item")
Fields = Mapping[str, Any]


class _Strict(BaseModel):
    """A model that accepts only the declared fields and types."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def _distinct(values: list[Item]) -> list[Item]:
    if len(set(values)) < len(values):
        raise ValueError("it contains a duplicate value")
    return values


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it contains control characters")
    return text


def _one_line(text: str) -> str:
    if len(text.splitlines()) > 1:
        raise ValueError("it has several lines")
    return _storable(text)


def _as_in_api(check: Callable[[str], object]) -> AfterValidator:
    """Return a validator that rejects texts which the API would also reject."""

    def checked(text: str) -> str:
        try:
            check(text)
        except (ValueError, RecursionError):  # without the original error, which may quote the text
            raise ValueError("this value is not allowed in an item") from None
        return text

    return AfterValidator(checked)


def _vector(text: str) -> str:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
    if not raw or len(raw) % _FLOAT_BYTES:
        raise ValueError(f"its {len(raw)} bytes are not float32 numbers")
    if fault := fault_of_vectors(np.frombuffer(raw, "<f4")[np.newaxis]):
        raise ValueError(fault)
    return text


_Text = Annotated[str, Field(max_length=MAX_STORED)]  # with a limit, pydantic also rejects lone surrogates
_Words = Annotated[_Text, Field(min_length=1)]
_Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_storable)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Scale = Annotated[float, Field(ge=1, le=5, multiple_of=1)]
_Scalar = bool | int | float | _Text
_Texts = list[_Text]


class _Disposition(_Strict):
    skepticism: _Scale
    literalism: _Scale
    empathy: _Scale


class _BigFive(_Strict):
    openness: _Share
    conscientiousness: _Share
    extraversion: _Share
    agreeableness: _Share
    neuroticism: _Share


class _Profile(_Strict):
    name: _Text
    background: _Text
    disposition: Annotated[
        Annotated[_Disposition, Tag("one to five")] | Annotated[_BigFive, Tag("big five")],
        Discriminator(
            lambda value: "big five" if isinstance(value, Mapping) and "openness" in value else "one to five"
        ),
    ]
    bias_strength: _Share


class _Thresholds(_Strict):
    semantic_link: float
    channel_floor: float
    duplicate: float


class _Embedder(_Strict):
    name: _Text
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
    weights: _Text
    thresholds: _Thresholds


class _Moved(_Strict):
    entity_id: _Id
    other_id: Annotated[str, Field(max_length=MAX_ID)]
    names: _Texts
    units: _Texts
    shared: list[Annotated[_Texts, Field(min_length=2, max_length=2)]]
    name: _Text
    type: Literal["", *EntityType]  # type: ignore[valid-type] # the values of an Enum
    role: Literal[*EntityRole]  # type: ignore[valid-type]
    other_names: _Texts


_TYPES: Mapping[Content, Any] = {
    Content.TEXT: _Text,
    Content.WORDS: _Words,
    Content.ID: _Id,
    Content.KEY: Annotated[str, Field(max_length=MAX_ID)],
    Content.NAME: Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(_one_line)],
    Content.NAMESPACE: Annotated[
        str,
        Field(max_length=MAX_STORED, pattern=r"^([^.]+\.)+$"),
        _as_in_api(lambda text: checked_namespace(namespace_from(text))),
    ],
    Content.ITEM_KEY: Annotated[_Text, _as_in_api(checked_key)],
    Content.VECTOR: Annotated[_Text, AfterValidator(_vector)],
    Content.SHARE: _Share,
    Content.STEP: Annotated[float, Field(gt=0.0, lt=1.0)],
    Content.OBJECT: Annotated[
        str, Field(max_length=LONGEST_VALUE), _as_in_api(lambda text: value_text(json.loads(text)))
    ],
    Content.STRINGS: _Texts,
    Content.NAMES: Annotated[_Texts, AfterValidator(_distinct)],
    Content.SOURCES: Annotated[_Texts, Field(min_length=1)],
    Content.TAGS: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_TAG)]],
        Field(max_length=MAX_TAGS),
        AfterValidator(_distinct),
    ],
    Content.METADATA: dict[_Text, _Scalar | list[_Scalar]],
    Content.PROFILE: _Profile,
    Content.EMBEDDER: _Embedder,
    Content.MOVED: _Moved,
    Content.UNIT_ROWS: Annotated[
        list[Annotated[int, Field(ge=ROW_ID.start, lt=ROW_ID.stop)]], AfterValidator(_distinct)
    ],
}


def _type(column: Column[Any]) -> Any:  # noqa: ANN401 - a type
    holds = column.info["holds"]
    if isinstance(holds, range):
        kind: Any = Annotated[int, Field(ge=holds.start, lt=holds.stop)]
    else:
        kind = _TYPES[holds] if isinstance(holds, Content) else Literal[holds]
    return kind | None if column.nullable else kind


@cache
def _models() -> Mapping[str, type[_Strict]]:
    """Return the model of each archived table, by name."""
    models = {}
    for table in metadata.sorted_tables:
        if fields := {column.name: (_type(column), ...) for column in archived_columns(table)}:
            models[table.name] = create_model(table.name, __base__=_Strict, **fields)  # type: ignore[call-overload]
    return models


def _is_interval(fields: Fields) -> bool:
    start, end = fields["occurred_start"], fields["occurred_end"]
    return start is end is None or (start is not None and end is not None and start < end)


def _is_numbered(fields: Fields) -> bool:
    if fields["kind"] == UnitKind.DOCUMENT_ITEM:
        return bool(fields["number"])
    return fields["head"] is None


def _is_finite(fields: Fields) -> bool:
    try:
        return not fields["is_number"] or Decimal(fields["value"]).is_finite()
    except InvalidOperation:
        return False


_RULES: Mapping[str, Mapping[tuple[str, ...], Callable[[Fields], bool]]] = {
    "banks": {
        ("embedder", "dimension"): lambda row: row["dimension"] == (row["embedder"] and row["embedder"]["dimension"])
    },
    "units": {("occurred_start", "occurred_end"): _is_interval, ("kind", "head", "number"): _is_numbered},
    "records": {("value", "is_number"): _is_finite},
    "record_category_names": {("name",): lambda row: row["name"] == spelling_key(row["name"])},
    "items": {("ttl", "expires_at"): lambda row: (row["ttl"] is None) == (row["expires_at"] is None)},
    "mental_models": {
        ("text", "refreshed_at", "forgotten"):
            lambda row: not row["text"] or (row["refreshed_at"] is not None and not row["forgotten"])
    },
}  # fmt: skip
"""Conditions that each row of a table must meet, with the columns concerned. An error names the first of these columns."""


def check_line(number: int, kind: str, fields: Fields) -> None:
    """Validate a line, independently of other lines.

    Args:
        number: line number, from 1.
        kind: name of a table.
        fields: values of its columns, as parsed from JSON.

    Raises:
        ArchiveInvalid: the row is invalid.
    """
    models = _models()
    if kind not in models:
        raise ArchiveInvalid(number, "kind", f"it is unknown; valid kinds are {', '.join(models)}")
    try:
        models[kind].model_validate(fields)
    except ValidationError as error:
        raise _refusal(number, kind, error) from None
    for (first, *others), fits in _RULES.get(kind, {}).items():
        if not fits(fields):
            reason = f"it is inconsistent with {' and '.join(others)}" if others else "it is not normalised"
            raise ArchiveInvalid(number, f"{kind}.{first}", reason)


def _refusal(number: int, kind: str, error: ValidationError) -> ArchiveInvalid:
    """Convert pydantic's first error to an ArchiveInvalid without the value, which may be the text of a memory."""
    problem = error.errors(include_url=False, include_input=False)[0]
    parts = [
        str(part)
        for part in problem["loc"]
        if isinstance(part, int) or (part.isidentifier() and len(part) <= LONGEST_SHOWN)
    ]
    reason = problem["msg"].removeprefix("Value error, ")
    return ArchiveInvalid(number, ".".join([kind, *parts]), reason[:1].lower() + reason[1:])


def archived_embedder(fields: Fields) -> EmbedderIdentity | None:
    """Return the embedder in a validated line of the `banks` table; None if the bank has no embedder."""
    embedder = fields["embedder"]
    return embedder and EmbedderIdentity(**{**embedder, "thresholds": Thresholds(**embedder["thresholds"])})
