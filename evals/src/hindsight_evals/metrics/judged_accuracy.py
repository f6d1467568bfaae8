"""Judged accuracy: the share of answers that judges accept as correct (paper 7)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.episode import CriterionKind
from hindsight_evals.judging.majority import majority
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.results import ANSWER, QuestionResult


def correct(result: QuestionResult) -> bool | None:
    """Return whether the majority of judges accepts an answer; None before it is judged."""
    judgments = result.judgments.get(ANSWER)
    return None if judgments is None else majority(judgments)


def accuracy(results: Sequence[QuestionResult]) -> float | None:
    """Return the share in [0, 1] of judged answers that are correct; None if none is judged."""
    judged = [one for one in map(correct, results) if one is not None]
    return sum(judged) / len(judged) if judged else None


def judged_fama(result: QuestionResult) -> Fama | None:
    """Compute FAMA of an answer by the majority of judges for each criterion (Memora 4.2, C); None before all are judged."""
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
