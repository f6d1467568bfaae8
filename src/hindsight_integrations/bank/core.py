"""What every group of verbs builds on: the bank's name, its projection, and what the engine lends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np

from hindsight_integrations.concurrency.in_flight import InFlight
from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.config import HindsightConfig
from hindsight_integrations.errors import EmbedderMismatch, InvalidRequest
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.ports.time_parser import TimeParser
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.projection import BankProjection
from hindsight_integrations.tempr.retain.extraction.llm import LLMExtractor
from hindsight_integrations.tempr.retain.prepare import RetainTools


@dataclass(frozen=True, slots=True)
class Tools:
    """What an engine lends its banks.

    Attributes:
        read_only: no verb that writes is allowed.
    """

    ledger: Ledger
    embedder: Embedder
    reranker: Reranker | None
    model: LanguageModel | None
    llm: LLMExtractor | None
    tokens: TokenCounter
    clock: Clock
    workers: Workers
    config: HindsightConfig
    zone: tzinfo
    read_only: bool
    in_flight: InFlight = field(default_factory=InFlight)
    time_parser: TimeParser | None = None


class BankCore:
    """One bank, without verbs."""

    def __init__(self, name: str, projection: BankProjection, tools: Tools) -> None:
        self._name, self._projection, self._tools = name, projection, tools

    @property
    def name(self) -> str:
        """The bank's id."""
        return self._name

    async def _current_view(self) -> BankView:
        """The newest view; a reader of somebody else's ledger, or an index to be healed, catches up first."""
        self._tools.workers.check_open()
        view = self._projection.view()
        if self._projection.unsettled(view) or (self._tools.read_only and self._projection.behind()):
            await self._tools.workers.write(self._projection.catch_up)
            view = self._projection.view()
        if len(view.columns):
            await self._tools.workers.read(self._check_embedder)
        return view

    def _retain_tools(self) -> RetainTools:
        tools = self._tools
        return RetainTools(
            projector=self._projection,
            embedder=tools.embedder,
            tokens=tools.tokens,
            llm=tools.llm,
            workers=tools.workers,
            clock=tools.clock,
            in_flight=tools.in_flight,
            time_languages=tools.config.time_languages,
        )

    def _check_writable(self, verb: str) -> None:
        if self._tools.read_only:
            raise InvalidRequest(verb, "the engine was opened read-only", "Open it without read_only=True.")

    def _check_embedder(self) -> None:
        stored = self._tools.ledger.bank(self._name, create=False).embedder
        given = self._tools.embedder.identity
        if stored is not None and not stored.matches(given):
            raise EmbedderMismatch(self._name, str(stored), str(given))

    def _claim_embedder(self) -> None:
        """On the first retain the bank remembers who makes its vectors; later ones must be the same."""
        self._check_embedder()
        if self._tools.ledger.bank(self._name, create=False).embedder is None:
            nothing = np.empty(0, np.int64)
            self._tools.ledger.set_embedder(
                self._name, self._tools.embedder.identity, nothing, np.empty((0, 0), np.float32)
            )
            self._projection.catch_up()
