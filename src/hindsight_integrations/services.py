"""The services that an engine provides to its banks and to retain, recall and reflect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_integrations.concurrency.workers import InFlight, Runner
from hindsight_integrations.config import HindsightConfig
from hindsight_integrations.indexes.embedding import RememberedVectors
from hindsight_integrations.language.language import Language
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.time import LocalDates
from hindsight_integrations.models.protocols import (
    Embedder,
    LanguageModel,
    Reranker,
    TimeParser,
    TokenCounter,
)
from hindsight_integrations.validation.limits import Redact


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of an engine. `engine/assembly.py` builds them once.

    Each bank has the same services, except that its workers refuse to run once the bank is forgotten.

    Attributes:
        ledger: the source of truth for all banks.
        model: the language model; None stores messages verbatim and answers questions with excerpts.
        embedder: turns texts into unit vectors.
        reranker: scores pairs of question and text; None keeps the order of the fused ranking.
        tokens: counts tokens.
        time_parser: called if the built-in grammar finds no time in a question; None skips this step.
        clock: the current time.
        workers: threads for reads, and one thread for writes; on PostgreSQL, writes of different banks run in parallel.
        in_flight: messages and documents that are being retained; each can be retained by only one call at a time.
        vectors: a cache of the vectors of short, frequently compared texts.
        config: all settings.
        languages: languages of the banks' texts and questions, most likely first.
        dates: how dates without a time zone are read.
        redact: replaces text that must not be stored, before a model or the ledger sees it; None changes nothing.
        read_only: whether methods that write are refused.
        place: the resolved data directory, a database address without user and password, or a unique name for an
            in-memory engine.
        worker: where background tasks run.
    """

    ledger: Ledger
    model: LanguageModel | None
    embedder: Embedder
    reranker: Reranker | None
    tokens: TokenCounter
    time_parser: TimeParser | None
    clock: Clock
    workers: Runner
    in_flight: InFlight = field(default_factory=InFlight)
    vectors: RememberedVectors = field(default_factory=RememberedVectors)
    config: HindsightConfig
    languages: Sequence[Language]
    dates: LocalDates
    redact: Redact | None
    read_only: bool
    place: str
    worker: WorkerMode
