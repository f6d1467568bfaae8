"""The services that an engine provides to its banks and to the pipelines of retain, recall and reflect."""

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
    """What an engine provides to everything that works on its banks. Assembly builds it once.

    A bank has the same services, with workers that refuse to run anything once the bank is forgotten.

    Attributes:
        ledger: the truth of all banks.
        model: the language model; None stores messages verbatim and answers with extracts.
        embedder: turns texts into unit vectors.
        reranker: scores pairs of question and text; None keeps the fused order.
        tokens: counts tokens.
        time_parser: reads the time of a question where the built-in grammar finds none; None leaves it timeless.
        clock: the current time.
        workers: threads for reads, and one thread for writes or, on PostgreSQL, a lane for each bank.
        in_flight: the messages and documents that are being retained, each by one call at a time.
        vectors: a cache of the vectors of short texts that are compared often.
        config: all settings.
        languages: of the banks' texts and questions, the likeliest first.
        dates: how dates without a time zone are read.
        redact: replaces what must not be stored, before a model or the ledger sees it; None changes nothing.
        read_only: methods that write are refused.
        place: the resolved data directory, a database's address without user and password, or a unique name if nothing is
            kept on disk.
        worker: who runs tasks in the background.
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
