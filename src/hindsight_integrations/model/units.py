"""Memory units and their validity events: the paper's four networks (section 3.1) and the attributes of a unit (eq. 1)."""

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
"""The uuid5 namespace of unit and entity ids. It must not change: with other ids, repeated retains would create duplicates."""


class FactType(StrEnum):
    """The network of a unit, which is the kind of statement it makes (paper section 3.1)."""

    WORLD = "world"
    EXPERIENCE = "experience"
    OPINION = "opinion"
    OBSERVATION = "observation"

    @classmethod
    def _missing_(cls, value: object) -> FactType | None:
        """Accept the earlier paper's name "bank" for the experience network (section 2.1)."""
        return cls.EXPERIENCE if value == "bank" else None


OBSERVED_NETWORKS = (FactType.WORLD, FactType.EXPERIENCE)
"""The networks of facts, from which observations are derived (paper section 4.1.5); opinions must not influence observations."""


TOLD_NETWORKS = tuple(network for network in FactType if network is not FactType.OBSERVATION)
"""All networks except observations: used for links and hubs, and searched by recall by default."""


class UnitKind(StrEnum):
    """The kind of a unit."""

    MEMORY = "memory"
    """A fact, an opinion or an observation."""
    TURN = "turn"
    """A message, or part of one, that waits for extraction; recall finds it until its facts are stored."""
    DOCUMENT_ITEM = "document_item"
    """An item of a document or list, with its own sources and validity; shown with its document (`model/documents.py`)."""
    ITEM = "item"
    """A text of a stored item, which only item searches find; it is not a memory."""


@dataclass(frozen=True, slots=True)
class CompactText:
    """The short form of a unit's text: its beginning with the main statement, and a numeric date.

    Attributes:
        characters: the length of the beginning; the rest of the text contains only the time and the reason.
        tokens: the number of tokens including the date, which is less than that of the text.
    """

    characters: int
    tokens: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class MemoryUnit(Displayed):
    """One memory: f = (u, b, t, v, tau_s, tau_e, tau_m, l, c, x) of paper eq. 1; the vector v is stored separately.

    Attributes:
        id: the uuid5 of bank, source message ids (or document and chunk), ordinal and normalised text, so that a repeated
            retain writes the same rows.
        bank: the bank's name.
        text: the self-contained narrative text.
        fact_type: its network.
        mentioned_at: the time at which it was said or learned (aware UTC).
        occurred: the half-open interval in which it happened; None if it has none.
        context: the caller's description of its origin.
        confidence: the strength of belief in [0, 1], for opinions only.
        metadata: the caller's metadata: text, numbers, booleans and lists of them.
        tags: the caller's visibility tags, sorted.
        document_id: the id of its source document, if any.
        chunk: the ordinal of the chunk within that document or conversation.
        thread: the id of the conversation of its sources; empty if there is none.
        sources: the ids of its source messages.
        speaker: the speaker, if the text is a verbatim message; empty for an extracted fact.
        tokens: the number of tokens of its text (paper eq. 8), counted once at retain.
        compact: the short form of its text; None if it would not be shorter.
        records: its countable or listable parts.
        closed_at: the time at which it stopped being valid; a cache of the validity log.
        kind: a memory, an item of a document, a turn that waits for extraction, or a text of a stored item.
        part_of: the id of the document's head, for an item of a document; None after the head was erased.
        number: for an item of a document, its number there, from 1; for a document, the highest number assigned so far,
            which is never reused; otherwise 0.
        lasting: True for lasting traits of a person: identity, relationships, preferences, constraints, goals, and the
            preferred style of answers. Set by a model or the caller; False for verbatim messages.
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
        """The start of `occurred`, or `mentioned_at` if it has no interval."""
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
    """The effect of a validity event on a unit."""

    CLOSED = "closed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class ValidityEvent:
    """One entry of a unit's append-only validity log.

    Attributes:
        unit_id: the id of the changed unit.
        kind: the effect, closed or restored.
        effective_at: the conversation time at which it takes effect, usually the time of the message that stated it.
        by_unit: the id of the unit that stated it, if any.
        reason: the statement or another reason, in human-readable form.
    """

    unit_id: str
    kind: ValidityKind
    effective_at: datetime
    by_unit: str | None = None
    reason: str = ""
