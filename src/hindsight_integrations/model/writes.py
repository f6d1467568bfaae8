"""Write sets: all changes of one operation as one value, committed in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_integrations.model.entities import EntityRole, EntityType
from hindsight_integrations.model.links import Link
from hindsight_integrations.model.mental_models import RefreshWrite
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.opinions import OpinionsWrite
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.tasks import TaskClaim, TaskWrite
from hindsight_integrations.model.turns import Role, ThreadWrite
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A memory, or an item of a document, that a later memory ended.

    Attributes:
        unit_id: the memory or item that ended.
        by_unit: the memory that ended it.
        statement: what is no longer valid, in words.
    """

    unit_id: str
    by_unit: str
    statement: str


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request in the conversation to forget something.

    The matching memories are closed, not erased, because a model interpreted the request.
    `bank.forget(unit=...)` erases them.

    Attributes:
        what: what to forget, in the model's words.
        sources: ids of the messages with the request.
        unit_ids: ids of the memories closed for it; empty if no memory that was shown matches, or everything
            is to be forgotten.
    """

    what: str
    sources: tuple[str, ...]
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A withdrawal whose words or sources match no valid unit, or several; nothing was closed.

    Attributes:
        statement: what was withdrawn, in words.
        by_unit: the unit that stated it.
        candidates: ids of the units it may mean, nearest first; empty if none is near.
        score: similarity of the nearest, in [0, 1]; 1 if several match equally.
    """

    statement: str
    by_unit: str
    candidates: tuple[str, ...]
    score: float


Place = tuple[str, str]
"""A message by (thread, message id); a document as a whole by (its thread, "")."""


@dataclass(frozen=True, slots=True)
class MessageKey:
    """One retained message: (bank, thread, message id, content hash) is written only once."""

    thread: str
    message_id: str
    content_hash: str

    @property
    def place(self) -> Place:
        """The message, in any wording."""
        return self.thread, self.message_id


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """The text of a retained message, stored besides the memories made from it.

    Attributes:
        key: the message, in this wording.
        said_at: when it was said (aware UTC).
        tags: visibility tags, sorted.
        unit_id: the unit that is this message word for word, whose text is not stored twice; None if there is
            none.
    """

    key: MessageKey
    text: str
    speaker: str
    role: Role
    said_at: datetime
    tags: tuple[str, ...] = ()
    unit_id: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentWrite:
    """A retained document or conversation batch, stored for provenance and later upserts."""

    id: str
    content_hash: str
    context: str
    mentioned_at: datetime
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()


NOWHERE = -1
"""Position of a chunk that is no longer part of its document."""


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """One extracted passage of a document.

    Attributes:
        ordinal: permanent number of the chunk within its document; never reused.
        position: its current position, from 0; NOWHERE once it was removed.
    """

    document_id: str
    ordinal: int
    text: str
    content_hash: str
    position: int = 0


@dataclass(frozen=True, slots=True)
class UnitWrite:
    """A unit and its vector.

    Attributes:
        unit: the memory unit, or the waiting turn.
        vector: unit-norm float32, little endian; length 4 * dimension. Empty for a turn that could not be
            embedded.
    """

    unit: MemoryUnit
    vector: bytes


@dataclass(frozen=True, slots=True)
class EntityWrite:
    """A new entity, or additional names and a role for an existing one (by id).

    Attributes:
        names: its normalised names; the first is the one it was created under.
    """

    id: str
    name: str
    type: EntityType
    names: tuple[str, ...]
    role: EntityRole = EntityRole.NONE


@dataclass(frozen=True, slots=True)
class MentionWrite:
    """A unit mentions an entity."""

    unit_id: str
    entity_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CategoryWrite:
    """A new category of records, or additional spellings of an existing one (by kind and any of its spellings).

    Attributes:
        kind: kind of its records.
        name: its name if it is new.
        spellings: additional spellings; those of another category stay there.
    """

    kind: RecordKind
    name: str
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedWrite:
    """The new observations of an entity, replacing all earlier ones (paper eq. 6).

    Attributes:
        entity_id: the entity.
        facts: for each observation (by unit id) the ids of the facts it is based on, at least one. New units
            are in the write set's `units`, each with a mention of the entity. Earlier observations that are
            not here are removed.
        left_out: ids of the facts that were considered but support none of them.
        at_revision: the bank's revision of these facts.
    """

    entity_id: str
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    at_revision: int


@dataclass(frozen=True, slots=True)
class ProfileWrite:
    """A new profile of the bank.

    Attributes:
        profile: the whole profile.
        effective_at: when it takes effect (aware UTC). The ledger limits it to its own time, and to no
            earlier than the previous change.
        reason: the reason for the change, for people; not the text of a memory.
        expected: number of the newest change it is based on, 0 if none; any other raises RevisionConflict.
    """

    profile: BankProfile
    effective_at: datetime
    reason: str
    expected: int


@dataclass(frozen=True, slots=True)
class WriteSet:
    """All changes of one retain (or reflect) to one bank.

    Attributes:
        expected_revision: the bank revision it is based on; any other raises RevisionConflict.
        messages: messages retained in this wording; the turn of an earlier wording and its waiting units are
            removed.
        turns: texts of messages, each replacing an earlier one.
        extracted: ids of units of turns that were waiting and are now extracted.
        categories: of records; missing categories that a unit's records name are created without being listed
            here.
        observed: an entity's new observations.
        opinions: formed and reworded ones, and their evidence.
        refreshed: the result of checking or refreshing a mental model; does not raise the revision by itself.
        profile: a new profile; likewise.
        thread: how far a conversation was read, and which of its messages a fork dropped; likewise.
        tasks: tasks to enqueue.
        completed_tasks: leases of the tasks whose result this is; an invalid lease raises TaskClosed.
    """

    bank: str
    expected_revision: int
    documents: tuple[DocumentWrite, ...] = ()
    chunks: tuple[ChunkWrite, ...] = ()
    messages: tuple[MessageKey, ...] = ()
    turns: tuple[TurnWrite, ...] = ()
    extracted: tuple[str, ...] = ()
    units: tuple[UnitWrite, ...] = ()
    categories: tuple[CategoryWrite, ...] = ()
    entities: tuple[EntityWrite, ...] = ()
    mentions: tuple[MentionWrite, ...] = ()
    links: tuple[Link, ...] = ()
    events: tuple[ValidityEvent, ...] = ()
    observed: ObservedWrite | None = None
    opinions: OpinionsWrite | None = None
    refreshed: RefreshWrite | None = None
    profile: ProfileWrite | None = None
    thread: ThreadWrite | None = None
    tasks: tuple[TaskWrite, ...] = ()
    completed_tasks: tuple[TaskClaim, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether committing it would change nothing."""
        return not (
            self.documents
            or self.chunks
            or self.messages
            or self.turns
            or self.extracted
            or self.units
            or self.categories
            or self.entities
            or self.events
            or self.observed is not None
            or self.opinions is not None
            or self.refreshed is not None
            or self.profile is not None
            or self.thread is not None
            or self.tasks
            or self.completed_tasks
        )
