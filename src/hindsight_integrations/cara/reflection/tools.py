"""What a reflection works with; the bank hands it what other parts of the engine do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.opinions.tools import OpinionTools
from hindsight_integrations.cara.reflection.reads import MemoryReads
from hindsight_integrations.concurrency.workers import Runner
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.text.language import Language

RECORD_TOKENS = 1_024  # of exact figures and rows of records, beside the memories

Recall = Callable[[RecallQuery], Awaitable[RecallResult]]


async def no_mental_models(_: RecallQuery) -> Sequence[MentalModel]:
    """Of a bank without mental models."""
    return ()


async def no_directives(_: RecallQuery) -> Sequence[str]:
    """Of a bank without directives."""
    return ()


@dataclass(frozen=True, slots=True)
class ReflectTools:
    """What a reflection needs of the bank and the engine.

    Attributes:
        projector: the bank.
        workers: run what blocks.
        recall: finds memories.
        profile: who answers.
        model: who writes the answer; None for memories as they are.
        tokens: counts.
        languages: of the bank's texts, the likeliest first.
        mental_models: those near a question.
        directives: the operator's rules for answers to a question.
        opinions: what the forming of opinions needs; None where none may be formed.
        reads: what an agentic reflection may read, limited to a query's tags, moment and window; None where there is no bank.
    """

    projector: Projector
    workers: Runner
    recall: Recall
    profile: BankProfile
    model: LanguageModel | None
    tokens: TokenCounter
    languages: Sequence[Language]
    mental_models: Callable[[RecallQuery], Awaitable[Sequence[MentalModel]]] = no_mental_models
    directives: Callable[[RecallQuery], Awaitable[Sequence[str]]] = no_directives
    opinions: OpinionTools | None = None
    reads: Callable[[RecallQuery], MemoryReads] | None = None

    async def revision(self) -> int:
        """The bank's, now."""
        return await self.workers.read(self.projector.ledger.revision, self.projector.name)
