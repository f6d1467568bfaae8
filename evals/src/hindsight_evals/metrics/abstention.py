"""Abstention: whether a reader refuses to answer unanswerable questions and answers the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_evals.metrics.judged_accuracy import correct
from hindsight_evals.results import QuestionResult


@dataclass(frozen=True, slots=True)
class Abstention:
    """Counts of judged answers.

    Attributes:
        withheld: unanswerable questions that were correctly left open.
        unanswerable: all unanswerable questions.
        answered: answerable questions that were answered correctly.
        answerable: all answerable questions.
    """

    withheld: int
    unanswerable: int
    answered: int
    answerable: int


def abstention(results: Sequence[QuestionResult]) -> Abstention:
    """Count the judged answers of both kinds; a reader who never answers would otherwise score perfectly."""
    judged = [
        (result.question.answerable, right) for result in results if (right := correct(result)) is not None
    ]
    open_ = [right for answerable, right in judged if not answerable]
    known = [right for answerable, right in judged if answerable]
    return Abstention(sum(open_), len(open_), sum(known), len(known))
