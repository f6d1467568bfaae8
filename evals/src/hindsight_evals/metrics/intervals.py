"""Confidence of a difference between two systems on the same questions: a paired bootstrap (Efron and Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference with the central 95 % of its bootstrap distribution.

    Attributes:
        mean: mean of first minus second.
        low: 2.5th percentile.
        high: 97.5th percentile.
        questions: number of pairs.
    """

    mean: float
    low: float
    high: float
    questions: int

    @property
    def sure(self) -> bool:
        """Return whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compute the mean of first minus second; pairs of questions are drawn with replacement.

    Args:
        first: one value per question.
        second: the other system's values for the same questions, in the same order.
    """
    differences = np.subtract(first, second)
    draws = np.random.default_rng(SEED).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.percentile(differences[draws].mean(axis=1), (2.5, 97.5))
    return Difference(float(differences.mean()), float(low), float(high), len(differences))
