"""The lines of an archive, typed: a strict model a kind, which says what it names and what it refers to.

A new kind of line is one more class here; the ledger must know how to write it (`ledger/archive.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import EntityChangeKind, EntityRole, EntityType
from hindsight_integrations.model.namespaces import namespace_from
from hindsight_integrations.model.records import RecordKind, spelling_key
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType, ValidityKind
from hindsight_integrations.ports.memory_graph import LINK_CODES
from hindsight_integrations.validation.archive_given import (
    DirectiveLine,
    MentalModelGroundLine,
    MentalModelLine,
)
from hindsight_integrations.validation.archive_opinions import (
    EvidenceLine,
    GroundLine,
    OperationLine,
    OpinionLine,
    WordingLine,
)
from hindsight_integrations.validation.archive_profile import ArchivedProfile
from hindsight_integrations.validation.archive_values import (
    MAX_DIMENSION,
    MAX_ID,
    MAX_ORDINAL,
    MAX_STORED,
    ArchiveLine,
    Id,
    Metadata,
    Micros,
    Ordinal,
    Revision,
    Share,
    Strict,
    Tags,
    Text,
    Texts,
    base64_vector,
    distinct,
    is_finite,
    one_of,
)
from hindsight_integrations.validation.items import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_LABELS,
    checked_key,
    checked_namespace,
    value_text,
)
from hindsight_integrations.validation.limits import MAX_TOKENS

_LABELS = re.compile(r"([^.]+\.)+")


def _namespace(text: str) -> str:
    """Refuse what is not labels, each ended by a dot."""
    if not _LABELS.fullmatch(text):
        raise ValueError("it is not labels, each ended by a dot")
    try:
        checked_namespace(namespace_from(text))
    except InvalidRequest as error:
        raise ValueError(error.reason) from error
    return text


def _key(text: str) -> str:
    try:
        return checked_key(text)
    except InvalidRequest as error:
        raise ValueError(error.reason) from error


def _value(text: str) -> str:
    """Refuse what is not a JSON object."""
    try:
        return value_text(json.loads(text))
    except (InvalidRequest, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("it is no JSON object that an item may hold") from error


NamespaceText = Annotated[
    str, Field(max_length=3 * MOST_LABELS * (LONGEST_NAME + 1)), AfterValidator(_namespace)
]
ItemName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_key)]


class ItemLine(ArchiveLine):
    """An item."""

    key: ClassVar = ("namespace", "item_key")
    namespace: NamespaceText
    item_key: ItemName
    value: Annotated[str, Field(max_length=LONGEST_VALUE), AfterValidator(_value)]
    created_at: Micros
    updated_at: Micros
    ttl: Annotated[int, Field(gt=0, le=2**62)] | None
    expires_at: Micros | None

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if (self.ttl is None) != (self.expires_at is None):
            raise ValueError("ttl and expires_at come together")
        return self


class _Thresholds(Strict):
    semantic_link: float
    channel_floor: float
    duplicate: float


class _Embedder(Strict):
    name: Text
    dimension: Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
    weights: Text
    thresholds: _Thresholds


class BankLine(ArchiveLine):
    """The bank itself; the first line, and the only one of its kind."""

    revision: Revision
    embedder: _Embedder | None
    profile: ArchivedProfile


class ProfileChangeLine(ArchiveLine):
    """A profile that the bank was given; they come in the order in which they were, the present one last."""

    key: ClassVar = ("number",)
    number: Annotated[int, Field(ge=1, le=MAX_ORDINAL)]
    profile: ArchivedProfile
    effective_at: Micros
    recorded_at: Micros
    reason: Text


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
    refers: ClassVar = {"part_of": "unit"}
    unit_id: Id
    text: Annotated[str, Field(min_length=1, max_length=MAX_STORED)]
    fact_type: Annotated[str, one_of(FactType)]
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
    speaker: Text
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)]
    compact: Annotated[int, Field(gt=0, le=MAX_STORED)] | None
    compact_tokens: Annotated[int, Field(gt=0, le=MAX_TOKENS)] | None
    kind: str = Field(pattern="^(memory|document_item)$")
    part_of: Id | None
    number: Annotated[int, Field(ge=0, le=MAX_ORDINAL)]
    lasting: Annotated[int, Field(ge=0, le=1)]
    vector: Annotated[Text, AfterValidator(base64_vector)]

    @model_validator(mode="after")
    def _part_of_a_document(self) -> Self:
        is_item = self.kind == "document_item"
        if (is_item and not self.number) or (self.part_of and not is_item):
            raise ValueError("an item of a document has a number from 1 on, and nothing else is part of one")
        return self

    @model_validator(mode="after")
    def _whole_interval(self) -> Self:
        start, end = self.occurred_start, self.occurred_end
        if (start is None) != (end is None) or (start is not None and end is not None and end <= start):
            raise ValueError("occurred_start and occurred_end are no interval")
        return self


class CategoryLine(ArchiveLine):
    """A category of records."""

    key: ClassVar = ("kind", "name")
    kind: Annotated[str, one_of(RecordKind)]
    name: Annotated[str, Field(min_length=1, max_length=MAX_STORED)]
    spellings: Annotated[Texts, AfterValidator(distinct)]

    @model_validator(mode="after")
    def _spelt_as_compared(self) -> Self:
        if any(not text or text != spelling_key(text) for text in self.spellings):
            raise ValueError("its spellings are not in the form in which they are compared")
        if spelling_key(self.name) not in self.spellings:
            raise ValueError("its name is none of its spellings")
        return self


class RecordLine(ArchiveLine):
    """A record of a memory; those of one memory follow each other in their order."""

    key: ClassVar = ("unit", "ordinal")
    refers: ClassVar = {"unit": "unit"}
    unit: Id
    ordinal: Ordinal
    kind: Annotated[str, one_of(RecordKind)]
    category: Text | None
    value: Text
    is_number: Annotated[int, Field(ge=0, le=1)]
    measure: Text
    stated: Text

    @model_validator(mode="after")
    def _finite(self) -> Self:
        if self.is_number and not is_finite(self.value):
            raise ValueError("value is not a finite number")
        return self


class WaitingTurnLine(UnitLine):
    """A turn that waits for extraction: as a memory, and without a vector where the embedder had failed."""

    kind: str = Field(pattern="^turn$")
    vector: Annotated[Text, AfterValidator(base64_vector)] | None  # type: ignore[assignment] # a memory always has one


class ItemTextLine(UnitLine):
    """A text of an item: as a memory, and of one of the items before it."""

    kind: str = Field(pattern="^item$")
    namespace: NamespaceText
    item_key: ItemName


class TurnLine(ArchiveLine):
    """The text of a message, or the unit that it is."""

    key: ClassVar = ("thread", "message")
    thread: Text
    message: Text
    unit: Id | None
    text: Text
    speaker: Text
    role: Annotated[str, one_of(Role)]
    said_at: Micros
    tags: Tags


class EventLine(ArchiveLine):
    """An entry of a memory's validity log."""

    key: ClassVar = ("unit", "kind", "effective_at", "by_unit", "reason")
    refers: ClassVar = {"unit": "unit", "by_unit": "unit"}
    unit: Id
    kind: Annotated[str, one_of(ValidityKind)]
    effective_at: Micros
    revision: Revision
    by_unit: Id | None
    reason: Text


