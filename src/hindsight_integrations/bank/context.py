"""What all verbs of a bank share: its row, its indexes while open, the engine's tools; and the guard of verbs that write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial, wraps
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np

from hindsight_integrations.bank.open_banks import OpenBanks
from hindsight_integrations.concurrency.workers import CheckedWorkers, InFlight, Runner
from hindsight_integrations.config import AS_SET, ExtractionOptions, HindsightConfig
from hindsight_integrations.errors import EmbedderMismatch, InvalidRequest
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.embedding import RememberedVectors
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.ledger.ledger import Ledger, Transaction
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.time import DateOrder, LocalDates, Weekday
from hindsight_integrations.models.protocols import (
    Embedder,
    LanguageModel,
    Reranker,
    TimeParser,
    TokenCounter,
)
from hindsight_integrations.recall.context import RecallTools
from hindsight_integrations.reflect.background import BackgroundTools
from hindsight_integrations.reflect.observations import ObservationTools
from hindsight_integrations.reflect.tools import OpinionTools
from hindsight_integrations.retain.extraction import EndingJudge, LLMExtractor
from hindsight_integrations.retain.tools import RetainTools
from hindsight_integrations.validation.limits import Redact

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Tools:
    """What an engine gives its banks to work with.

    Attributes:
        read_only: no verb that writes is allowed.
        place: the resolved data directory, or a name of the engine's own if it keeps nothing on disk.
        worker: who does its tasks unasked.
        languages: of the banks' texts and questions, the likeliest first.
    """

    ledger: Ledger
    embedder: Embedder
    reranker: Reranker | None
    model: LanguageModel | None
    llm: LLMExtractor | None
    tokens: TokenCounter
    clock: Clock
    workers: Runner
    config: HindsightConfig
    zone: tzinfo
    read_only: bool
    place: str
    worker: WorkerMode = WorkerMode.NONE
    in_flight: InFlight = field(default_factory=InFlight)
    vectors: RememberedVectors = field(default_factory=RememberedVectors)
    time_parser: TimeParser | None = None
    languages: Sequence[Language] = (ENGLISH,)
    endings: EndingJudge | None = None
    redact: Redact | None = None

    @property
    def dates(self) -> LocalDates:
        """How the times callers write are read."""
        order = self.config.date_order
        return LocalDates(
            self.zone, None if order is None else DateOrder(order), Weekday(self.config.week_starts)
        )


class BankContext:
    """One bank: what its verbs work on. It belongs to the bank's row, and outlives the closing of its indexes.

    Args:
        header: the bank's; of it only name and generation are used, which never change.
        banks: the engine's.
        tools: the engine's; through the workers given on, nothing runs for a bank that was forgotten.
    """

    def __init__(self, header: BankHeader, banks: OpenBanks, tools: Tools) -> None:
        self._header, self._banks = header, banks
        workers = CheckedWorkers(tools.workers, partial(banks.check, header))
        self.tools = replace(tools, workers=workers)

    @property
    def name(self) -> str:
        """The bank's id."""
        return self._header.name

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        return self.tools.ledger

    @property
    def projection(self) -> BankProjection:
        """The bank's indexes and columns, opened if need be. Writer thread only."""
        return self._banks.opened(self._header)

    def catch_up(self) -> None:
        """Bring the indexes to what was committed. Writer thread only."""
        self.projection.catch_up()

    def problems(self) -> dict[str, str]:
        """Index name to reason, for each that could not be written. Writer thread only."""
        return self.projection.problems()

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """The bank held against other writers, and a view of it as the transaction sees it. Writer thread only."""
        return self.projection.transaction()

    def leased(self) -> AbstractAsyncContextManager[BankProjection]:
        """The bank's indexes and columns, open until the end of the block.

        Raises:
            BankForgotten: the bank was forgotten.
            EngineClosed: the engine was closed.
        """
        return self._banks.lease(self._header)

    @asynccontextmanager
    async def viewing(self) -> AsyncIterator[BankView]:
        """The newest view, whose indexes stay open until the end of the block; see `current_view`."""
        async with self.leased() as projection:
            yield await self.current_view(projection)

    async def current_view(self, projection: BankProjection) -> BankView:
        """The newest view; a reader of somebody else's ledger, or an index to be healed, catches up first.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        view = projection.view()
        workers = self.tools.workers
        if projection.unsettled(view) or (self.tools.read_only and await workers.read(projection.behind)):
            await workers.write(projection.catch_up)
            view = projection.view()
        if len(view.columns):
            await workers.read(self.check_embedder)
        return view

    def check_embedder(self) -> EmbedderIdentity | None:
        """Refuse to compare vectors of two embedders; who made the bank's, None if nobody has yet.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        stored = self.tools.ledger.bank(self.name).embedder
        given = self.tools.embedder.identity
        if stored is not None and not stored.matches(given):
            raise EmbedderMismatch(self.name, str(stored), str(given))
        return stored

    def claim_embedder(self) -> None:
        """On the first retain the bank remembers who makes its vectors; later ones must be the same.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        if self.check_embedder() is None:
            nothing = np.empty(0, np.int64)
            self.tools.ledger.set_embedder(
                self.name, self.tools.embedder.identity, nothing, np.empty((0, 0), np.float32)
            )
            self.catch_up()

    def retain_tools(self, options: ExtractionOptions = AS_SET) -> RetainTools:
        """What the retain pipeline needs.

        Args:
            options: of one retain.
        """
        tools = self.tools
        return RetainTools(
            projector=self,
            embedder=tools.embedder,
            tokens=tools.tokens,
            llm=None if tools.llm is None else tools.llm.with_options(options),
            workers=tools.workers,
            clock=tools.clock,
            in_flight=tools.in_flight,
            languages=tools.languages,
            date_order=tools.dates.order,
            week_starts=tools.dates.week_starts,
            keep_turns=tools.config.retain.source_turns,
            shown_memories=tools.config.retain.most_shown_memories,
            shown_categories=tools.config.retain.shown_categories,
            endings=None if tools.endings is None else tools.endings.with_options(options),
        )

    def observation_tools(self) -> ObservationTools:
        """What the making of observations needs."""
        tools = self.tools
        return ObservationTools(
            projector=self,
            embedder=tools.embedder,
            tokens=tools.tokens,
            model=tools.model,
            workers=tools.workers,
            config=tools.config.observations,
            languages=tools.languages,
        )

    def background_tools(self) -> BackgroundTools:
        """What the merging of backgrounds needs."""
        tools = self.tools
        return BackgroundTools(
            projector=self, model=tools.model, workers=tools.workers, languages=tools.languages
        )

    def opinion_tools(self, model: LanguageModel) -> OpinionTools:
        """What the forming and the reinforcement of opinions need; both ask a model."""
        tools = self.tools
        return OpinionTools(
            projector=self,
            embedder=tools.embedder,
            tokens=tools.tokens,
            model=model,
            workers=tools.workers,
            config=tools.config.opinions,
            languages=tools.languages,
        )

    def recall_tools(self) -> RecallTools:
        """What the recall pipeline needs."""
        tools = self.tools
        return RecallTools(
            embedder=tools.embedder,
            reranker=tools.reranker,
            tokens=tools.tokens,
            workers=tools.workers,
            config=tools.config.recall,
            dates=tools.dates,
            time_parser=tools.time_parser,
            languages=tools.languages,
        )


def check_writable(tools: Tools, verb: str) -> None:
    """Refuse a verb that writes on a read-only engine.

    Raises:
        InvalidRequest: the engine was opened read-only; the error names the verb.
    """
    if tools.read_only:
        raise InvalidRequest(verb, "the engine was opened read-only", "Open it without read_only=True.")


class BankVerbs:
    """Verbs of one bank: the bank itself, or a namespace of it."""

    namespace: ClassVar[str] = ""
    """The attribute of the bank under which they are called; empty for the bank's own."""

    def __init__(self, context: BankContext) -> None:
        self._context = context


Verbs = TypeVar("Verbs", bound=BankVerbs)


def writes(
    verb: Callable[Concatenate[Verbs, P], Awaitable[R]],
) -> Callable[Concatenate[Verbs, P], Awaitable[R]]:
    """A verb that a read-only engine refuses before anything else is looked at, naming the verb."""

    @wraps(verb)
    async def guarded(self: Verbs, /, *args: P.args, **kwargs: P.kwargs) -> R:
        called = ".".join(filter(None, (self.namespace, verb.__name__)))
        check_writable(self._context.tools, called)
        return await verb(self, *args, **kwargs)

    return guarded
