"""Hybrid search of one text: by meaning and by words, fused, where retain looks for memories a text may be about."""

from __future__ import annotations

from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.fusion import reciprocal_rank_fusion


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
