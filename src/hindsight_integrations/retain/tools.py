"""What the retain pipeline works with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_integrations.concurrency.workers import InFlight, Runner
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.time import DateOrder, Weekday
from hindsight_integrations.models.protocols import Embedder, TokenCounter
from hindsight_integrations.retain.extraction import EndingJudge, LLMExtractor
from hindsight_integrations.retain.verbatim import VerbatimExtractor


@dataclass(frozen=True, slots=True)
class RetainTools:
    """What retain needs of the engine.

    Attributes:
        llm: extracts facts; None where messages are kept word for word.
        endings: says what messages that are kept word for word end; None where no model is asked.
    """

    projector: Projector
    embedder: Embedder
    tokens: TokenCounter
    llm: LLMExtractor | None
    workers: Runner
    clock: Clock
    in_flight: InFlight = field(default_factory=InFlight)
    languages: Sequence[Language] = (ENGLISH,)
    date_order: DateOrder | None = None
    week_starts: Weekday = Weekday.MONDAY
    keep_turns: bool = True
    shown_memories: int = 0
    shown_categories: bool = False
    endings: EndingJudge | None = None

    @property
    def verbatim(self) -> VerbatimExtractor:
        """What reads messages by rules alone."""
        return VerbatimExtractor(self.languages, self.date_order, self.week_starts)
