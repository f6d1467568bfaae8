"""Retain one conversation in one mode, and ask all questions with all systems and budgets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hindsight_evals.benchmarks.locomo.baselines import Baselines, Corpus
from hindsight_evals.benchmarks.locomo.coverage import Mode, Outcome, System
from hindsight_evals.benchmarks.locomo.dataset import Conversation, Question
from hindsight_integrations import Budget, ExtractedFact, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.requests import TextForm
from hindsight_integrations.models.protocols import Embedder, Reranker

BUDGETS = (256, 512, 1024, 2048, 4096)  # tokens

CACHE = Path("build/evals-cache")  # where vectors are cached between runs

Facts = Mapping[int, Sequence[ExtractedFact]]


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings of a run.

    Attributes:
        embedder: shared by all systems.
        reranker: for our recall only; None for the fused order.
        config: the engine's settings.
        limit: maximum number of questions for each conversation; None for all.
        form: the form of our texts; the plain systems return whole units.
        asked_like: the integration whose recall defaults are used instead of `bank.recall`'s and `form`.
    """

    embedder: Embedder
    reranker: Reranker | None
    config: HindsightConfig
    limit: int | None = None
    budgets: tuple[int, ...] = BUDGETS
    form: TextForm = TextForm.FULL
    asked_like: RecallOptions | None = None

    @property
    def depth(self) -> int:
        """The number of candidates of one channel of the engine at the default effort."""
        return self.config.recall.candidates[list(Budget).index(Budget.MID)]


def measure(conversation: Conversation, facts: Facts | None, setup: Setup) -> list[Outcome]:
    """Return all outcomes of one conversation, as verbatim turns or as the given facts."""
    mode = Mode.TURNS if facts is None else Mode.FACTS
    with (
        TemporaryDirectory(prefix="locomo-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            folder, embeddings=setup.embedder, reranker=setup.reranker, config=setup.config
        ) as hindsight,
    ):
        bank = hindsight.bank(f"{conversation.name}/{mode}")
        retain_all(bank, conversation, facts)
        baselines = Baselines(Corpus.read(Path(folder), bank.name), depth=setup.depth)
        try:
            return list(Asking(conversation, mode, bank, baselines, setup).all())
        finally:
            baselines.close()


def retain_all(bank: MemoryBank, conversation: Conversation, facts: Facts | None) -> None:
    """Retain the sessions in order; causal indexes of facts count within a session."""
    for session in conversation.sessions:
        given = None if facts is None else facts.get(session.number, ())
        result = bank.retain(session.messages, thread=conversation.name, facts=given)
        for dropped in result.dropped:
            place = f"{conversation.name} session {session.number}"
            print(f"{place}: not kept: {dropped.what!r} ({dropped.reason})", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Asking:
    """The questions of one conversation for a bank and for the baselines over its units."""

    conversation: Conversation
    mode: Mode
    bank: MemoryBank
    baselines: Baselines
    setup: Setup

    def all(self) -> Iterator[Outcome]:
        """Yield the outcomes of every question, system and budget."""
        for number, question in enumerate(self.conversation.questions[: self.setup.limit]):
            yield from self._outcomes(number, question)

    def _outcomes(self, number: int, question: Question) -> Iterator[Outcome]:
        rankings = self.baselines.rank(question.text, self.setup.embedder.embed_query(question.text))
        blank = Outcome(
            self.mode, System.OURS, 0, self.conversation.name, number, question.category, share=0.0, tokens=0
        )
        for budget in self.setup.budgets:
            yield self._ours(question, replace(blank, budget=budget))
            for system, ranking in rankings.items():
                units = self.baselines.packed(ranking, budget)
                outcome = replace(blank, system=system, budget=budget)
                sources = (unit.sources for unit in units)
                yield outcome.scored(question, sources, tokens=sum(unit.tokens for unit in units))

    def _options(self) -> RecallOptions:
        like = self.setup.asked_like
        return {"text": self.setup.form} if like is None else like

    def _ours(self, question: Question, blank: Outcome) -> Outcome:
        found = self.bank.recall(
            question.text,
            **(self._options() | {"max_tokens": blank.budget, "query_timestamp": self.conversation.asked_at}),
        )
        return blank.scored(question, (item.unit.sources for item in found.units), tokens=found.tokens)
