"""What a reflection reads of its bank."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.services import Services


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
class RecordSelection:
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
        self, wanted: RecordSelection, *, period: Period
    ) -> Sequence[tuple[RecordEntry, RecalledUnit]]:
        """Every record of this sort, in order of time, with its memory as it stands."""
        ...

    async def aggregate(
        self, how: Aggregation, wanted: RecordSelection, *, period: Period
    ) -> tuple[Aggregate, tuple[RecalledUnit, ...]]:
        """One exact value over such records, and the memories that entered it as they stand."""
        ...

    async def by_id(self, unit_ids: Sequence[str]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them, in order of time; those that are gone are left out."""
        ...

    async def standing(self, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them: documents with the items that hold; observations that fell are left out."""
        ...


RECORD_TOKENS = 1_024  # of exact figures and rows of records, beside the memories

Recall = Callable[[RecallQuery], Awaitable[RecallResult]]
MentalModelsNear = Callable[[RecallQuery], Awaitable[Sequence[MentalModel]]]


async def no_mental_models(_: RecallQuery) -> Sequence[MentalModel]:
    """None: a bank without mental models."""
    return ()


async def no_directives(_: RecallQuery) -> Sequence[str]:
    """None: a bank without directives."""
    return ()


@dataclass(frozen=True, slots=True)
class ReflectContext:
    """The bank of a reflection as it sees it, and the engine's services.

    Attributes:
        projector: the bank.
        services: the engine's.
        profile: in whose character it answers.
        recall: finds memories.
        mental_models: those near a question.
        directives: the operator's rules for answers to a question.
        reads: what an agentic reflection may read, limited to a query's tags, moment and window; None without a bank.
    """

    projector: Projector
    services: Services
    profile: BankProfile
    recall: Recall
    mental_models: MentalModelsNear = no_mental_models
    directives: Callable[[RecallQuery], Awaitable[Sequence[str]]] = no_directives
    reads: Callable[[RecallQuery], MemoryReads] | None = None

    async def revision(self) -> int:
        """The bank's revision now."""
        return await self.services.workers.read(self.projector.ledger.revision, self.projector.name)
