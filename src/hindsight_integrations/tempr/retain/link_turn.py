"""Links of new units to each other and to what a bank holds, decided in the write turn (paper section 4.1.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.time import DAY, to_micros
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import UNDATED, BoolArray, IntArray, Matrix
from hindsight_integrations.search.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.search.columns import points_in_time
from hindsight_integrations.tempr.retain.degrees import SEMANTIC_DEGREE, semantic_degrees, within_degree
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.linking import (
    LONG_SPAN_DAYS,
    REACH,
    SEMANTIC_LINKS,
    Pair,
    causal_links,
    semantic_links,
    temporal_links,
)

EXACT_LINKING_LIMIT = (
    400_000  # units; beyond, a product of a large batch costs as much as HNSW (0.6 ms at 100k, linear)
)
LONG_SPAN = LONG_SPAN_DAYS * DAY  # microseconds


def links_of(drafts: Sequence[Draft], vectors: Matrix, view: BankView, threshold: float) -> list[Link]:
    """Links of new units (vectors (n, dimension)) to each other and to what the view holds; `threshold` is theta_s."""
    if not drafts:
        return []
    temporal = _temporal([draft.unit for draft in drafts], view)
    # One matrix product finds the neighbours of a whole batch: it is quicker than HNSW up to far larger banks, and misses
    # none. Measured at 100k units, ms a fact: 0.6 in batches of 250, 2.4 of 5, 3.7 alone; Chroma 2.7.
    exact = len(view.columns) <= min(EXACT_LIMIT * len(drafts), EXACT_LINKING_LIMIT)
    index = view.scorer if exact else view.vectors
    fresh = len(drafts)
    semantic = _bounded(
        semantic_links(vectors, index.search(vectors, SEMANTIC_LINKS), threshold), fresh, view
    )
    rows = sorted({pair.other - fresh for pair in (*temporal, *semantic) if pair.other >= fresh})
    names = dict(enumerate(draft.unit.id for draft in drafts))
    known = view.ledger.unit_ids(view.bank, np.array(rows, np.int64))
    names.update((row + fresh, name) for row, name in known.items())
    return [
        *_named(temporal, names, LinkType.TEMPORAL),
        *_named(semantic, names, LinkType.SEMANTIC),
        *causal_links(drafts),
    ]


def _bounded(pairs: Sequence[Pair], fresh: int, view: BankView) -> list[Pair]:
    """Semantic pairs without those to a unit of the bank that has as many links as it may; see `degrees`."""
    rows = np.array(sorted({pair.other - fresh for pair in pairs if pair.other >= fresh}), np.int64)
    degrees = {row + fresh: count for row, count in semantic_degrees(view.graph, rows).items()}
    return within_degree(pairs, degrees, SEMANTIC_DEGREE)


def _named(pairs: Sequence[Pair], names: Mapping[int, str], kind: LinkType) -> list[Link]:
    return [Link(names[p.new], names[p.other], kind, p.weight) for p in pairs if p.other in names]


def _temporal(units: Sequence[MemoryUnit], view: BankView) -> list[Pair]:
    """Temporal pairs; others are row ids offset by the number of new units, as in `semantic_links`."""
    points, short = _points(units)
    if not short.any():
        return []
    columns = view.columns
    old = columns.points()
    spans = np.where(columns.starts == UNDATED, 0, columns.ends - columns.starts)
    reach = (old >= points[short].min() - REACH) & (old <= points[short].max() + REACH) & (spans <= LONG_SPAN)
    positions = np.flatnonzero(short)  # of new units that have a point in time
    rows = columns.ids[reach] + len(units)
    others = np.concatenate([positions, rows])
    return [
        Pair(int(positions[pair.new]), int(others[pair.other]), pair.weight)
        for pair in temporal_links(points[short], old[reach])
    ]


def _points(units: Sequence[MemoryUnit]) -> tuple[IntArray, BoolArray]:
    starts = np.array([to_micros(u.occurred.start) if u.occurred else UNDATED for u in units], np.int64)
    ends = np.array([to_micros(u.occurred.end) if u.occurred else UNDATED for u in units], np.int64)
    mentioned = np.array([to_micros(u.mentioned_at) for u in units], np.int64)
    short = np.where(starts == UNDATED, 0, ends - starts) <= LONG_SPAN
    return points_in_time(starts, ends, mentioned), short
