"""The lines of an archive, typed: a strict model a kind, which says what it names and what it refers to.

A new kind of line is one more class here; the ledger must know how to write it (`backends/ledger/sqlite/archive.py`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated, ClassVar, Literal, Self, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from hindsight_integrations.model.entities import EntityChangeKind, EntityRole, EntityType
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.time import EPOCH, LAST_INSTANT, to_micros
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType, ValidityKind
from hindsight_integrations.ports.arrays import fault_of_vectors
from hindsight_integrations.ports.memory_graph import LINK_CODES
from hindsight_integrations.validation.limits import MAX_TAG, MAX_TAGS, MAX_TEXT, MAX_TOKENS

MAX_STORED = 4 * MAX_TEXT  # characters of one text; a task holds a passage and what stood before it, as JSON
MAX_ID = 512  # characters of the id of a unit or an entity
MAX_REVISION = 2**53  # what JSON numbers hold exactly; a bank of a commit a microsecond is there in 285 years
MAX_DIMENSION = 65_536  # numbers of a vector; the longest in use have 12,288
MAX_ORDINAL = 2**31
_FLOAT_BYTES = 4

_FIRST = to_micros(EPOCH.replace(year=1))
_LAST = to_micros(LAST_INSTANT)

Item = TypeVar("Item")


def _distinct(values: list[Item]) -> list[Item]:
    if len(set(values)) < len(values):
        raise ValueError("it holds a value twice")
    return values


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("it has control characters, and could not be asked for")
    return text


def _one_of(values: Iterable[Item]) -> AfterValidator:
    known = dict.fromkeys(values)

    def member(value: Item) -> Item:
        if value not in known:
            raise ValueError(f"it is none of {', '.join(repr(str(each)) for each in known)}")
        return value

    return AfterValidator(member)


def _records(lines: list[list[str | bool]]) -> list[list[str | bool]]:
    for fields in lines:
        _record(fields, [str, str, bool, str, str, str])
        _one_of_kinds(fields[0])
    return lines


def _one_of_kinds(kind: str | bool) -> None:
    if kind not in set(RecordKind):
        raise ValueError(f"its kind is none of {', '.join(RecordKind)}")


def _record(
    fields: list[str | bool], expected: Sequence[type] = (str, str, bool, str, str)
) -> list[str | bool]:
    """[kind, value, whether the value is a number, category, unit]."""
    if [type(field) for field in fields] != list(expected):
        raise ValueError("it is not [kind, value, is a number, category, unit]")
    if fields[2]:
        try:
            finite = Decimal(str(fields[1])).is_finite()
        except InvalidOperation:
            finite = False
        if not finite:
            raise ValueError("its value is not a finite number")
    return fields


def _vector(text: str) -> str:
    """Base64 of float32, little endian; the length is compared with the bank's elsewhere."""
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
Id = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_storable)]
Micros = Annotated[int, Field(ge=_FIRST, le=_LAST)]
Revision = Annotated[int, Field(ge=0, le=MAX_REVISION)]
Ordinal = Annotated[int, Field(ge=0, le=MAX_ORDINAL)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Texts = list[Text]
Metadata = dict[Text, Text]
Tags = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_TAG)]],
    Field(max_length=MAX_TAGS),
    AfterValidator(_distinct),
]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class ArchiveLine(_Strict):
    """One line of an archive.

    Attributes:
        key: the fields that no two lines of the kind share; empty where lines may repeat.
        refers: fields that name something of another line, and the kind of that line, which must come earlier.
    """

    key: ClassVar[tuple[str, ...]] = ()
    refers: ClassVar[Mapping[str, str]] = {}


class _Thresholds(_Strict):
    semantic_link: float
    channel_floor: float
    duplicate: float


class _Embedder(_Strict):
    name: Text
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
    weights: Text
    thresholds: _Thresholds


_Scale = Annotated[float, Field(ge=1, le=5, multiple_of=1)]


class _Disposition(_Strict):
    skepticism: _Scale
    literalism: _Scale
    empathy: _Scale


class _Profile(_Strict):
    name: Text
    background: Text
    disposition: _Disposition
    bias_strength: Share


class BankLine(ArchiveLine):
    """The bank itself; the first line, and the only one of its kind."""

    revision: Revision
    embedder: _Embedder | None
    profile: _Profile


class DocumentLine(ArchiveLine):
    """A document."""

    key: ClassVar = ("id",)
    id: Text
    content_hash: Text
    context: Text
    mentioned_at: Micros
    metadata: Metadata
    tags: Tags


class ChunkLine(ArchiveLine):
    """A passage of a document."""

    key: ClassVar = ("document", "ordinal")
    refers: ClassVar = {"document": "document"}
    document: Text
    ordinal: Ordinal
    text: Text
    content_hash: Text
    position: Annotated[int, Field(ge=-1, le=MAX_ORDINAL)]


class MessageLine(ArchiveLine):
    """A message that is known, by its hash."""

    key: ClassVar = ("thread", "message", "content_hash")
    thread: Text
    message: Text
    content_hash: Text
    revision: Revision


