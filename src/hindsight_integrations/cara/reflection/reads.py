"""What a model may read on the way to an answer, beside what recall gives; limited to what the reflection may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import FactType, MemoryUnit


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both included; None leaves that side open."""

    first: date | None = None
    last: date | None = None

    @property
    def is_open(self) -> bool:
        """Whether it leaves any day in."""
        return self.first is None and self.last is None


ANY_TIME = Period()


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories that match, complete or the first of them.

    Attributes:
        units: in order of time.
        total: how many match in all.
    """

    units: tuple[RecalledUnit, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn, and the memories made from it that may be shown.

    Attributes:
        turn: what was said; `history` where all memories made from it are withdrawn.
        units: those memories.
    """

    turn: SourceTurn
    units: tuple[RecalledUnit, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What a memory was made from.

    Attributes:
        turns: what was said, oldest first.
        passage: the passage of its document; empty for one of a conversation.
    """

    turns: tuple[SourceTurn, ...] = ()
    passage: str = ""


@dataclass(frozen=True, slots=True)
class RecordWords:
    """Which records are meant, in a model's words; None means any.

    Attributes:
        kind: of record.
        category: the finer sort.
        unit: of the values.
        entity: name or id of one that the records' memories mention.
    """

    kind: str | None = None
    category: str | None = None
    unit: str | None = None
    entity: str | None = None


class MemoryReads(Protocol):
    """Reads of one bank for one reflection: nothing beyond its tags, its moment and its window, whatever is asked for.

    Raises:
        InvalidRequest: by every method, what is asked for is unknown, ambiguous or outside those limits.
    """

    async def recall(
        self, text: str, *, types: Sequence[FactType], period: Period, max_tokens: int
    ) -> RecallResult:
        """The memories nearest to a text, best first, and figures of the records it touches."""
        ...

    async def listed(
        self, *, types: Sequence[FactType], entity: str | None, period: Period, limit: int
    ) -> Listed:
        """Every memory of these networks, of an entity and a time, in order of time; at most `limit` of them."""
        ...

    async def turns_saying(self, words: str, *, period: Period, limit: int) -> tuple[SaidTurn, ...]:
        """Turns with these words, oldest first; at most `limit`."""
        ...

    async def sources(self, item: RecalledUnit) -> Sources:
        """What a memory was made from, as far as it is kept and may be shown."""
        ...

    async def mental_models(self, text: str) -> Sequence[MentalModel]:
        """Standing questions near a text that have an answer."""
        ...

    async def records(
        self, wanted: RecordWords, *, period: Period
    ) -> Sequence[tuple[RecordEntry, RecalledUnit]]:
        """Every record of this sort, in order of time, with its memory as it stands."""
        ...

    async def aggregate(
        self, how: Aggregation, wanted: RecordWords, *, period: Period
    ) -> tuple[Aggregate, tuple[RecalledUnit, ...]]:
        """One exact value over such records, and the memories that entered it as they stand."""
        ...

    async def by_id(self, unit_ids: Sequence[str]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them, in order of time; those that are gone are left out."""
        ...

    async def standing(self, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them: documents with the items that hold; observations that fell are left out."""
        ...
