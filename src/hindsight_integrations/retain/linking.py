"""Links from new units to each other and to a bank's units: temporal, semantic and causal (paper section 4.1.4).

Entity links follow from mentions. The formulas are pure; `links_of` applies them to a view of the bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hindsight_integrations.indexes.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.indexes.columns import Columns, of_types, points_in_time
from hindsight_integrations.model.arrays import UNDATED, BoolArray, FloatArray, Hits, IntArray, Matrix, ranked
from hindsight_integrations.model.links import LINK_CODES, Link, LinkType
from hindsight_integrations.model.time import DAY, to_micros
from hindsight_integrations.model.units import TOLD_NETWORKS, FactType, MemoryUnit, UnitKind
from hindsight_integrations.retain.drafts import UnitDraft

SIGMA_HOURS = 24.0  # decay of temporal links [paper eq. 4; earlier paper 2.5.1]
TEMPORAL_FLOOR = 0.3  # weakest temporal link kept [earlier paper 2.5.1]
# maximum per unit, to limit the degree of the graph (chosen by hand; the paper gives no value)
TEMPORAL_LINKS = 10
LONG_SPAN_DAYS = 31  # maximum span for which a midpoint is used for temporal links (chosen by hand)
SEMANTIC_LINKS = 5  # maximum per unit [earlier paper 2.5.2]

HOUR = 3_600_000_000  # microseconds
REACH = int(-np.log(TEMPORAL_FLOOR) * SIGMA_HOURS * HOUR)
"""Gap in microseconds beyond which a temporal link falls below the floor: about 29 hours."""
LONG_SPAN = LONG_SPAN_DAYS * DAY  # microseconds

SEMANTIC_DEGREE = 50
"""Maximum number of semantic links per unit, including those from later units, which the paper does not limit.

Without it, one unit in a bank of 100k synthetic facts had 295 links (hindsight-evals bench retain_speed). Temporal links need
no such limit: the maximum was 38."""

EXACT_LINKING_LIMIT = 400_000
"""Bank size up to which exact search is used for large batches, instead of HNSW.

Measured at 100k units, in ms per fact: 0.6 in batches of 250, 2.4 in batches of 5, 3.7 alone; Chroma 2.7. The
time of exact search grows linearly with the size.
"""


class WeightedLink(NamedTuple):
    """A proposed link.

    Attributes:
        new: the position of the new unit among the n new units.
        other: the position of another new unit, or n + row id for a unit of the bank.
        weight: the weight in [0, 1].
    """

    new: int
    other: int
    weight: float


def temporal_weight(gap_micros: IntArray) -> FloatArray:
    """Compute paper eq. 4, exp(-dt / sigma), for gaps between midpoints, in (0, 1]."""
    return np.exp(-np.abs(gap_micros) / (SIGMA_HOURS * HOUR)).astype(np.float32)


def temporal_links(points: IntArray, old_points: IntArray) -> list[WeightedLink]:
    """Link each new unit to at most ten units nearest in time; links with a weight below the floor are omitted.

    Args:
        points: points in time of the new units, microseconds, (n,).
        old_points: points in time of the bank's units, (m,); in the returned links, `other` = n + j is unit j of the bank.
    """
    every = np.concatenate([points, old_points])
    order = np.argsort(every, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return [
        WeightedLink(new, other, float(temporal_weight(every[other] - every[new])))
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


def semantic_links(vectors: Matrix, near: Sequence[Hits], threshold: float) -> list[WeightedLink]:
    """Link each new unit to the most similar others (paper eq. 5), at most five each.

    Args:
        vectors: unit-norm vectors of the new units, (n, dimension).
        near: nearest units in the bank for each vector; in the returned links, `other` = n + r is row id r.
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
            WeightedLink(new, int(other), min(1.0, float(cosine)))
            for other, cosine in zip(best.ids, best.scores, strict=True)
            if cosine >= threshold
        ]
    return pairs


def causal_links(drafts: Sequence[UnitDraft]) -> list[Link]:
    """Create links for the extracted cause-effect relations (paper section 4.1.4, item 3; earlier paper 2.5.4)."""
    return [
        Link(
            draft.unit.id,
            drafts[claim.target_fact_index].unit.id,
            LinkType.CAUSAL,
            claim.strength,
            claim.relation_type,
        )
        for draft in drafts
        for claim in draft.causes
        if drafts[claim.target_fact_index].unit.id != draft.unit.id
    ]


def within_degree(
    pairs: Sequence[WeightedLink], degrees: Mapping[int, int], limit: int
) -> list[WeightedLink]:
    """Return the pairs, strongest first, without those whose other unit has reached the limit.

    Args:
        pairs: proposed links; `other` uses the same keys as `degrees`.
        degrees: number of links each other unit already has.
        limit: maximum number of links per unit.
    """
    met = Counter(degrees)
    kept = []
    for pair in sorted(pairs, key=lambda pair: (-pair.weight, pair.new, pair.other)):
        if met[pair.other] < limit:
            met[pair.other] += 1
            kept.append(pair)
    return kept


