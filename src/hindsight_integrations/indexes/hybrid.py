"""Hybrid search of one text: by meaning and by words, fused, where retain looks for memories a text may be about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.indexes.columns import items_in_order
from hindsight_integrations.model.arrays import BoolArray, Float64Array, Hits, IntArray, Vector, no_hits
from hindsight_integrations.model.trace import Channel

RRF_K = 60  # k of paper eq. 15 [paper section 4.2.3; recall docs, "Stage 1: Reciprocal Rank Fusion (RRF)"]

_DIGITS = 15  # sums equal on paper (1/63 + 1/84 = 1/72 + 1/72) may differ in the 17th digit


def reciprocal_rank_fusion(lists: Mapping[Channel, IntArray]) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """RRF(f) = sum over channels of 1 / (60 + rank) (paper eq. 15); ranks from 1, absent channels add nothing.

    Which channel gave which list, and in what order, makes no difference. An id repeated in one list counts once, at
    its best rank.

    Args:
        lists: unit ids of each channel, best first.

    Returns:
        Ids (n,) and their fused scores (n,) in (0, len(lists) / 61], best first; ties by best single rank, then id.
    """
    placed = [_ranks(ids) for ids in lists.values()]
    if not placed:
        return np.empty(0, np.int64), np.empty(0)
    ids = np.concatenate([found for found, _ in placed])
    ranks = np.concatenate([rank for _, rank in placed])
    # Added in rank order, so that the channels' order cannot show in the last digit.
    order = np.lexsort((ranks, ids))
    ids, ranks = ids[order], ranks[order]
    names, first, where = np.unique(ids, return_index=True, return_inverse=True)
    scores: npt.NDArray[np.float64] = np.bincount(
        where, weights=1.0 / (RRF_K + ranks), minlength=len(names)
    ).astype(np.float64)
    best = np.lexsort((names, ranks[first], -np.round(scores, _DIGITS)))
    return names[best], scores[best]


def _ranks(ids: IntArray) -> tuple[IntArray, IntArray]:
    """Each id of a list once, with its best rank from 1."""
    names, first = np.unique(np.asarray(ids, np.int64), return_index=True)
    return names, first.astype(np.int64) + 1


@dataclass(frozen=True, slots=True)
class Selection:
    """A mask over the columns and how many units it lets through."""

    mask: BoolArray
    count: int

    @property
    def all(self) -> bool:
        """Whether it excludes nothing."""
        return self.count == len(self.mask)


def search_allowed(search: Callable[[int], Hits], view: BankView, selected: Selection, limit: int) -> Hits:
    """The best `limit` hits the selection lets through: `search` gives so many, unfiltered, and twice as many until enough survive."""
    total = len(view.columns)
    ask = min(limit + total - selected.count, 2 * limit)
    while True:
        hits = search(ask)
        keep = view.columns.allowed(hits.ids, selected.mask)
        if keep.sum() >= limit or len(hits) < ask or ask >= total:
            return Hits(hits.ids[keep][:limit], hits.scores[keep][:limit])
        ask *= 2


def semantic_channel(
    view: BankView, selected: Selection, vector: Vector, *, limit: int, floor: float
) -> Hits:
    """At most `limit` units nearest to a unit vector by cosine (paper eq. 9, 10), none below `floor` on the embedder's scale."""
    if not selected.count:
        return no_hits()
    if not selected.all and selected.count <= EXACT_LIMIT:
        hits = view.scorer.search_among(vector, view.columns.ids[selected.mask], limit)
    else:
        query = vector.reshape(1, -1)
        hits = search_allowed(lambda ask: view.vectors.search(query, ask)[0], view, selected, limit)
    keep = hits.scores >= floor
    return Hits(hits.ids[keep], hits.scores[keep])


AMONG_LIMIT = 2_000  # a mask leaving at most this many units is handed to the keyword index as a set


def keyword_channel(
    view: BankView, selected: Selection, text: str, *, limit: int, told: bool = False
) -> Hits:
    """At most `limit` units, the best for the text by BM25 (paper eq. 11).

    Args:
        view: the bank.
        selected: which units may be found.
        text: a bag of words.
        limit: at most so many.
        told: compare with the units and the turns they were made from, instead of with the units.
    """
    if not selected.count:
        return no_hits()
    if not selected.all and selected.count <= AMONG_LIMIT:
        return view.keywords.search(text, limit, view.columns.ids[selected.mask], told=told)
    return search_allowed(lambda ask: view.keywords.search(text, ask, told=told), view, selected, limit)


def hybrid_search(
    view: BankView, selected: Selection, text: str, vector: Vector, *, limit: int
) -> tuple[IntArray, float]:
    """Row ids nearest to a text, best first, and the cosine of the nearest by meaning, -1 if there is none.

    Args:
        view: the bank; a keyword index that failed is left out.
        selected: which units may be found.
        text: searched for by words.
        vector: its own, unit norm.
        limit: at most so many of each channel; fused they may be up to twice as many.
    """
    near = semantic_channel(view, selected, vector, limit=limit, floor=-1.0)
    lists = {Channel.SEMANTIC: near.ids}
    if "keyword" not in view.failures:
        lists[Channel.KEYWORD] = keyword_channel(view, selected, text, limit=limit).ids
    return reciprocal_rank_fusion(lists)[0], float(near.scores[0]) if len(near) else -1.0


FEWEST_CANDIDATES = 512  # texts a channel ranks at least: pages of one search are of one ranking (no source)


def ranked_items(
    view: BankView, of: tuple[IntArray, IntArray], text: str, vector: Vector, *, limit: int
) -> tuple[IntArray, Float64Array]:
    """Items by how well their best text answers a query, and their scores.

    Both channels rank texts, an item stands where its best text does, and the two lists are fused. A score
    is the item's best cosine, raised to that of the best item ranked behind it: what words alone put in front is worth
    at least what it passed, and where meaning decides, scores are the cosines of any other store.

    Args:
        view: the bank.
        of: the texts that may be found, ascending, and the item of each.
        text: the query, searched for by words.
        vector: its own, unit norm.
        limit: how many items are wanted; more may come.

    Returns:
        Row ids of items (n,), best first, and scores (n,) in [-1, 1], not rising.
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
        found, _ = reciprocal_rank_fusion(lists)
        if len(found) >= limit or candidates >= selected.count:
            return found, _scores(view, (units[at >= 0], items[at >= 0]), vector, found)
        candidates *= 4


def _scores(view: BankView, of: tuple[IntArray, IntArray], vector: Vector, found: IntArray) -> Float64Array:
    """Of each item the cosine of its nearest text, none below that of a later one."""
    units, items = of
    order = np.argsort(found)
    chosen = np.isin(items, found)
    cosines = view.scorer.similarities(vector, units[chosen])
    place = order[np.searchsorted(found[order], items[chosen])]
    best = np.full(len(found), -1.0)
    np.maximum.at(best, place, np.where(np.isnan(cosines), -1.0, cosines))
    return np.maximum.accumulate(best[::-1])[::-1]
