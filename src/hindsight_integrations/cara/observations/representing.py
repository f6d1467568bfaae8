"""The few facts of an entity that say most of the rest: its observations where no model sums them up (decision 125). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.config import FEWEST_OBSERVATIONS
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.ports.arrays import Float64Array, IntArray, Matrix
from hindsight_integrations.search.reference_scale import passage_cosines

CANDIDATES = 512  # facts that may represent the others; of more, the newest half of so many and an even choice of the rest
TIE = 0.02  # of the best gain: of facts that say as much of the rest the newest is taken


def represented(
    vectors: Matrix, weights: Sequence[float], thresholds: Thresholds, *, most: int
) -> dict[int, list[int]]:
    """Facts that represent the others: position to the positions of those it stands for, itself first.

    Chosen greedily, so that each next one adds most to how near all facts are to a chosen one (facility location), until
    every fact is near one or there are enough. Every other fact stands under the chosen one it is nearest to, if it is as
    near as facts that are linked; else under none.

    Args:
        vectors: of the facts, the oldest first (n, dimension).
        weights: of each fact, above 0: one that weighs more counts more, and rather stands for others.
        thresholds: of their embedder.
        most: facts to choose.
    """
    places = candidates(len(vectors))
    cosines = vectors @ vectors[places].T
    likeness = passage_cosines(cosines, thresholds)
    likeness[places, np.arange(len(places))] = 1.0
    weight = np.asarray(weights, np.float64)
    chosen: list[int] = []
    covered = np.zeros(len(vectors))
    while len(chosen) < min(most, len(places)):
        gains = weight[places] * (weight @ np.maximum(likeness - covered[:, None], 0.0))
        gains[chosen] = -1.0
        chosen.append(_newest_of_the_best(gains))
        np.maximum(covered, likeness[:, chosen[-1]], out=covered)
        near = cosines[:, chosen].max(axis=1) >= thresholds.semantic_link
        near[places[chosen]] = True
        if len(chosen) >= FEWEST_OBSERVATIONS and near.all():
            break
    return _standing_under(cosines[:, chosen], places[chosen], thresholds.semantic_link)


def candidates(count: int) -> IntArray:
    """Positions of the facts that may represent others, ascending: all of them up to a number, beyond it the newest and some."""
    if count <= CANDIDATES:
        return np.arange(count, dtype=np.int64)
    newest = CANDIDATES // 2
    spread = np.linspace(0, count - newest - 1, CANDIDATES - newest).round().astype(np.int64)
    return np.concatenate([spread, np.arange(count - newest, count, dtype=np.int64)])


def _newest_of_the_best(gains: Float64Array) -> int:
    best = float(gains.max())
    return int(np.flatnonzero(gains >= best - TIE * abs(best))[-1])


def _standing_under(cosines: Matrix, chosen: IntArray, floor: float) -> dict[int, list[int]]:
    """Each chosen fact with the others that are nearest to it and near enough; in the order they were chosen."""
    under = {place: [place] for place in chosen.tolist()}
    nearest = cosines.argmax(axis=1)
    for place in np.flatnonzero(cosines.max(axis=1) >= floor).tolist():
        if place not in under:
            under[int(chosen[nearest[place]])].append(place)
    return under
