"""What a recall finds: memories, and the passages, observations and source facts that come with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hindsight_integrations.model.display import Displayed, Table, fields
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.requests import TextForm
from hindsight_integrations.model.rows import unit_row
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.model.trace import Channel, ChannelHit
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import MemoryUnit, UnitKind


@dataclass(frozen=True, slots=True)
class ServedItems:
    """The items of a document as they are served with its head.

    Attributes:
        items: those that hold, grouped by field.
        tokens: what head and items cost together.
        left_out: how many more hold and did not fit the budget.
    """

    items: tuple[MemoryUnit, ...]
    tokens: int
    left_out: int = 0


class RecallReason(StrEnum):
    """Why a memory was returned."""

    FOUND = "found"
    """It ranks among those that answer the question."""
    CORE = "core"
    """It is part of core memory: a lasting fact about the user, shown whatever is asked (`include_core`)."""
    REQUEST = "request"
    """A request was made, which may need more than what it is like: further lasting facts, else more of the ranking."""
    OVERVIEW = "overview"
    """The question asks for whatever is remembered."""
    SMALL_BANK = "small_bank"
    """The whole bank fits into half of the budget."""

    @property
    def words(self) -> str:
        """The same in words, empty for what was found."""
        return _REASONS.get(self, "")


_REASONS = {
    RecallReason.CORE: "core memory",
    RecallReason.REQUEST: "a request may need it",
    RecallReason.OVERVIEW: "the question asks for an overview",
    RecallReason.SMALL_BANK: "a small bank is shown whole",
}


@dataclass(frozen=True, slots=True, repr=False)
class RecalledUnit(Displayed):
    """A unit as recall returns it.

    Attributes:
        unit: the memory as it was retained, of a document the head; read `text`.
        score: final score; higher is better, comparable within one result only.
        channels: which channels found it, and where.
        entities: canonical names of the entities it mentions; none for a turn.
        valid: False for history returned by include_invalidated.
        document: of a document the items that hold; None for everything else.
        form: which text of it was asked for.
        reason: why it was returned.
        asked_at: the moment of the question.
    """

    unit: MemoryUnit
    score: float
    channels: Mapping[Channel, ChannelHit] = field(default_factory=dict)
    entities: tuple[str, ...] = ()
    valid: bool = True
    document: ServedItems | None = None
    form: TextForm = TextForm.FULL
    reason: RecallReason = RecallReason.FOUND
    asked_at: datetime | None = None

    @property
    def when(self) -> str:
        """When it happened or is planned for, seen from the question; when it was mentioned, if it has no time of its own."""
        return readable_time(self.unit.occurred, self.unit.mentioned_at, self.asked_at)

    @property
    def kind(self) -> UnitKind:
        """Whether it is a memory, or a turn that waits for extraction."""
        return self.unit.kind

    @property
    def text(self) -> str:
        """What a reader must see: the memory's text, of a document with the items that hold."""
        return self._with_items(self.unit.compact_text if self.form is TextForm.COMPACT else self.unit.text)

    @property
    def beside_date(self) -> str:
        """`text` where a date is shown beside it: a compact one has none of its own then."""
        return self._with_items(self.unit.what if self.form is TextForm.COMPACT else self.unit.text)

    @property
    def tokens(self) -> int:
        """What `text` costs in the budget."""
        if self.document:
            return self.document.tokens
        short = self.unit.compact if self.form is TextForm.COMPACT else None
        return short.tokens if short else self.unit.tokens

    @property
    def ranks(self) -> str:
        """Which channels found it, with its rank in each, in words: "semantic 1, keyword 2"; else why it is there."""
        hits = ", ".join(f"{channel.value} {hit.rank}" for channel, hit in self.channels.items())
        return hits or self.reason.words

    def _display_text(self) -> str:
        return self.text

    def _display_facts(self) -> tuple[str, ...]:
        return f"score {self.score:.3g}", self.ranks, "" if self.valid else "no longer valid"

    def _display_tables(self) -> tuple[Table, ...]:
        return (
            fields(
                text=self.text,
                when=self.when,
                score=f"{self.score:.3g}",
                found_by=self.ranks,
                network=self.unit.fact_type.value,
                entities=self.entities,
                id=self.unit.id,
            ),
        )

    def _with_items(self, head: str) -> str:
        if not self.document:
            return head
        return document_text(head, self.document.items, left_out=self.document.left_out)


@dataclass(frozen=True, slots=True)
class RecalledChunk:
    """A passage of a document, or a turn of a conversation, that recalled units came from, as it was retained.

    Attributes:
        document_id: the document it is part of; None for a turn.
        ordinal: which passage of it; 0 for a turn.
        text: the passage, or its beginning; of a turn speaker and text.
        tokens: what that costs.
        unit_ids: the recalled units made from it, best first.
        truncated: the budget ended within it; only the last passage can be.
        turn: the turn it is; None for a passage. It is history where all memories made from it were closed at the time
            asked about.
    """

    document_id: str | None
    ordinal: int
    text: str
    tokens: int
    unit_ids: tuple[str, ...]
    truncated: bool = False
    turn: SourceTurn | None = None


@dataclass(frozen=True, slots=True)
class EntityObservations:
    """What is known of an entity that the recalled units mention.

    Attributes:
        id: the entity.
        name: its canonical name.
        observations: what was observed of it, nearest to the question first; `score` is the cosine.
        stale: some of it was made of facts that have changed since, and waits to be made anew; what it stands on still holds.
    """

    id: str
    name: str
    observations: tuple[RecalledUnit, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A unit that recalled observations stand on.

    Attributes:
        fact: the unit; `score` is its cosine with the question.
        observation_ids: the observations that stand on it, best first.
    """

    fact: RecalledUnit
    observation_ids: tuple[str, ...]


def plain_metadata(recalled: RecalledUnit) -> dict[str, Any]:
    """What frameworks carry beside a memory's text, in values that JSON has.

    The caller's own metadata, and what the engine knows, which wins where both use a key. Nothing in it depends on the
    question that found the memory.
    """
    unit = recalled.unit
    return {
        **{key: list(value) if isinstance(value, tuple) else value for key, value in unit.metadata.items()},
        "date": recalled.when,
        "kind": unit.kind.value,
        "fact_type": unit.fact_type.value,
        "confidence": unit.confidence,
        "valid": recalled.valid and unit.closed_at is None,
        "occurred_start": unit.occurred.start.isoformat() if unit.occurred else None,
        "occurred_end": unit.occurred.end.isoformat() if unit.occurred else None,
        "mentioned_at": unit.mentioned_at.isoformat(),
        "entities": list(recalled.entities),
        "context": unit.context,
        "tags": list(unit.tags),
        "thread": unit.thread,
        "sources": list(unit.sources),
        "document_id": unit.document_id,
    }


def recalled_row(rank: int, recalled: RecalledUnit) -> dict[str, Any]:
    """A recalled memory as a row: the memory's, with its rank, score and the rank that each channel gave it."""
    hits = {channel.value: recalled.channels.get(channel) for channel in Channel}
    return unit_row(recalled.unit) | {
        "text": recalled.text,
        "rank": rank,
        "score": float(recalled.score),
        "when": recalled.when,
        "entities": list(recalled.entities),
        "valid": recalled.valid,
        "reason": recalled.reason.value,
        **{f"{name}_rank": hit.rank if hit else None for name, hit in hits.items()},
    }
