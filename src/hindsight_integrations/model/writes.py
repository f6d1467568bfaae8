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
        unit_id: the id of the ended memory or item.
        by_unit: the id of the memory that ended it.
        statement: the statement that is no longer valid.
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
        what: the content to forget, as described by the model.
        sources: the ids of the messages with the request.
        unit_ids: the ids of the memories closed for it; empty if no shown memory matches, or if the request is to forget
            everything.
    """

    what: str
    sources: tuple[str, ...]
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A withdrawal whose words or sources match no valid unit or more than one; no unit was closed.

    Attributes:
        statement: the withdrawn statement.
        by_unit: the id of the unit that withdrew it.
        candidates: the ids of the units to which it may refer, nearest first; empty if none is near.
        score: the similarity of the nearest candidate, in [0, 1]; 1 if several match equally.
    """

    statement: str
    by_unit: str
    candidates: tuple[str, ...]
    score: float


Place = tuple[str, str]
"""The key of a message, (thread, message id), or of a whole document, (its thread, "")."""


@dataclass(frozen=True, slots=True)
class MessageKey:
    """The key of one version of a message; each (bank, thread, message id, content hash) is written only once."""

    thread: str
    message_id: str
    content_hash: str

    @property
    def place(self) -> Place:
        """The key of the message, independent of its version."""
        return self.thread, self.message_id


@dataclass(frozen=True, slots=True)
class TurnWrite:
    """The text of a retained message, stored in addition to the memories made from it.

    Attributes:
        key: the key of this version of the message.
        text: the text.
        speaker: the name or id of the speaker.
        role: the speaker's role.
        said_at: the time of the message (aware UTC).
        tags: the visibility tags, sorted.
        unit_id: the id of the unit with the verbatim text of this message, so that the text is not stored twice; None if
            there is no such unit.
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
    """A retained document, stored for provenance and for comparison with later versions."""

    id: str
    content_hash: str
    context: str
    mentioned_at: datetime
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()


NOWHERE = -1
"""The position of a chunk that is no longer part of its document."""


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """One extracted passage of a document.

    Attributes:
        document_id: the id of the document.
        ordinal: the permanent number of the chunk within its document; never reused.
        text: the text of the passage.
        content_hash: the hash of the text.
        position: the current position, from 0; NOWHERE after its removal.
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
        vector: the unit-norm vector as little-endian float32, 4 * dimension bytes; empty for a turn that could not be
            embedded.
    """

    unit: MemoryUnit
    vector: bytes


@dataclass(frozen=True, slots=True)
class EntityWrite:
    """A new entity, or additional names and a role for an existing one (by id).

    Attributes:
        id: the id of the entity.
        name: the canonical name.
        type: the type.
        names: its normalised names; for a new entity, the first determines the id.
        role: the role, if it is the user, the agent or a speaker.
    """

    id: str
    name: str
    type: EntityType
    names: tuple[str, ...]
    role: EntityRole = EntityRole.NONE


@dataclass(frozen=True, slots=True)
class MentionWrite:
    """A mention of an entity in a unit, with the name as written."""

    unit_id: str
    entity_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CategoryWrite:
    """A new category of records, or additional spellings of an existing one (by kind and any of its spellings).

    Attributes:
        kind: the kind of its records.
        name: the name of a new category, or a spelling of an existing one.
        spellings: the additional spellings; those of another category are not moved.
    """

    kind: RecordKind
    name: str
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedWrite:
    """The new observations of an entity, replacing all earlier ones (paper eq. 6).

    Attributes:
        entity_id: the id of the entity.
        facts: the ids of the facts that support each observation, at least one, by the observation's unit id. New units
            are in the write set's `units`, each with a mention of the entity. Earlier observations that are not listed
            here are removed.
        left_out: the ids of the considered facts that support no observation.
        at_revision: the bank's revision at which the facts were read.
    """

    entity_id: str
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    at_revision: int


@dataclass(frozen=True, slots=True)
class ProfileWrite:
    """A new profile of the bank.

    Attributes:
        profile: the new profile.
        effective_at: the time at which it takes effect (aware UTC). The ledger clamps it to at most its current time and at
            least the time of the previous change.
        reason: the reason for the change, in human-readable form; it must not quote a memory.
        expected: the number of the newest change on which it is based, 0 for none; a mismatch raises RevisionConflict.
    """

    profile: BankProfile
    effective_at: datetime
    reason: str
    expected: int


@dataclass(frozen=True, slots=True)
class WriteSet:
    """All changes of one retain (or reflect) to one bank.

    Attributes:
        expected_revision: the bank's revision on which it is based; a mismatch raises RevisionConflict.
        messages: the keys of the retained message versions; the turn of an earlier version and its waiting units are
            removed.
        turns: the texts of messages; each replaces the text of an earlier version.
        extracted: the ids of the waiting turns that are now extracted.
        categories: new and changed categories of records; categories that units' records use are created even if not
            listed here.
        observed: an entity's new observations.
        opinions: new opinions, new wordings and new evidence.
        refreshed: the result of checking or refreshing a mental model; does not raise the revision by itself.
        profile: a new profile; does not raise the revision by itself.
        thread: the new position in a conversation and the messages that a fork dropped; does not raise the revision by
            itself.
        tasks: the tasks to enqueue.
        completed_tasks: the leases of the tasks that produced this write set; an invalid lease raises TaskClosed.
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
        """True if committing it would change nothing."""
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
