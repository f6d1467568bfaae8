"""What making observations works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.config import ObservationConfig, ObservationMode
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.text.language import Language


@dataclass(frozen=True, slots=True)
class ObservationTools:
    """What the making of observations needs of the engine.

    Attributes:
        languages: of the bank's texts, the likeliest first.
    """

    projector: Projector
    embedder: Embedder
    tokens: TokenCounter
    model: LanguageModel | None
    workers: Runner
    config: ObservationConfig
    languages: Sequence[Language]

    @property
    def summarising(self) -> LanguageModel | None:
        """The model that sums up; None where facts are chosen instead."""
        return self.model if self.config.mode is ObservationMode.AUTO else None
