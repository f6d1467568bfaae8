"""Search of items: meaning and words, fused, over the items that are asked for."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import Float64Array, IntArray, Vector, no_hits
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.fusion import reciprocal_rank_fusion
from hindsight_integrations.search.item_columns import items_in_order

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
