"""The context of a reflection: its bank, the engine's services, and the reads of an agentic reflection."""

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
    """A range of days, both included; None leaves a side open."""

    first: date | None = None
    last: date | None = None

    @property
    def is_open(self) -> bool:
        """Whether it includes every day."""
        return self.first is None and self.last is None


ANY_TIME = Period()


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories that match, all or the first of them.

    Attributes:
        units: ordered by time.
        total: number of all matches.
    """

    units: tuple[RecalledUnit, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn, and the visible memories made from it.

    Attributes:
        turn: the turn; `history` if all memories made from it are invalid.
        units: the memories.
    """

    turn: SourceTurn
    units: tuple[RecalledUnit, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a memory.

    Attributes:
        turns: oldest first.
        passage: of its document; empty for a memory of a conversation.
    """

    turns: tuple[SourceTurn, ...] = ()
    passage: str = ""


@dataclass(frozen=True, slots=True)
class RecordSelection:
    """Filters on records as a model wrote them; None matches anything.

    Attributes:
        kind: kind of record.
        category: category of the records.
        unit: unit of the values.
        entity: name or id of an entity that the records' memories mention.
    """

    kind: str | None = None
    category: str | None = None
    unit: str | None = None
    entity: str | None = None


class MemoryReads(Protocol):
    """Reads of one bank for one reflection, always limited to its tags, moment and window.

    Raises:
        InvalidRequest: by every method, if what is requested is unknown, ambiguous or outside these limits.
    """

    async def recall(
        self, text: str, *, types: Sequence[FactType], period: Period, max_tokens: int
    ) -> RecallResult:
        """Recall the memories nearest to a text, with figures of the records that it concerns."""
        ...

    async def listed(
        self, *, types: Sequence[FactType], entity: str | None, period: Period, limit: int
    ) -> Listed:
        """List the memories of these networks, entity and period, ordered by time; at most `limit`."""
        ...

    async def turns_saying(self, words: str, *, period: Period, limit: int) -> tuple[SaidTurn, ...]:
        """Find turns that contain these words, oldest first; at most `limit`."""
        ...

    async def sources(self, item: RecalledUnit) -> Sources:
        """The sources of a memory, as far as they are stored and visible."""
        ...

    async def mental_models(self, text: str) -> Sequence[MentalModel]:
        """Answered standing questions near a text."""
        ...

    async def records(
        self, wanted: RecordSelection, *, period: Period
    ) -> Sequence[tuple[RecordEntry, RecalledUnit]]:
        """List every record of this kind with its memory, ordered by time."""
        ...

    async def aggregate(
        self, how: Aggregation, wanted: RecordSelection, *, period: Period
    ) -> tuple[Aggregate, tuple[RecalledUnit, ...]]:
        """Compute one exact value over such records; also return the memories used."""
        ...

    async def by_id(self, unit_ids: Sequence[str]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them, ordered by time; missing ones are left out."""
        ...

    async def standing(self, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        """Memories as recall serves them: documents with their valid items, without invalid observations."""
        ...


RECORD_TOKENS = 1_024  # of exact figures and rows of records, beside the memories

Recall = Callable[[RecallQuery], Awaitable[RecallResult]]
MentalModelsNear = Callable[[RecallQuery], Awaitable[Sequence[MentalModel]]]


async def no_mental_models(_: RecallQuery) -> Sequence[MentalModel]:
    """No mental models."""
    return ()


async def no_directives(_: RecallQuery) -> Sequence[str]:
    """No directives."""
    return ()


@dataclass(frozen=True, slots=True)
class ReflectContext:
    """What a reflection works with: its bank and the engine's services.

    Attributes:
        projector: the bank.
        services: the engine's.
        profile: of the agent that answers.
        recall: recalls memories.
        mental_models: finds mental models near a question.
        directives: finds the operator's rules that apply to a question.
        reads: makes the reads of an agentic reflection; None if it may not read.
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
