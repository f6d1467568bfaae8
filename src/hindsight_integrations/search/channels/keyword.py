"""The keyword channel: best units by BM25 (paper section 4.2.2, eq. 11)."""

from __future__ import annotations

from hindsight_integrations.ports.arrays import Hits, no_hits
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection, search_allowed

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
