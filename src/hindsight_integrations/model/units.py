"""Memory units: the four networks of the paper (section 3.1) and what is known of each unit (eq. 1)."""

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
        """The earlier paper calls the experience network "bank" (section 2.1)."""
        return cls.EXPERIENCE if value == "bank" else None


OBSERVED_NETWORKS = (FactType.WORLD, FactType.EXPERIENCE)
"""The networks of facts, from which observations are made (paper section 4.1.5); opinions shall not colour them."""


TOLD_NETWORKS = tuple(each for each in FactType if each is not FactType.OBSERVATION)
"""The networks that observations are not of: what memory itself goes by, in links, hubs and by default in recall."""


class UnitKind(StrEnum):
    """What a unit is."""

    MEMORY = "memory"
    """A fact, an opinion or an observation."""
    TURN = "turn"
    """A message, or a piece of one, that waits for extraction: found by recall until its facts are there."""
    DOCUMENT_ITEM = "document_item"
    """An item of a document or list, with sources and validity of its own; served with the head it is part of (`model/documents.py`)."""
    ITEM = "item"
    """A text of a stored item: no memory, found by searches of items alone."""


@dataclass(frozen=True, slots=True)
class CompactText:
    """The short form of a unit's text: its beginning, which says what happened, and the date as figures.

    Attributes:
        characters: of the text that it keeps; what follows says when once more, and why.
        tokens: what it costs with its date, fewer than the text.
    """

    characters: int
    tokens: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class MemoryUnit(Displayed):
    """One memory: f = (u, b, t, v, tau_s, tau_e, tau_m, l, c, x) of paper eq. 1; v is kept beside it.

    Attributes:
        id: uuid5 over bank, source message ids (else document and chunk), ordinal and normalised text, so that the
            same retain twice gives the same rows.
        bank: the bank's name.
        text: the self-contained narrative text.
        fact_type: its network.
        mentioned_at: when it was said or learned (aware UTC).
        occurred: when what it describes happened, half-open; None if it has no time of its own.
        context: the caller's words about where this came from.
        confidence: belief strength in [0, 1], opinions only.
        metadata: the caller's own values: text, numbers, truth values and lists of them, as they were given.
        tags: the caller's visibility tags, sorted.
        document_id: the document it was extracted from, if any.
        chunk: ordinal of the chunk within that document or conversation.
        thread: the conversation its sources belong to, empty if none.
        sources: ids of the messages it stands on.
        speaker: who said it, where the text is one message word for word; empty for anything extracted.
        tokens: what it costs in a token budget (paper eq. 8), counted once at retain.
        compact: the short form of its text, counted likewise; None where that would be no shorter.
        records: what of it can be added up or listed.
        closed_at: from when on it is no longer valid; a cache of the validity log.
        kind: a memory, an item of a document, a turn that waits to become memories, or a text of a stored item.
        part_of: of an item of a document: id of the document's head; None once the head was forgotten.
        number: of an item of a document: its number there, from 1 in the order given; of a document: the last number given,
            which is never given again; 0 for everything else.
        lasting: whether it says who somebody is: identity, relationships, lasting preferences, constraints, goals, and how
            they want to be answered. Set by a model or the caller; False for messages word for word.
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
        """Its text in short, without its date: what a line of a prompt says that shows the date beside it."""
        return self.text[: self.compact.characters] if self.compact else self.text

    @property
    def compact_text(self) -> str:
        """Its text in short, with the date as figures."""
        if not self.compact:
            return self.text
        return f"{self.what} ({iso_time(self.occurred)})" if self.occurred else self.what

    @property
    def began(self) -> datetime:
        """When what it tells of began to happen, or it was mentioned if it has no time of its own."""
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
    """What a validity event does to a unit."""

    CLOSED = "closed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class ValidityEvent:
    """One entry of a unit's append-only validity log.

    Attributes:
        unit_id: the unit it speaks of.
        kind: closed or restored.
        effective_at: conversation time from which it holds: mentioned_at of the stating message.
        by_unit: the unit that stated it, if any.
        reason: the statement, for people.
    """

    unit_id: str
    kind: ValidityKind
    effective_at: datetime
    by_unit: str | None = None
    reason: str = ""
