"""The share of evidence that a system's results cover, and means of such shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Key, Question
from hindsight_evals.datasets.locomo import Category


class Mode(StrEnum):
    """The retained form: verbatim turns, or extracted facts."""

    TURNS = "turns"
    FACTS = "facts"


class System(StrEnum):
    """The compared systems."""

    OURS = "ours"
    VECTOR = "vector"
    BM25 = "bm25"
    RRF = "rrf"


class NotAudited(Exception):
    """Figures by the corrected key were requested, but the run did not read it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one question, system and token budget.

    Attributes:
        share: share of the evidence turns covered, in [0, 1], by LoCoMo's own key.
        tokens: token count of the returned texts.
        audited: the share by the corrected key; None if the run did not read it.
    """

    mode: Mode
    system: System
    budget: int
    conversation: str
    question: int
    category: Category
    share: float
    tokens: int
    audited: float | None = None

    def by(self, key: Key) -> float:
        """Return the share by one of the keys."""
        if key is Key.RAW:
            return self.share
        if self.audited is None:
            raise NotAudited("no figures for the corrected key: run locomo_retrieval with --audit DIR")
        return self.audited

    def scored(self, question: Question, returned: Iterable[Iterable[str]], *, tokens: int) -> Self:
        """Return this outcome with the shares and tokens of the results, from the sources of each returned unit."""
        units = [frozenset(sources) for sources in returned]
        audited = None if question.audited is None else coverage(question.audited, units)
        return replace(self, share=coverage(question.evidence, units), tokens=tokens, audited=audited)

    def as_json(self) -> dict[str, object]:
        """Return its fields."""
        return asdict(self)


def coverage(evidence: frozenset[str], returned: Iterable[Iterable[str]]) -> float:
    """Return the share of the evidence turns among the sources of the returned units.

    A turn counts if a unit with it as a source is returned: the turn itself, or a fact that cites it.

    Args:
        evidence: turn ids, not empty.
        returned: the sources of each returned unit.
    """
    covered = {source for sources in returned for source in sources}
    return len(evidence & covered) / len(evidence)


@dataclass(frozen=True, slots=True)
class Slice:
    """The outcomes to average."""

    mode: Mode
    categories: frozenset[Category] = ANSWERABLE
    key: Key = Key.RAW

    def mean(self, outcomes: Iterable[Outcome], system: System, budget: int) -> float | None:
        """Return the mean share over questions, in percent; None if there are none."""
        shares = [
            outcome.by(self.key)
            for outcome in outcomes
            if (outcome.mode, outcome.system, outcome.budget) == (self.mode, system, budget)
            and outcome.category in self.categories
        ]
        return 100 * sum(shares) / len(shares) if shares else None
