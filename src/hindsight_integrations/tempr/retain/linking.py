"""Link construction: temporal, semantic and causal edges (paper section 4.1.4). Entity links follow from mentions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hindsight_integrations.model.links import CausalRelation, Link, LinkType
from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, ranked
from hindsight_integrations.tempr.retain.drafts import Draft

SIGMA_HOURS = 24.0  # decay of temporal links [eq. 4; earlier paper 2.5.1]
TEMPORAL_FLOOR = 0.3  # weakest temporal link kept [earlier paper 2.5.1]
TEMPORAL_LINKS = 10  # nearest per unit [design section 6]
LONG_SPAN_DAYS = 31  # units spanning more have no point in time [design section 6]
SEMANTIC_LINKS = 5  # per unit [earlier paper 2.5.2]

HOUR = 3_600_000_000  # microseconds
REACH = int(-np.log(TEMPORAL_FLOOR) * SIGMA_HOURS * HOUR)
"""Gap in microseconds beyond which no temporal link survives the floor: about 29 hours."""


class Pair(NamedTuple):
    """A link to be: new unit by position, the other by position or offset row id, and its weight in [0, 1]."""

    new: int
    other: int
    weight: float


def temporal_weight(gap_micros: IntArray) -> FloatArray:
    """Paper eq. 4: exp(-dt / sigma) for gaps between midpoints, in (0, 1]."""
    return np.exp(-np.abs(gap_micros) / (SIGMA_HOURS * HOUR)).astype(np.float32)


def temporal_links(points: IntArray, old_points: IntArray) -> list[Pair]:
    """Pairs of each new unit with its nearest others in time, at most ten each, none below the floor.

    Args:
        points: points in time of the new units, microseconds, (n,).
        old_points: those of units of the bank, (m,); unit j of them is other n + j in the pairs.
    """
    every = np.concatenate([points, old_points])
    order = np.argsort(every, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return [
        Pair(new, other, float(temporal_weight(every[other] - every[new])))
        for new in range(len(points))
        for other in _nearest(new, order, place, every)
        if other >= len(points) or other < new  # two new units are linked once, from the later one
    ]


def _nearest(index: int, order: IntArray, place: IntArray, points: IntArray) -> list[int]:
    at = int(place[index])
    around = order[max(0, at - TEMPORAL_LINKS) : at + TEMPORAL_LINKS + 1]
    around = around[around != index]
    gaps = np.abs(points[around] - points[index])
    close = np.argsort(gaps, kind="stable")[:TEMPORAL_LINKS]
    return [int(around[i]) for i in close if gaps[i] <= REACH]


def semantic_links(vectors: Matrix, near: Sequence[Hits], threshold: float) -> list[Pair]:
    """Pairs of each new unit with the most similar others (paper eq. 5), at most five each.

    Args:
        vectors: unit-norm vectors of the new units, (n, dimension).
        near: for each, the nearest units already in the bank; row id r of them is other n + r in the pairs.
        threshold: theta_s on this embedder's scale.
    """
    pairs = []
    count = len(vectors)
    for new in range(count):
        earlier = vectors[:new] @ vectors[new]
        others = np.concatenate([np.arange(new, dtype=np.int64), near[new].ids + count])
        cosines = np.concatenate([earlier, near[new].scores])
        best = ranked(others, cosines.astype(np.float32), SEMANTIC_LINKS)
        pairs += [
            Pair(new, int(other), min(1.0, float(cosine)))
            for other, cosine in zip(best.ids, best.scores, strict=True)
            if cosine >= threshold
        ]
    return pairs


def causal_links(drafts: Sequence[Draft]) -> list[Link]:
    """Links for the cause-effect relations extraction claimed (paper section 4.1.4, item 3)."""
    return [
        Link(
            draft.unit.id,
            drafts[claim.target].unit.id,
            LinkType.CAUSAL,
            claim.strength,
            CausalRelation(claim.relation),
        )
        for draft in drafts
        for claim in draft.causes
        if drafts[claim.target].unit.id != draft.unit.id
    ]