def links_of(drafts: Sequence[UnitDraft], view: BankView, threshold: float) -> list[Link]:
    """Create the links of new units to each other and to the bank's units.

    Observations are not linked, since they are derived from facts. Documents are linked, their items are not.

    Args:
        drafts: drafts of the new units, with their vectors.
        view: a view of the bank.
        threshold: theta_s.
    """
    places = [
        place
        for place, draft in enumerate(drafts)
        if draft.unit.fact_type is not FactType.OBSERVATION and draft.unit.kind is UnitKind.MEMORY
    ]
    if not places:
        return causal_links(drafts)
    units, fresh = [drafts[place].unit for place in places], len(places)
    vectors = np.stack([drafts[place].vector for place in places])
    temporal = _temporal(units, view)
    semantic = semantic_links(vectors, _nearest_memories(vectors, view), threshold)
    known, counts = view.ledger.units.link_ends(
        view.bank,
        _stored([*temporal, *semantic], fresh),
        _stored(semantic, fresh),
        LINK_CODES[LinkType.SEMANTIC, None],
    )
    degrees = {row + fresh: count for row, count in counts.items()}
    semantic = within_degree(semantic, degrees, SEMANTIC_DEGREE)
    names = dict(enumerate(unit.id for unit in units)) | {row + fresh: name for row, name in known.items()}
    return [
        *_named(temporal, names, LinkType.TEMPORAL),
        *_named(semantic, names, LinkType.SEMANTIC),
        *causal_links(drafts),
    ]


def _nearest_memories(vectors: Matrix, view: BankView) -> list[Hits]:
    """Return the nearest linkable memories of the bank for each vector (n, dimension), at least SEMANTIC_LINKS if that many exist."""
    # One matrix product for the batch is faster than HNSW, except in very large banks.
    exact = len(view.columns) <= min(EXACT_LIMIT * len(vectors), EXACT_LINKING_LIMIT)
    index = view.scorer if exact else view.vectors
    excluded = view.columns.ids[~_linked(view.columns)]
    if not len(excluded):
        return index.search(vectors, SEMANTIC_LINKS)
    ask = 2 * SEMANTIC_LINKS
    while True:
        batch = index.search(vectors, ask)
        kept = [~np.isin(hits.ids, excluded) for hits in batch]
        if ask >= len(view.columns) or all(keep.sum() >= SEMANTIC_LINKS for keep in kept):
            return [Hits(hits.ids[keep], hits.scores[keep]) for hits, keep in zip(batch, kept, strict=True)]
        ask *= 2


def _linked(columns: Columns) -> BoolArray:
    """Return a mask of the linkable units: neither waiting turns nor observations, (n,)."""
    return of_types(columns, TOLD_NETWORKS)


def _stored(pairs: Sequence[WeightedLink], fresh: int) -> IntArray:
    """Return the row ids of the bank's units among the other ends of the pairs, ascending."""
    return np.array(sorted({pair.other - fresh for pair in pairs if pair.other >= fresh}), np.int64)


def _named(pairs: Sequence[WeightedLink], names: Mapping[int, str], kind: LinkType) -> list[Link]:
    return [Link(names[p.new], names[p.other], kind, p.weight) for p in pairs if p.other in names]


def _temporal(units: Sequence[MemoryUnit], view: BankView) -> list[WeightedLink]:
    """Return temporal pairs; `other` is a row id offset by the number of new units, as in `semantic_links`."""
    points, short = _points(units)
    if not short.any():
        return []
    columns = view.columns
    old = columns.points()
    spans = np.where(columns.starts == UNDATED, 0, columns.ends - columns.starts)
    reach = (old >= points[short].min() - REACH) & (old <= points[short].max() + REACH) & (spans <= LONG_SPAN)
    reach &= _linked(columns)
    positions = np.flatnonzero(short)  # positions of new units with a point in time
    rows = columns.ids[reach] + len(units)
    others = np.concatenate([positions, rows])
    return [
        WeightedLink(int(positions[pair.new]), int(others[pair.other]), pair.weight)
        for pair in temporal_links(points[short], old[reach])
    ]


def _points(units: Sequence[MemoryUnit]) -> tuple[IntArray, BoolArray]:
    starts = np.array([to_micros(u.occurred.start) if u.occurred else UNDATED for u in units], np.int64)
    ends = np.array([to_micros(u.occurred.end) if u.occurred else UNDATED for u in units], np.int64)
    mentioned = np.array([to_micros(u.mentioned_at) for u in units], np.int64)
    short = np.where(starts == UNDATED, 0, ends - starts) <= LONG_SPAN
    return points_in_time(starts, ends, mentioned), short
