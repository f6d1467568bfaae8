"""Abstention: whether an answer is withheld where there is none, and given where there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_evals.metrics.judged_accuracy import correct
from hindsight_evals.results import QuestionResult


@dataclass(frozen=True, slots=True)
class Abstention:
    """Counts of judged answers.

    Attributes:
        withheld: unanswerable questions rightly left open.
        unanswerable: all of them.
        answered: answerable questions answered rightly.
        answerable: all of them.
    """

    withheld: int
    unanswerable: int
    answered: int
    answerable: int


def abstention(results: Sequence[QuestionResult]) -> Abstention:
    """Count the judged answers on both sides: a reader who never answers abstains perfectly."""
    judged = [
        (result.question.answerable, right) for result in results if (right := correct(result)) is not None
    ]
    open_ = [right for answerable, right in judged if not answerable]
    known = [right for answerable, right in judged if answerable]
    return Abstention(sum(open_), len(open_), sum(known), len(known))
