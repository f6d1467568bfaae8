"""The context of a reflection: its bank, the engine's services, and the read operations of the agentic loop."""

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
    """A range of days, both inclusive; None means unbounded."""

    first: date | None = None
    last: date | None = None

    @property
    def is_open(self) -> bool:
        """True if both ends are unbounded."""
        return self.first is None and self.last is None


ANY_TIME = Period()


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of matching memories.

    Attributes:
        units: the first matches, ordered by time.
        total: number of all matches.
    """

    units: tuple[RecalledUnit, ...]
    total: int


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn, and the memories made from it that the reflection may use.

    Attributes:
        turn: the turn; with `history` set if all memories made from it are invalid.
        units: the visible memories made from it.
    """

    turn: SourceTurn
    units: tuple[RecalledUnit, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a memory.

    Attributes:
        turns: the turns it was made from, oldest first.
        passage: the passage of its document; empty for a memory from a conversation.
    """

    turns: tuple[SourceTurn, ...] = ()
    passage: str = ""


@dataclass(frozen=True, slots=True)
class RecordSelection:
    """Filters on records, unvalidated model output; None matches anything.

    Attributes:
        kind: kind of record.
        category: category of the records.
        unit: unit of the values.
        entity: name or id of an entity that the memories with the records mention.
    """

    kind: str | None = None
    category: str | None = None
    unit: str | None = None
    entity: str | None = None


class MemoryReads(Protocol):
    """The read operations of one reflection, limited to its bank, tags, point in time and time window.

    Raises:
        InvalidRequest: the requested item is unknown, ambiguous or outside these limits; raised by every method.
    """

    async def recall(
        self, text: str, *, types: Sequence[FactType], period: Period, max_tokens: int
    ) -> RecallResult:
        """Recall the memories nearest to a text, with digests of the records that match it."""
        ...

    async def listed(
        self, *, types: Sequence[FactType], entity: str | None, period: Period, limit: int
    ) -> Listed:
        """List up to `limit` memories of these networks, this entity and this period, ordered by time."""
        ...

    async def turns_saying(self, words: str, *, period: Period, limit: int) -> tuple[SaidTurn, ...]:
        """Find up to `limit` turns that contain these words, oldest first."""
        ...

    async def sources(self, item: RecalledUnit) -> Sources:
        """Return the stored and visible sources of a memory."""
        ...

    async def mental_models(self, text: str) -> Sequence[MentalModel]:
        """Find the mental models nearest to a text."""
        ...

    async def records(
        self, wanted: RecordSelection, *, period: Period
    ) -> Sequence[tuple[RecordEntry, RecalledUnit]]:
        """List all matching records with their memories, ordered by time."""
        ...

    async def aggregate(
        self, how: Aggregation, wanted: RecordSelection, *, period: Period
    ) -> tuple[Aggregate, tuple[RecalledUnit, ...]]:
        """Compute one exact value over the matching records; also return the memories used."""
        ...

    async def by_id(self, unit_ids: Sequence[str]) -> tuple[RecalledUnit, ...]:
        """Return these memories in the form recall returns them, ordered by time; omit missing ones."""
        ...

    async def standing(self, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        """Return units in the form that recall returns: documents with their valid items, and without invalid observations."""
        ...


RECORD_TOKENS = 1_024  # tokens for record digests, in addition to those for memories

Recall = Callable[[RecallQuery], Awaitable[RecallResult]]
MentalModelsNear = Callable[[RecallQuery], Awaitable[Sequence[MentalModel]]]


async def no_mental_models(_: RecallQuery) -> Sequence[MentalModel]:
    """Return no mental models."""
    return ()


@dataclass(frozen=True, slots=True)
class ReflectContext:
    """The bank, services and callbacks of a reflection.

    Attributes:
        projector: the bank.
        services: services of the engine.
        profile: profile of the agent that answers.
        recall: callback that recalls memories.
        directives: callback that returns the operator's rules for a question.
        mental_models: callback that finds the mental models nearest to a question.
        reads: factory of the read operations of an agentic reflection; None if the reflection cannot read the bank.
    """

    projector: Projector
    services: Services
    profile: BankProfile
    recall: Recall
    directives: Callable[[RecallQuery], Awaitable[Sequence[str]]]
    mental_models: MentalModelsNear = no_mental_models
    reads: Callable[[RecallQuery], MemoryReads] | None = None

    async def revision(self) -> int:
        """Return the current revision of the bank."""
        return await self.services.workers.read(self.projector.ledger.revision, self.projector.name)