class EntityLine(ArchiveLine):
    """An entity with its names."""

    key: ClassVar = ("entity_id",)
    entity_id: Id
    name: Annotated[str, Field(min_length=1, max_length=MAX_STORED)]
    type: Annotated[str, one_of(EntityType)]
    role: Annotated[str, one_of(EntityRole)]
    names: Annotated[Texts, AfterValidator(distinct)]
    facts_changed: Revision
    observed_at: Revision


class MentionLine(ArchiveLine):
    """A memory mentions an entity."""

    key: ClassVar = ("unit", "entity")
    refers: ClassVar = {"unit": "unit", "entity": "entity"}
    unit: Id
    entity: Id
    text: Text


class ObservationLine(ArchiveLine):
    """A memory that was made from facts of an entity."""

    key: ClassVar = ("unit",)
    refers: ClassVar = {"unit": "unit", "entity": "entity"}
    unit: Id
    entity: Id


class ObservationFactLine(ArchiveLine):
    """A fact that an observation stands on."""

    key: ClassVar = ("observation", "fact")
    refers: ClassVar = {"observation": "unit", "fact": "unit"}
    observation: Id
    fact: Id


class ObservedLine(ArchiveLine):
    """What observations of an entity leave out."""

    key: ClassVar = ("entity",)
    refers: ClassVar = {"entity": "entity"}
    entity: Id
    left_out: Annotated[list[Id], AfterValidator(distinct)]


class LinkLine(ArchiveLine):
    """A link between two memories."""

    key: ClassVar = ("source", "target", "code")
    refers: ClassVar = {"source": "unit", "target": "unit"}
    source: Id
    target: Id
    code: Annotated[int, one_of(LINK_CODES.values())]
    weight: Share


class EditLine(ArchiveLine):
    """When a memory was corrected, and which fields."""

    refers: ClassVar = {"unit": "unit"}
    unit: Id
    made_at: Micros
    fields: Texts


class _Moved(Strict):
    entity_id: Id
    other_id: Annotated[str, Field(max_length=MAX_ID)]
    names: Texts
    units: Texts
    shared: list[Annotated[Texts, Field(min_length=2, max_length=2)]]
    name: Text
    type: Annotated[str, one_of(["", *EntityType])]
    role: Annotated[str, one_of(EntityRole)]
    other_names: Texts


class EntityChangeLine(ArchiveLine):
    """A change of entities by hand, with what undoing it needs."""

    kind: Annotated[str, one_of(EntityChangeKind)]
    detail: _Moved
    made_at: Micros
    undone: Literal[0, 1]


class TaskLine(ArchiveLine):
    """Work that waits."""

    kind: Annotated[str, one_of(TaskKind)]
    task_key: Annotated[str, Field(max_length=MAX_ID)]
    payload: Text
    state: Annotated[str, one_of(state for state in TaskState if state is not TaskState.LEASED)]
    attempts: Ordinal
    not_before: Micros
    last_error: Text


LINES: Mapping[str, type[ArchiveLine]] = {
    "bank": BankLine,
    "profile_change": ProfileChangeLine,
    "document": DocumentLine,
    "chunk": ChunkLine,
    "message": MessageLine,
    "category": CategoryLine,
    "unit": UnitLine,
    "record": RecordLine,
    "waiting_turn": WaitingTurnLine,
    "turn": TurnLine,
    "event": EventLine,
    "entity": EntityLine,
    "mention": MentionLine,
    "observation": ObservationLine,
    "observation_fact": ObservationFactLine,
    "observed": ObservedLine,
    "mental_model": MentalModelLine,
    "mental_model_ground": MentalModelGroundLine,
    "directive": DirectiveLine,
    "link": LinkLine,
    "edit": EditLine,
    "entity_change": EntityChangeLine,
    "opinion": OpinionLine,
    "opinion_wording": WordingLine,
    "opinion_ground": GroundLine,
    "evidence": EvidenceLine,
    "opinion_operation": OperationLine,
    "item": ItemLine,
    "item_text": ItemTextLine,
    "task": TaskLine,
}
"""What stands before a line's fields, and what the fields are."""
