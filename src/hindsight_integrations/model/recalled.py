"""Results of a recall: memories, and the passages, observations and source facts returned with them."""

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
    """The items of a document that are returned with its head.

    Attributes:
        items: the valid items, grouped by field.
        tokens: the number of tokens of the head and the items.
        left_out: the number of valid items that did not fit the budget.
    """

    items: tuple[MemoryUnit, ...]
    tokens: int
    left_out: int = 0


class RecallReason(StrEnum):
    """The reason why a memory was returned."""

    FOUND = "found"
    """It ranks among the best matches of the question."""
    CORE = "core"
    """It is core memory: a lasting fact about the user, returned for every question (`include_core`)."""
    REQUEST = "request"
    """The user made a request, for which further lasting facts or lower-ranked memories may be useful."""
    LISTED = "listed"
    """It completes a list that the question is about, such as the open tasks."""
    OVERVIEW = "overview"
    """The question asks for everything that is remembered."""
    SMALL_BANK = "small_bank"
    """The whole bank fits into half of the budget."""

    @property
    def words(self) -> str:
        """The reason in words; empty for FOUND."""
        return _REASONS.get(self, "")


_REASONS = {
    RecallReason.CORE: "core memory",
    RecallReason.REQUEST: "possibly needed for the request",
    RecallReason.LISTED: "listed",
    RecallReason.OVERVIEW: "the question asks for an overview",
    RecallReason.SMALL_BANK: "small bank, returned as a whole",
}


@dataclass(frozen=True, slots=True, repr=False)
class RecalledUnit(Displayed):
    """A memory returned by recall.

    Attributes:
        unit: the retained memory; for a document, its head. Read `text` for the text to show.
        score: the final score; higher is better, and only scores of one result are comparable.
        channels: the channels that found it, with rank and score.
        entities: the canonical names of the entities that it mentions; empty for a turn.
        valid: False for invalid memories returned by `include_invalidated`.
        document: the valid items of a document; None for other memories.
        form: the requested form of its text.
        reason: the reason why it was returned.
        asked_at: the time of the question.
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
        """The time of the event, past or planned, or else the mention time, in words relative to the question."""
        return readable_time(self.unit.occurred, self.unit.mentioned_at, self.asked_at)

    @property
    def kind(self) -> UnitKind:
        """The kind of the unit: a memory, or a turn that waits for extraction."""
        return self.unit.kind

    @property
    def text(self) -> str:
        """The text to show; for a document it includes the valid items."""
        return self._with_items(self.unit.compact_text if self.form is TextForm.COMPACT else self.unit.text)

    @property
    def beside_date(self) -> str:
        """The text to show next to a date: like `text`, but a compact text omits its date."""
        return self._with_items(self.unit.what if self.form is TextForm.COMPACT else self.unit.text)

    @property
    def tokens(self) -> int:
        """The number of tokens of `text`."""
        if self.document:
            return self.document.tokens
        short = self.unit.compact if self.form is TextForm.COMPACT else None
        return short.tokens if short else self.unit.tokens

    @property
    def ranks(self) -> str:
        """The channels that found it with their ranks ("semantic 1, keyword 2"); if there are none, the reason in words."""
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
    """A passage of a document, or a turn of a conversation, from which recalled units were made.

    Attributes:
        document_id: the id of the document; None for a turn.
        ordinal: the number of the passage in the document; 0 for a turn.
        text: the passage or its beginning; for a turn, the speaker and text.
        tokens: the number of tokens of the text.
        unit_ids: the ids of the recalled units made from it, best first.
        truncated: True if the text was cut at the end of the budget; only the last passage can be.
        turn: the turn; None for a passage. Its `history` is True if all memories made from it were invalid at the time of
            the query.
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
    """The observations of an entity that the recalled units mention.

    Attributes:
        id: the id of the entity.
        name: its canonical name.
        observations: its observations, the nearest to the question first; `score` is the cosine.
        stale: True if the entity's facts have changed, so that the observations will be updated; the facts that support
            them are still valid.
    """

    id: str
    name: str
    observations: tuple[RecalledUnit, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True)
class SourceFact:
    """A fact that supports recalled observations.

    Attributes:
        fact: the unit; `score` is its cosine with the question.
        observation_ids: the ids of the observations that it supports, best first.
    """

    fact: RecalledUnit
    observation_ids: tuple[str, ...]


def plain_metadata(recalled: RecalledUnit) -> dict[str, Any]:
    """Return the metadata of a memory for frameworks, as JSON values.

    The engine's keys replace equal keys of the caller's metadata. Only `date` depends on the question.
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
    """Return a recalled memory as a row: the memory's row with rank, score and the rank in each channel."""
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
