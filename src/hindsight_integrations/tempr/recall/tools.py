"""What recall needs of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.config import RecallConfig
from hindsight_integrations.model.time import LocalDates
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.ports.time_parser import TimeParser
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages import ENGLISH


@dataclass(frozen=True, slots=True)
class RecallTools:
    """What recall needs of the engine; units carry their tokens; passages and documents are counted."""

    embedder: Embedder
    reranker: Reranker | None
    tokens: TokenCounter
    workers: Runner
    config: RecallConfig
    dates: LocalDates
    time_parser: TimeParser | None = None
    languages: Sequence[Language] = (ENGLISH,)
