"""Judged accuracy: the share of answers that judges take for correct, beside what a context cost (paper 7)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.episode import CriterionKind
from hindsight_evals.judging.majority import majority
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.results import ANSWER, QuestionResult


def correct(result: QuestionResult) -> bool | None:
    """Whether the judges' majority takes an answer for correct; None before it is judged."""
    judgments = result.judgments.get(ANSWER)
    return None if judgments is None else majority(judgments)


def accuracy(results: Sequence[QuestionResult]) -> float | None:
    """Share in [0, 1] of the judged answers that are correct; None where none is judged."""
    judged = [one for one in map(correct, results) if one is not None]
    return sum(judged) / len(judged) if judged else None


def judged_fama(result: QuestionResult) -> Fama | None:
    """FAMA of an answer by the judges' majority on each criterion (Memora 4.2, C); None before all are judged."""
    criteria = result.question.criteria
    if not criteria or not all(criterion.id in result.judgments for criterion in criteria):
        return None
    met = {
        criterion.id: majority(result.judgments[criterion.id], expected=criterion.expected)
        for criterion in criteria
    }
    sorts = {
        kind: [met[criterion.id] for criterion in criteria if criterion.kind is kind]
        for kind in CriterionKind
    }
    presence, absence = sorts[CriterionKind.PRESENCE], sorts[CriterionKind.ABSENCE]
    return Fama(sum(presence), len(presence), sum(absence), len(absence))
