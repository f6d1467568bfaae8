"""Everything one operation wants to change, as one value: decided in pure code, committed in one transaction."""

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
        by_unit: the memory that says so.
        statement: what no longer holds, in words.
    """

    unit_id: str
    by_unit: str
    statement: str


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Something that a person asked in the conversation to forget.

    The memories that it means are closed, and not erased: a model understood the request. `bank.forget(unit=...)` erases them.

    Attributes:
        what: what is to be forgotten, as the model put it.
        sources: ids of the messages that ask.
        unit_ids: ids of the memories that were closed for it; none where no memory was shown that it means, or everything is
            to be forgotten.
    """

    what: str
    sources: tuple[str, ...]
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A statement that says no valid unit's very words, or several units', or sources that name several; nothing was closed.

    Attributes:
        statement: what was withdrawn, in words.
        by_unit: the unit that stated it.
        candidates: ids of the units it may mean, the nearest first; none where nothing is near.
        score: how similar the nearest of them is, in [0, 1]; 1 where several are meant alike.
    """

    statement: str
    by_unit: str
    candidates: tuple[str, ...]
    score: float


Place = tuple[str, str]
"""A message by (thread, message id); a document as a whole by (its thread, "")."""


@dataclass(frozen=True, slots=True)
class MessageKey:
    """One retained message: (bank, thread, message id, content hash) is written once, ever."""

    thread: str
    message_id: str
    content_hash: str

    @property
    def place(self) -> Place:
        """The message, in whatever wording."""
        return self.thread, self.message_id


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """The text of a retained message, kept beside the memories made from it.

    Attributes:
        key: the message, in this wording.
        said_at: when (aware UTC).
        tags: visibility tags, sorted.
        unit_id: the unit that is this message word for word; its text is not kept twice. None if there is none.
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
    """A retained document or conversation batch, kept for provenance and later upserts."""

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
        ordinal: names the chunk within its document for good; never given to another one.
        position: where it stands now, from 0; NOWHERE once it was removed.
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
        unit: the memory unit, or the turn that waits.
        vector: unit-norm float32, little endian; length 4 * dimension. Empty for a turn that could not be embedded.
    """

    unit: MemoryUnit
    vector: bytes


@dataclass(frozen=True, slots=True)
class EntityWrite:
    """A new entity, or further names and a role for a known one (by id).

    Attributes:
        names: normalised names it answers to; the first is the one it was created under.
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
    """A new category of records, or further spellings of a known one (by kind and any of its spellings).

    Attributes:
        kind: of its records.
        name: what it is called if it is new.
        spellings: what else it may be given as; those that are another category's stay that one's.
    """

    kind: RecordKind
    name: str
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedWrite:
    """What was made of an entity's facts, in place of what was made before (paper eq. 6).

    Attributes:
        entity_id: the entity.
        facts: the observations made, by the ids of their units, and of each the ids of the facts it stands on, at least one.
            Units that were not there before stand in the write set's `units`, each with a mention of the entity. What was
            made of the entity before and is not here is removed.
        left_out: ids of the facts that were looked at and stand under none of them.
        at_revision: the bank's revision whose facts these are.
    """

    entity_id: str
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    at_revision: int


@dataclass(frozen=True, slots=True)
class ProfileWrite:
    """A profile to be the bank's.

    Attributes:
        profile: the whole of it.
        effective_at: from when on it holds (aware UTC). The ledger puts it no later than its own time, and no earlier than
            the change before it.
        reason: what makes the change, for people; no memory text.
        expected: number of the newest change it was decided on, 0 if there was none; another one raises RevisionConflict.
    """

    profile: BankProfile
    effective_at: datetime
    reason: str
    expected: int


@dataclass(frozen=True, slots=True)
class WriteSet:
    """All that one retain (or reflect) wants to change in one bank.

    Attributes:
        expected_revision: the bank revision it was decided on; another one raises RevisionConflict.
        messages: retained in this wording; what was kept of an earlier one goes: its turn, and the units of turns of it
            that waited.
        turns: texts of messages, each in place of an earlier one.
        extracted: ids of units of turns that waited and wait no more.
        categories: of records; those that a unit's records name and the bank lacks are made without being listed here.
        observed: what was made of an entity's facts.
        opinions: formed, reworded, and evidence of them.
        refreshed: the answer of a mental model, or that nothing in its scope changed; by itself it does not raise the revision.
        profile: who the agent is from now on; likewise.
        thread: how far a conversation was read, and which of its messages a fork dropped; likewise.
        tasks: work to be done later.
        completed_tasks: leases of the tasks whose outcome this is; one that is its task's no more raises TaskClosed.
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
