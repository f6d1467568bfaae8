"""What share of the evidence a system's answer covers, and means of such shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Key, Question
from hindsight_evals.datasets.locomo import Category


class Mode(StrEnum):
    """What was retained: turns word for word, or facts somebody extracted from them."""

    TURNS = "turns"
    FACTS = "facts"


class System(StrEnum):
    """Who answers."""

    OURS = "ours"
    VECTOR = "vector"
    BM25 = "bm25"
    RRF = "rrf"


class NotAudited(Exception):
    """Figures were asked for by a key the run did not read."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question asked of one system under one token budget.

    Attributes:
        share: share of the evidence turns covered, in [0, 1], by LoCoMo's own key.
        tokens: what the texts returned cost.
        audited: the share by the corrected key; None where the run read no corrections.
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
        """The share by one of the keys."""
        if key is Key.RAW:
            return self.share
        if self.audited is None:
            raise NotAudited("no figures for the corrected key: run locomo_retrieval with --audit DIR")
        return self.audited

    def scored(self, question: Question, returned: Iterable[Iterable[str]], *, tokens: int) -> Self:
        """This outcome with what came back: the sources of each unit returned, and what the texts cost."""
        units = [frozenset(sources) for sources in returned]
        audited = None if question.audited is None else coverage(question.audited, units)
        return replace(self, share=coverage(question.evidence, units), tokens=tokens, audited=audited)

    def as_json(self) -> dict[str, object]:
        """Its fields."""
        return asdict(self)


def coverage(evidence: frozenset[str], returned: Iterable[Iterable[str]]) -> float:
    """Share of the evidence turns among the sources of the units returned.

    A turn counts if a unit that cites it is returned: for verbatim units that is the turn's own text, for facts a fact
    with the turn among its sources.

    Args:
        evidence: turn ids, not empty.
        returned: the sources of each unit returned.
    """
    covered = {source for sources in returned for source in sources}
    return len(evidence & covered) / len(evidence)


@dataclass(frozen=True, slots=True)
class Slice:
    """Which outcomes to average."""

    mode: Mode
    categories: frozenset[Category] = ANSWERABLE
    key: Key = Key.RAW

    def mean(self, outcomes: Iterable[Outcome], system: System, budget: int) -> float | None:
        """Mean share over questions, in percent; None where there are none."""
        shares = [
            outcome.by(self.key)
            for outcome in outcomes
            if (outcome.mode, outcome.system, outcome.budget) == (self.mode, system, budget)
            and outcome.category in self.categories
        ]
        return 100 * sum(shares) / len(shares) if shares else None
