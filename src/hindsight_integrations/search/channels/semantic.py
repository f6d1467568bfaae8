"""The semantic channel: nearest units by cosine (paper section 4.2.2, eq. 9 and 10; earlier paper 3.1.1)."""

from __future__ import annotations

from hindsight_integrations.ports.arrays import Hits, Vector, no_hits
from hindsight_integrations.search.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.search.channels.selection import Selection, search_allowed


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
