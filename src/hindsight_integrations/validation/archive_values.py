"""What a value of an archive's line may be: texts, ids, instants, vectors, each within limits. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, ClassVar, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.time import EPOCH, LAST_INSTANT, to_micros
from hindsight_integrations.ports.arrays import fault_of_vectors
from hindsight_integrations.validation.limits import MAX_TAG, MAX_TAGS, MAX_TEXT

MAX_STORED = 4 * MAX_TEXT  # characters of one text; a task holds a passage and what stood before it, as JSON
MAX_ID = 512  # characters of the id of a unit or an entity
MAX_REVISION = 2**53  # what JSON numbers hold exactly; a bank of a commit a microsecond is there in 285 years
MAX_DIMENSION = 65_536  # numbers of a vector; the longest in use have 12,288
MAX_ORDINAL = 2**31
_FLOAT_BYTES = 4

_FIRST = to_micros(EPOCH.replace(year=1))
_LAST = to_micros(LAST_INSTANT)

Item = TypeVar("Item")


class Strict(BaseModel):
    """Values of the very types that are declared, and no others beside them."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ArchiveLine(Strict):
    """One line of an archive.

    Attributes:
        key: the fields that no two lines of the kind share; empty where lines may repeat.
        refers: fields that name something of another line, and the kind of that line, which must come earlier.
    """

    key: ClassVar[tuple[str, ...]] = ()
    refers: ClassVar[Mapping[str, str]] = {}


def distinct(values: list[Item]) -> list[Item]:
    """Refuse a list that holds a value twice."""
    if len(set(values)) < len(values):
        raise ValueError("it holds a value twice")
    return values


def storable(text: str) -> str:
    """Refuse an id nobody could ask for."""
    if not is_storable(text):
        raise ValueError("it has control characters, and could not be asked for")
    return text


def one_of(values: Iterable[Item]) -> AfterValidator:
    """Refuse what is none of these."""
    known = dict.fromkeys(values)

    def member(value: Item) -> Item:
        if value not in known:
            raise ValueError(f"it is none of {', '.join(repr(str(each)) for each in known)}")
        return value

    return AfterValidator(member)


def is_finite(value: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return Decimal(value).is_finite()
    except InvalidOperation:
        return False


def base64_vector(text: str) -> str:
    """Refuse what is not base64 of float32, little endian; the length is compared with the bank's elsewhere."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
    if not raw or len(raw) % _FLOAT_BYTES:
        raise ValueError(f"its {len(raw)} bytes are no float32 numbers")
    if fault := fault_of_vectors(np.frombuffer(raw, "<f4")[np.newaxis]):
        raise ValueError(fault)
    return text


def vector_length(text: str) -> int:
    """How many numbers a checked vector has."""
    return (len(text) // 4 * 3 - text.count("=", -2)) // _FLOAT_BYTES


Text = Annotated[str, Field(max_length=MAX_STORED)]  # a limit also makes pydantic look for lone surrogates
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(storable)]
Micros = Annotated[int, Field(ge=_FIRST, le=_LAST)]
Revision = Annotated[int, Field(ge=0, le=MAX_REVISION)]
Ordinal = Annotated[int, Field(ge=0, le=MAX_ORDINAL)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Texts = list[Text]
_Scalar = bool | int | float | Text
Metadata = dict[Text, _Scalar | list[_Scalar]]
Tags = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_TAG)]],
    Field(max_length=MAX_TAGS),
    AfterValidator(distinct),
]
