"""Logistic regression and AUROC in numpy, because scikit-learn is not a dependency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RIDGE = 1.0  # L2 penalty on standardised weights; the bias is not penalised
STEPS = 25  # number of Newton steps; about ten are enough for convergence


@dataclass(frozen=True, slots=True)
class Model:
    """log-odds = bias + x . weights, for rows x in their original scale."""

    bias: float
    weights: Array

    def odds(self, rows: Array) -> Array:
        """Return the log-odds (n,) of rows (n, d)."""
        return self.bias + rows @ self.weights


def fit(rows: Array, truth: npt.NDArray[np.bool_], weight: Array) -> Model:
    """Fit a logistic model without negative weights, because a higher signal always indicates an answer.

    Args:
        rows: signals, (n, d).
        truth: whether the question has an answer, (n,).
        weight: weight of each row, (n,).
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
    """Return the bias and weights that maximise the penalised likelihood."""
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
    """Return the probability that a true row scores above a false one, ties counting half; NaN if either is missing."""
    good, bad = scores[truth], scores[~truth]
    if not len(good) or not len(bad):
        return float("nan")
    above = (good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()
    return float(above)
