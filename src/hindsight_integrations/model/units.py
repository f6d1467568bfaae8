"""Memory units: the four networks of the paper (section 3.1) and the attributes of a unit (eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from hindsight_integrations.model.display import Displayed, Table, day, fields
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.records import Record
from hindsight_integrations.model.time import Interval, iso_time

NAMESPACE = UUID("6f1f8a0e-6c0f-5c57-9d4c-6a3f0e2b7d11")
"""Namespace of unit and entity ids; changing it would make every retained fact new."""


class FactType(StrEnum):
    """The network a unit belongs to (paper section 3.1)."""

    WORLD = "world"
    EXPERIENCE = "experience"
    OPINION = "opinion"
    OBSERVATION = "observation"

    @classmethod
    def _missing_(cls, value: object) -> FactType | None:
        """Accept the earlier paper's name "bank" for the experience network (section 2.1)."""
        return cls.EXPERIENCE if value == "bank" else None


OBSERVED_NETWORKS = (FactType.WORLD, FactType.EXPERIENCE)
"""The networks of facts, from which observations are made (paper section 4.1.5); opinions must not influence them."""


TOLD_NETWORKS = tuple(network for network in FactType if network is not FactType.OBSERVATION)
"""All networks but observations: used for links and hubs, and by default for recall."""


class UnitKind(StrEnum):
    """The kinds of units."""

    MEMORY = "memory"
    """A fact, an opinion or an observation."""
    TURN = "turn"
    """A message, or part of one, that waits for extraction; recall finds it until its facts are stored."""
    DOCUMENT_ITEM = "document_item"
    """An item of a document or list, with its own sources and validity; served with its head (`model/documents.py`)."""
    ITEM = "item"
    """A text of a stored item: not a memory, found only by searches of items."""


@dataclass(frozen=True, slots=True)
class CompactText:
    """The short form of a unit's text: its beginning, which says what happened, and a numeric date.

    Attributes:
        characters: number of characters kept; the rest only repeats when, or says why.
        tokens: token cost including the date, less than that of the text.
    """

    characters: int
    tokens: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class MemoryUnit(Displayed):
    """One memory: f = (u, b, t, v, tau_s, tau_e, tau_m, l, c, x) of paper eq. 1; the vector v is stored separately.

    Attributes:
        id: uuid5 over bank, source message ids (else document and chunk), ordinal and normalised text, so
            that repeating a retain gives the same rows.
        bank: the bank's name.
        text: the self-contained narrative text.
        fact_type: its network.
        mentioned_at: when it was said or learned (aware UTC).
        occurred: when it happened, half-open; None if it has no time of its own.
        context: the caller's description of its origin.
        confidence: belief strength in [0, 1], opinions only.
        metadata: the caller's own values: text, numbers, booleans and lists of them, as given.
        tags: the caller's visibility tags, sorted.
        document_id: the document it was extracted from, if any.
        chunk: ordinal of the chunk within that document or conversation.
        thread: the conversation of its sources, empty if none.
        sources: ids of its source messages.
        speaker: who said it, if the text is one message word for word; empty for anything extracted.
        tokens: its token cost (paper eq. 8), counted once at retain.
        compact: the short form of its text; None if that would not be shorter.
        records: its countable or listable parts.
        closed_at: when it stopped being valid; a cache of the validity log.
        kind: a memory, an item of a document, a turn that waits for extraction, or a text of a stored item.
        part_of: for an item of a document: id of the document's head; None once the head was erased.
        number: for an item of a document: its number there, from 1 in the order given; for a document: the
            highest number assigned so far, which is never reused; otherwise 0.
        lasting: whether it says who somebody is: identity, relationships, lasting preferences, constraints,
            goals, and how they want to be answered. Set by a model or the caller; False for messages word for
            word.
    """

    id: str
    bank: str
    text: str
    fact_type: FactType
    mentioned_at: datetime
    occurred: Interval | None = None
    context: str = ""
    confidence: float | None = None
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    document_id: str | None = None
    chunk: int = 0
    thread: str = ""
    sources: tuple[str, ...] = ()
    speaker: str = ""
    tokens: int = 0
    compact: CompactText | None = None
    records: tuple[Record, ...] = ()
    closed_at: datetime | None = None
    kind: UnitKind = UnitKind.MEMORY
    part_of: str | None = None
    number: int = 0
    lasting: bool = False

    @property
    def what(self) -> str:
        """The short text without its date, for prompts that show the date separately."""
        return self.text[: self.compact.characters] if self.compact else self.text

    @property
    def compact_text(self) -> str:
        """The short text with a numeric date."""
        if not self.compact:
            return self.text
        return f"{self.what} ({iso_time(self.occurred)})" if self.occurred else self.what

    @property
    def began(self) -> datetime:
        """When it began to happen, or when it was mentioned if it has no time of its own."""
        return self.occurred.start if self.occurred else self.mentioned_at

    def _display_text(self) -> str:
        return self.text

    def _display_facts(self) -> tuple[str, ...]:
        ended = f"closed {day(self.closed_at)}" if self.closed_at else ""
        return self.fact_type.value, day(self.began), ended, self.id

    def _display_tables(self) -> tuple[Table, ...]:
        return (
            fields(
                text=self.text,
                occurred=iso_time(self.occurred) if self.occurred else None,
                mentioned=self.mentioned_at,
                closed=self.closed_at,
                network=self.fact_type.value,
                confidence=self.confidence,
                records=", ".join(record.words for record in self.records),
                speaker=self.speaker,
                thread=self.thread,
                document=self.document_id,
                tags=self.tags,
                id=self.id,
            ),
        )


class ValidityKind(StrEnum):
    """How a validity event changes a unit."""

    CLOSED = "closed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class ValidityEvent:
    """One entry of a unit's append-only validity log.

    Attributes:
        unit_id: the unit it changes.
        kind: closed or restored.
        effective_at: conversation time at which it takes effect: mentioned_at of the stating message.
        by_unit: the unit that stated it, if any.
        reason: the statement, for people.
    """

    unit_id: str
    kind: ValidityKind
    effective_at: datetime
    by_unit: str | None = None
    reason: str = ""