class UnitLine(ArchiveLine):
    """A memory with its vector."""

    key: ClassVar = ("unit_id",)
    unit_id: Id
    text: Annotated[str, Field(min_length=1, max_length=MAX_STORED)]
    fact_type: Annotated[str, _one_of(FactType)]
    mentioned_at: Micros
    occurred_start: Micros | None
    occurred_end: Micros | None
    closed_at: Micros | None
    context: Text
    confidence: Share | None
    metadata: Metadata
    tags: Tags
    document: Text | None
    chunk: Ordinal
    thread: Text
    sources: Texts
    speaker: Text = ""  # the first archives do not have it
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)]
    record: (
        Annotated[list[list[Text | bool]], AfterValidator(_records)]
        | Annotated[list[Text | bool], AfterValidator(_record)]
        | None
    )
    kind: str = Field("memory", pattern="^memory$")  # the first archives know memories alone
    vector: Annotated[Text, AfterValidator(_vector)]

    @model_validator(mode="after")
    def _whole_interval(self) -> Self:
        start, end = self.occurred_start, self.occurred_end
        if (start is None) != (end is None) or (start is not None and end is not None and end <= start):
            raise ValueError("occurred_start and occurred_end are no interval")
        return self


class WaitingTurnLine(UnitLine):
    """A turn that waits for extraction: as a memory, and without a vector where the embedder had failed."""

    kind: str = Field(pattern="^turn$")
    vector: Annotated[Text, AfterValidator(_vector)] | None  # type: ignore[assignment] # a memory always has one


class TurnLine(ArchiveLine):
    """The text of a message, or the unit that it is."""

    key: ClassVar = ("thread", "message")
    thread: Text
    message: Text
    unit: Id | None
    text: Text
    speaker: Text
    role: Annotated[str, _one_of(Role)]
    said_at: Micros
    tags: Tags


class EventLine(ArchiveLine):
    """An entry of a memory's validity log."""

    key: ClassVar = ("unit", "kind", "effective_at", "by_unit", "reason")
    refers: ClassVar = {"unit": "unit", "by_unit": "unit"}
    unit: Id
    kind: Annotated[str, _one_of(ValidityKind)]
    effective_at: Micros
    revision: Revision
    by_unit: Id | None
    reason: Text


class EntityLine(ArchiveLine):
    """An entity with its names."""

    key: ClassVar = ("entity_id",)
    entity_id: Id
    name: Annotated[str, Field(min_length=1, max_length=MAX_STORED)]
    type: Annotated[str, _one_of(EntityType)]
    role: Annotated[str, _one_of(EntityRole)]
    names: Annotated[Texts, AfterValidator(_distinct)]


class MentionLine(ArchiveLine):
    """A memory mentions an entity."""

    key: ClassVar = ("unit", "entity")
    refers: ClassVar = {"unit": "unit", "entity": "entity"}
    unit: Id
    entity: Id
    text: Text


class LinkLine(ArchiveLine):
    """A link between two memories."""

    key: ClassVar = ("source", "target", "code")
    refers: ClassVar = {"source": "unit", "target": "unit"}
    source: Id
    target: Id
    code: Annotated[int, _one_of(LINK_CODES.values())]
    weight: Share


class EditLine(ArchiveLine):
    """When a memory was corrected, and which fields."""

    refers: ClassVar = {"unit": "unit"}
    unit: Id
    made_at: Micros
    fields: Texts


class _Moved(_Strict):
    entity_id: Id
    other_id: Annotated[str, Field(max_length=MAX_ID)]
    names: Texts
    units: Texts
    shared: list[Annotated[Texts, Field(min_length=2, max_length=2)]]
    name: Text
    type: Annotated[str, _one_of(["", *EntityType])]
    role: Annotated[str, _one_of(EntityRole)]
    other_names: Texts


class EntityChangeLine(ArchiveLine):
    """A change of entities by hand, with what undoing it needs."""

    kind: Annotated[str, _one_of(EntityChangeKind)]
    detail: _Moved
    made_at: Micros
    undone: Literal[0, 1]


class EvidenceLine(ArchiveLine):
    """What a memory of an opinion stands on."""

    key: ClassVar = ("opinion", "evidence")
    refers: ClassVar = {"opinion": "unit", "evidence": "unit"}
    opinion: Id
    evidence: Id
    assessment: Text
    effective_at: Micros


class TaskLine(ArchiveLine):
    """Work that waits."""

    kind: Annotated[str, _one_of(TaskKind)]
    payload: Text
    state: Annotated[str, _one_of(TaskState)]
    attempts: Ordinal
    lease_until: Micros | None
    not_before: Micros
    last_error: Text

    @model_validator(mode="after")
    def _lease_ends(self) -> Self:
        if self.state == TaskState.LEASED and self.lease_until is None:
            raise ValueError("lease_until is missing, so that nobody would do it again")
        return self


LINES: Mapping[str, type[ArchiveLine]] = {
    "bank": BankLine,
    "document": DocumentLine,
    "chunk": ChunkLine,
    "message": MessageLine,
    "unit": UnitLine,
    "waiting_turn": WaitingTurnLine,
    "turn": TurnLine,
    "event": EventLine,
    "entity": EntityLine,
    "mention": MentionLine,
    "link": LinkLine,
    "edit": EditLine,
    "entity_change": EntityChangeLine,
    "evidence": EvidenceLine,
    "task": TaskLine,
}
"""What stands before a line's fields, and what the fields are."""
