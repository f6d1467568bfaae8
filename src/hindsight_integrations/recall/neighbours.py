"""Relevance smoothed over neighbouring turns of a conversation: a question says what its answer is about.

"What did you paint?" - "A sunrise, last year": the second turn answers a question about painting and has none of its
words. Only verbatim units are turns; narrative facts tell a whole exchange and need no neighbours (paper section 4.1.2). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_integrations.indexes.columns import Columns
from hindsight_integrations.model.arrays import BoolArray, Float64Array, FloatArray, IntArray

# What a turn takes of the fused score of the turns one and two before it, and one and two after it; chosen on LoCoMo
# conv-26, 41 and 43; +6 to +9 points of evidence at 512 to 1,024 tokens there.
DISTANCES = (1, 2, -1, -2)  # of a turn from the one it takes from; negative: it stands before it
WEIGHTS = (0.3, 0.1, 0.2, 0.1)
# How far below the logit of the turn one and two before it a turn's own logit may lie.
BELOW_BEFORE = (1.0, 3.0)
SAME_SESSION = 3_600_000_000  # microseconds; after an hour a turn answers nothing (no source)
JUST_BEHIND = 0.9999  # of the score of the turn it must not overtake
ABSENT = -1


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The turns of the conversations some candidates belong to, in the order of their time.

    Attributes:
        at: positions in the columns, conversation by conversation, (m,).
        place: for each position of the columns its place in `at`, ABSENT if it is no such turn, (n,).
        session: for each place the number of its session; turns of one conversation and session share it, (m,).
    """

    at: IntArray
    place: IntArray
    session: IntArray

    def neighbour(self, positions: IntArray, distance: int) -> IntArray:
        """Positions of the turns so many after each one (before it, if negative), (k,); ABSENT where there is none."""
        here = self.place[positions]
        there = here + distance
        exists = np.flatnonzero((here != ABSENT) & (there >= 0) & (there < len(self.at)))
        together = exists[self.session[here[exists]] == self.session[there[exists]]]
        found = np.full(len(positions), ABSENT, np.int64)
        found[together] = self.at[there[together]]
        return found


def turn_order(columns: Columns, allowed: BoolArray, ids: IntArray) -> TurnOrder | None:
    """The order of the turns that may be returned, of the conversations of these units; None if none of them is a turn."""
    positions = columns.positions(ids)
    positions = positions[positions != ABSENT]
    if not columns.speakers[positions].any():
        return None
    wanted = np.zeros(len(columns.thread_names), bool)
    wanted[columns.threads[positions]] = True
    at = np.flatnonzero(wanted[columns.threads] & (columns.speakers > 0) & allowed)
    at = at[np.argsort(columns.mentioned[at], kind="stable")]
    at = at[np.argsort(columns.threads[at], kind="stable")]
    place = np.full(len(columns), ABSENT, np.int64)
    place[at] = np.arange(len(at))
    apart = (np.diff(columns.threads[at]) != 0) | (np.diff(columns.mentioned[at]) > SAME_SESSION)
    return TurnOrder(at, place, np.concatenate([[0], np.cumsum(apart)]))


def smoothed_scores(
    ids: IntArray, fused: Float64Array, columns: Columns, order: TurnOrder
) -> tuple[IntArray, Float64Array]:
    """Fused scores smoothed over neighbouring turns; turns no channel found may join.

    f'(u) = f(u) + sum of w_d * f(u - d) + sum of v_d * f(u + d), d = 1, 2, within one session of a conversation; but a
    turn never overtakes a neighbour that was better without it: "Nice name!" stays behind the name.

    Args:
        ids: row ids, (n,).
        fused: their scores, (n,).
        columns: where the ids stand.
        order: of the conversations they belong to.

    Returns:
        Row ids and scores, best first, ties by id.
    """
    positions = columns.positions(ids)
    here = positions != ABSENT
    around = [order.neighbour(positions[here], distance) for distance in DISTANCES]
    found = np.unique(np.concatenate([positions[here], *around]))
    found = found[found != ABSENT]
    own = np.zeros(len(found))
    own[np.searchsorted(found, positions[here])] = fused[here]
    neighbours = [_within(found, order.neighbour(found, -distance)) for distance in DISTANCES]
    total = own + sum(w * _at(own, near) for w, near in zip(WEIGHTS, neighbours, strict=True))
    total = _behind_better(own, total, neighbours)
    best = np.lexsort((columns.ids[found], -total))
    return columns.ids[found[best]], total[best]


def _behind_better(own: Float64Array, total: Float64Array, neighbours: list[IntArray]) -> Float64Array:
    """Totals lowered until no turn is above a neighbour whose own score is higher."""
    while True:
        bar = np.full(len(own), np.inf)
        for near in neighbours:
            better = _at(own, near) > own
            bar = np.where(better, np.minimum(bar, _at(total, near)), bar)
        lowered = np.where(total >= bar, np.maximum(own, bar * JUST_BEHIND), total)
        if (lowered >= total).all():
            return total
        total = lowered


def _at(values: Float64Array, places: IntArray) -> Float64Array:
    """Values at these places, 0 for ABSENT."""
    return np.where(places == ABSENT, 0.0, values[places])


def _within(found: IntArray, positions: IntArray) -> IntArray:
    """Places of positions in `found` (ascending), ABSENT for those that are not there."""
    at = np.minimum(np.searchsorted(found, positions), len(found) - 1)
    return np.where(found[at] == positions, at, ABSENT)


def smoothed_logits(ids: IntArray, logits: FloatArray, columns: Columns, order: TurnOrder) -> FloatArray:
    """Logits after a turn has taken over those of the turns it answers, less 1 and 3, (n,).

    The reranker reads turns one by one: it likes the turn that asks the question better than the one that answers it.
    """
    positions = columns.positions(ids)
    read = np.full(len(columns) + 1, -np.inf)
    read[positions] = logits
    raised = logits.astype(np.float64)
    for distance, below in enumerate(BELOW_BEFORE, 1):
        raised = np.maximum(raised, read[order.neighbour(positions, -distance)] - below)
    return raised.astype(np.float32)
