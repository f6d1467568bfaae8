"""How sure a difference between two systems is, asked the same questions: a paired bootstrap (Efron and Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with the middle 95% of its bootstrap distribution.

    Attributes:
        mean: of first minus second.
        low: 2.5th percentile.
        high: 97.5th percentile.
        questions: pairs.
    """

    mean: float
    low: float
    high: float
    questions: int

    @property
    def sure(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The mean of first minus second, whose questions are drawn with replacement, a pair at a time.

    Args:
        first: a value a question.
        second: the other system's, of the same questions in the same order.
    """
    differences = np.subtract(first, second)
    draws = np.random.default_rng(SEED).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[draws].mean(axis=1), (2.5, 97.5))
    return Difference(float(differences.mean()), float(low), float(high), len(differences))
