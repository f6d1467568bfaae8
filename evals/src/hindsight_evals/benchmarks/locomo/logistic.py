"""Logistic regression and AUROC in numpy: scikit-learn is no dependency. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RIDGE = 1.0  # L2 on standardised weights; the bias is free
STEPS = 25  # of Newton; it has converged after about ten


@dataclass(frozen=True, slots=True)
class Model:
    """log-odds = bias + x . weights, for rows x as they were given."""

    bias: float
    weights: Array

    def odds(self, rows: Array) -> Array:
        """Log-odds of rows (n, d), (n,)."""
        return self.bias + rows @ self.weights


def fit(rows: Array, truth: npt.NDArray[np.bool_], weight: Array) -> Model:
    """A logistic model with no weight below 0: each signal is made so that more of it speaks for an answer.

    Args:
        rows: signals, (n, d).
        truth: whether the question has an answer, (n,).
        weight: how much each row counts, (n,).
    """
    mean, scale = rows.mean(0), rows.std(0) + 1e-9
    standard = (rows - mean) / scale
    kept = np.arange(rows.shape[1])
    while True:
        found = _newton(standard[:, kept], truth.astype(float), weight)
        if not (found[1:] < 0).any():
            break
        kept = np.delete(kept, np.argmin(found[1:]))
    weights = np.zeros(rows.shape[1])
    weights[kept] = found[1:] / scale[kept]
    return Model(float(found[0] - mean @ weights), weights)


def _newton(rows: Array, truth: Array, weight: Array) -> Array:
    """Bias and weights that maximise the penalised likelihood."""
    design = np.column_stack([np.ones(len(rows)), rows])
    ridge = np.diag([0.0, *[RIDGE] * rows.shape[1]])
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-design @ found))
        gradient = design.T @ (weight * (chance - truth)) + ridge @ found
        curvature = (design * (weight * chance * (1.0 - chance))[:, None]).T @ design + ridge
        found = found - np.linalg.solve(curvature, gradient)
    return found


def auroc(scores: Array, truth: npt.NDArray[np.bool_]) -> float:
    """Chance that a true row scores above a false one, ties counting half; NaN where either is missing."""
    good, bad = scores[truth], scores[~truth]
    if not len(good) or not len(bad):
        return float("nan")
    above = (good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()
    return float(above)
