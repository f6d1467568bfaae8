"""The temporal channel: units of the time a question names, the most relevant first (paper section 4.2.2, eq. 13 and 14)."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.time import Interval
from hindsight_integrations.ports.arrays import Hits, no_hits, ranked
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.temporal import matches, temporal_hits


def temporal_channel(
    view: BankView, selected: Selection, window: Interval | None, relevance: Relevance, *, limit: int
) -> Hits:
    """At most `limit` units of a time window, weighted by how relevant they are; no window finds nothing.

    Without relevance, "in 2023" would rank a year's units by their distance from 2 July: the score is the temporal
    score times the cosine mapped to [0, 1].
    """
    if window is None or not selected.count:
        return no_hits()
    columns = view.columns
    of_then = matches(columns.starts, columns.ends, columns.mentioned, window) & selected.mask
    at = np.flatnonzero(of_then)  # what lies elsewhere in time, mostly all, is neither copied nor scored
    hits = temporal_hits(
        columns.ids[at], columns.starts[at], columns.ends[at], columns.mentioned[at], window=window
    )
    return ranked(hits.ids, (hits.scores * (1.0 + relevance(hits.ids)) / 2.0).astype(np.float32), limit)
