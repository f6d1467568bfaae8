"""Which facts of an entity are shown to a model where not all of them fit (decision 125). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.ports.arrays import Matrix

NEWEST_SHARE = (
    0.5  # of the budget that goes to the newest facts; the rest to those most unlike what is shown already
)


def chosen_within(costs: Sequence[int], vectors: Matrix, *, budget: int, duplicate: float) -> list[int]:
    """Positions of the facts to show, ascending: all if they fit, else the newest, then the most distinct.

    Near duplicates of newer facts are passed over while there are others. The same facts give the same choice.

    Args:
        costs: tokens of each fact, the oldest first.
        vectors: of the facts (n, dimension).
        budget: tokens of all that are shown.
        duplicate: the embedder's cosine from which on two texts say the same.
    """
    cost = np.asarray(costs, np.int64)
    if int(cost.sum()) <= budget:
        return list(range(len(cost)))
    nearest = np.full(len(cost), -1.0)  # cosine with the nearest fact that is shown
    free = np.ones(len(cost), np.bool_)
    left = budget

    def show(place: int) -> None:
        nonlocal left
        left -= int(cost[place])
        free[place] = False
        np.maximum(nearest, vectors @ vectors[place], out=nearest)

    kept = budget - int(budget * NEWEST_SHARE)
    for place in range(len(cost) - 1, -1, -1):
        if left <= kept:
            break
        if cost[place] <= left - kept and nearest[place] < duplicate:
            show(place)
    while (fitting := free & (cost <= left)).any():
        unlike = np.where(fitting, nearest.round(6), np.inf)
        show(int(np.flatnonzero(unlike == unlike.min())[-1]))
    return np.flatnonzero(~free).tolist()
