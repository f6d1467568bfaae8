"""What the forming and moving of opinions needs of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.config import OpinionConfig
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.text.language import Language


@dataclass(frozen=True, slots=True)
class OpinionTools:
    """What the forming and moving of opinions needs of the engine.

    Attributes:
        model: who compares and assesses.
        languages: of the bank's texts, the likeliest first.
    """

    projector: Projector
    embedder: Embedder
    tokens: TokenCounter
    model: LanguageModel
    workers: Runner
    config: OpinionConfig
    languages: Sequence[Language]
