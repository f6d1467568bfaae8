"""Every metric of every result, in small: what tables and plots are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hindsight_evals.metrics.context_fama import context_fama
from hindsight_evals.metrics.evidence_recall import evidence_recall
from hindsight_evals.metrics.exact_answer import gives_number
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.metrics.judged_accuracy import correct, judged_fama
from hindsight_evals.metrics.leak_rate import leak_rate
from hindsight_evals.metrics.ndcg import ndcg
from hindsight_evals.results import QuestionResult


@dataclass(frozen=True, slots=True)
class Measured:
    """One question put to one system under one budget; a measure that does not apply is None.

    Attributes:
        system, dataset, period, kind: as of the result.
        question: episode and id.
        budget: tokens allowed.
        tokens: tokens served.
        recall, corrected_recall: evidence recall by the raw key and by the corrected one.
        ndcg: of the served texts.
        fama: of the context.
        leaks: leak rate.
        withdrawn: how many valid items the system no longer holds.
        valid: how many there are.
    """

    system: str
    dataset: str
    period: str
    kind: str
    question: tuple[str, str]
    budget: int
    tokens: int
    recall: float | None
    corrected_recall: float | None
    ndcg: float | None
    fama: Fama | None
    leaks: float | None
    withdrawn: int | None
    valid: int

    @property
    def passed(self) -> float | None:
        """Whether all that holds is stated and nothing else: 1 or 0; None without items."""
        return None if self.fama is None else float(self.fama.mpa == self.fama.faa == 1)

    @property
    def context_fama(self) -> float | None:
        """FAMA of the context as a number."""
        return None if self.fama is None else self.fama.fama


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer; a measure that does not apply is None.

    Attributes:
        system, dataset, period, kind: as of the result.
        question: episode and id.
        by: who answered.
        tokens: of the context it was answered from; 0 where the system answered itself.
        answerable: whether there was an answer to give.
        correct: by the judges' majority.
        fama: of the answer, by criteria.
        exact: whether it gives the number asked for.
        votes: yes or no of each judge, by what was judged.
    """

    system: str
    dataset: str
    period: str
    kind: str
    question: tuple[str, str]
    by: str
    tokens: int
    answerable: bool
    correct: bool | None
    fama: Fama | None
    exact: bool | None
    votes: dict[str, dict[str, bool]]


def measured(result: QuestionResult) -> Iterator[Measured]:
    """A result under each budget."""
    asked = result.question
    corrected = asked.correction.evidence if asked.correction else asked.evidence
    for budget, context in result.contexts.items():
        yield Measured(
            result.system,
            result.dataset,
            result.period,
            asked.kind,
            (result.episode, asked.id),
            budget,
            context.tokens,
            evidence_recall(context, asked.evidence) if asked.answerable else None,
            evidence_recall(context, corrected) if asked.answerable else None,
            ndcg(context, asked.evidence) if asked.answerable else None,
            context_fama(context, asked.items),
            leak_rate(context, asked.items),
            None if result.withdrawn is None else len(result.withdrawn),
            sum(item.valid for item in asked.items),
        )


def answered(result: QuestionResult) -> Answered | None:
    """What became of a result's answer; None before there is one."""
    answer, asked = result.answer, result.question
    if answer is None:
        return None
    votes: dict[str, dict[str, bool]] = {}
    for subject, judgments in result.judgments.items():
        for judgment in judgments:
            if judgment.yes is not None:
                votes.setdefault(judgment.judge, {})[f"{result.episode}/{asked.id}/{subject}"] = judgment.yes
    is_number = asked.answer.replace(".", "", 1).lstrip("-").isdecimal()
    return Answered(
        result.system,
        result.dataset,
        result.period,
        asked.kind,
        (result.episode, asked.id),
        answer.by,
        result.contexts[answer.budget].tokens if answer.budget else 0,
        asked.answerable,
        correct(result),
        judged_fama(result),
        gives_number(answer.text, asked.answer) if is_number else None,
        votes,
    )


def mean(values: Iterable[float | bool | None]) -> float | None:
    """The mean of those that apply; None where none does."""
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def paired(
    rows: Sequence[Measured], ours: str, other: str, measure: Callable[[Measured], float | None]
) -> tuple[list[float], list[float]]:
    """A measure of two systems on the questions to which it applies for both, in the same order."""
    of_ours = {
        row.question: value for row in rows if row.system == ours and (value := measure(row)) is not None
    }
    of_other = {
        row.question: value for row in rows if row.system == other and (value := measure(row)) is not None
    }
    shared = sorted(of_ours.keys() & of_other.keys())
    return [of_ours[asked] for asked in shared], [of_other[asked] for asked in shared]
