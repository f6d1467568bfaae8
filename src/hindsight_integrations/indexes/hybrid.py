"""Hybrid search: the semantic and keyword channels, and rank fusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.indexes.columns import items_in_order
from hindsight_integrations.model.arrays import (
    BoolArray,
    Float64Array,
    FloatArray,
    Hits,
    IntArray,
    Vector,
    no_hits,
    ranked,
)
from hindsight_integrations.model.trace import Channel

RRF_K = 60  # k of paper eq. 15 [paper section 4.2.3; recall docs, "Stage 1: Reciprocal Rank Fusion (RRF)"]

_DIGITS = 15
"""Decimals kept: mathematically equal sums (1/63 + 1/84 = 1/72 + 1/72) may differ in the 17th digit."""


def reciprocal_rank_fusion(lists: Mapping[Channel, IntArray]) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """Compute RRF(f) = sum over channels of 1 / (60 + rank) (paper eq. 15); ranks start at 1.

    The result does not depend on the order of the channels. An id repeated in one list counts once, at its
    best rank.

    Args:
        lists: unit ids of each channel, best first.

    Returns:
        Ids (n,) and their fused scores (n,) in (0, len(lists) / 61], best first; ties by best single rank,
        then id.
    """
    placed = [_ranks(ids) for ids in lists.values()]
    if not placed:
        return np.empty(0, np.int64), np.empty(0)
    ids = np.concatenate([names for names, _ in placed])
    ranks = np.concatenate([rank for _, rank in placed])
    # Added in rank order, so that the channels' order cannot affect the last digit.
    order = np.lexsort((ranks, ids))
    ids, ranks = ids[order], ranks[order]
    names, first, where = np.unique(ids, return_index=True, return_inverse=True)
    scores: npt.NDArray[np.float64] = np.bincount(
        where, weights=1.0 / (RRF_K + ranks), minlength=len(names)
    ).astype(np.float64)
    best = np.lexsort((names, ranks[first], -np.round(scores, _DIGITS)))
    return names[best], scores[best]


def _ranks(ids: IntArray) -> tuple[IntArray, IntArray]:
    """Return each distinct id of a list with its best rank from 1."""
    names, first = np.unique(np.asarray(ids, np.int64), return_index=True)
    return names, first.astype(np.int64) + 1


@dataclass(frozen=True, slots=True)
class Selection:
    """A mask over the columns and the number of units it selects."""

    mask: BoolArray
    count: int

    @property
    def all(self) -> bool:
        """Whether the mask selects every unit."""
        return self.count == len(self.mask)


def search_allowed(search: Callable[[int], Hits], view: BankView, selected: Selection, limit: int) -> Hits:
    """Return the best `limit` selected hits, doubling the limit of the unfiltered `search` until there are enough."""
    total = len(view.columns)
    ask = min(limit + total - selected.count, 2 * limit)
    while True:
        hits = search(ask)
        keep = view.columns.allowed(hits.ids, selected.mask)
        if keep.sum() >= limit or len(hits) < ask or ask >= total:
            return Hits(hits.ids[keep][:limit], hits.scores[keep][:limit])
        ask *= 2


def semantic_channel(
    view: BankView,
    selected: Selection,
    vector: Vector,
    *,
    limit: int,
    floor: float,
    cosines: FloatArray | None = None,
) -> Hits:
    """Return the `limit` units nearest to a unit vector by cosine (paper eq. 9, 10), none below `floor` (on the embedder's scale).

    `cosines` are those of every unit of the columns, (n,), if they are known already.
    """
    if not selected.count:
        return no_hits()
    if cosines is not None:
        hits = ranked(view.columns.ids[selected.mask], cosines[selected.mask], limit)
    elif not selected.all and selected.count <= EXACT_LIMIT:
        hits = view.scorer.search_among(vector, view.columns.ids[selected.mask], limit)
    else:
        query = vector.reshape(1, -1)
        hits = search_allowed(lambda ask: view.vectors.search(query, ask)[0], view, selected, limit)
    keep = hits.scores >= floor
    return Hits(hits.ids[keep], hits.scores[keep])


AMONG_LIMIT = 2_000  # a mask that selects at most this many units is passed to the keyword index as a set


def keyword_channel(
    view: BankView, selected: Selection, text: str, *, limit: int, told: bool = False
) -> Hits:
    """Return the `limit` best units for a bag of words by BM25 (paper eq. 11).

    With `told`, each unit's text is combined with its source turns.
    """
    if not selected.count:
        return no_hits()
    if not selected.all and selected.count <= AMONG_LIMIT:
        return view.keywords.search(text, limit, view.columns.ids[selected.mask], told=told)
    return search_allowed(lambda ask: view.keywords.search(text, ask, told=told), view, selected, limit)


def hybrid_search(
    view: BankView, selected: Selection, text: str, vector: Vector, *, limit: int
) -> tuple[IntArray, float]:
    """Search by meaning and words; return row ids, best first, and the best cosine, -1 if there are no hits.

    A failed keyword index is left out. The list may contain up to twice as many units as `limit`, which applies per channel.
    """
    near = semantic_channel(view, selected, vector, limit=limit, floor=-1.0)
    lists = {Channel.SEMANTIC: near.ids}
    if "keyword" not in view.failures:
        lists[Channel.KEYWORD] = keyword_channel(view, selected, text, limit=limit).ids
    return reciprocal_rank_fusion(lists)[0], float(near.scores[0]) if len(near) else -1.0


# Minimum number of texts ranked per channel, so that all pages of a search come from one ranking.
FEWEST_CANDIDATES = 512


def ranked_items(
    view: BankView, of: tuple[IntArray, IntArray], text: str, vector: Vector, *, limit: int
) -> tuple[IntArray, Float64Array]:
    """Rank items by their texts; return row ids (n,), best first, and non-increasing scores (n,) in [-1, 1].

    Each channel ranks the texts, an item gets the rank of its best text, and the two lists of items are fused.
    An item's score is its best cosine or that of a lower-ranked item, whichever is higher. More than `limit` items may be
    returned. `of` has the row ids of the texts that may match, ascending, and the item of each.
    """
    units, items = of
    mask = np.zeros(len(view.columns), bool)
    at = view.columns.positions(units)
    mask[at[at >= 0]] = True
    selected = Selection(mask, int(np.count_nonzero(mask)))
    candidates = FEWEST_CANDIDATES
    while True:
        near = semantic_channel(view, selected, vector, limit=candidates, floor=-1.0)
        worded = no_hits()
        if "keyword" not in view.failures:
            worded = keyword_channel(view, selected, text, limit=candidates)
        lists = {
            Channel.SEMANTIC: items_in_order(near.ids, of),
            Channel.KEYWORD: items_in_order(worded.ids, of),
        }
        ranking, _ = reciprocal_rank_fusion(lists)
        if len(ranking) >= limit or candidates >= selected.count:
            return ranking, _scores(view, (units[at >= 0], items[at >= 0]), vector, ranking)
        candidates *= 4


def _scores(view: BankView, of: tuple[IntArray, IntArray], vector: Vector, found: IntArray) -> Float64Array:
    """Return the highest cosine of each item, raised to that of any lower-ranked item."""
    units, items = of
    order = np.argsort(found)
    chosen = np.isin(items, found)
    cosines = view.scorer.similarities(vector, units[chosen])
    place = order[np.searchsorted(found[order], items[chosen])]
    best = np.full(len(found), -1.0)
    np.maximum.at(best, place, np.where(np.isnan(cosines), -1.0, cosines))
    return np.maximum.accumulate(best[::-1])[::-1]
