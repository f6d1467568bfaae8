"""Each metric of each result, from which tables and plots are made."""

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
    """The measures of one question, system and budget; a measure that does not apply is None.

    Attributes:
        system, dataset, period, kind: as in the result.
        question: episode and id.
        budget: tokens allowed.
        tokens: tokens returned.
        recall, corrected_recall: evidence recall by the original key and by the corrected one.
        ndcg: nDCG of the returned texts.
        fama: FAMA of the context.
        leaks: leak rate.
        withdrawn: number of valid items that the system no longer considers true.
        valid: number of valid items.
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
        """Return 1 if all valid items and no others are stated, else 0; None without items."""
        return None if self.fama is None else float(self.fama.mpa == self.fama.faa == 1)

    @property
    def context_fama(self) -> float | None:
        """Return FAMA of the context as a number."""
        return None if self.fama is None else self.fama.fama


@dataclass(frozen=True, slots=True)
class Answered:
    """The measures of one answer; a measure that does not apply is None.

    Attributes:
        system, dataset, period, kind: as in the result.
        question: episode and id.
        by: the reader.
        tokens: tokens of the context from which it was written; 0 if the system answered itself.
        answerable: whether the question has an answer.
        correct: whether the majority of judges accepts it.
        fama: FAMA of the answer, by its criteria.
        exact: whether it contains the expected number.
        votes: yes or no of each judge, by the judged item.
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
    """Yield the measures of a result for each budget."""
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
    """Return the measures of a result's answer; None without an answer."""
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
    """Return the mean of the values that apply; None if none does."""
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def paired(
    rows: Sequence[Measured], ours: str, other: str, measure: Callable[[Measured], float | None]
) -> tuple[list[float], list[float]]:
    """Return a measure of two systems for the questions to which it applies in both, in the same order."""
    of_ours = {
        row.question: value for row in rows if row.system == ours and (value := measure(row)) is not None
    }
    of_other = {
        row.question: value for row in rows if row.system == other and (value := measure(row)) is not None
    }
    shared = sorted(of_ours.keys() & of_other.keys())
    return [of_ours[asked] for asked in shared], [of_other[asked] for asked in shared]
