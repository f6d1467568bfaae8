"""The temporal channel: units in a time window, scored by their distance from its middle (paper section 4.2.2, eq. 13 and 14)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.hybrid import Selection
from hindsight_integrations.indexes.spreading_activation import Relevance
from hindsight_integrations.model.arrays import UNDATED, BoolArray, Hits, IntArray, no_hits, ranked
from hindsight_integrations.model.names import names_any
from hindsight_integrations.model.time import Interval, to_micros

INSIDE_FLOOR = 0.5  # minimum score of a unit that overlaps the window
MENTIONED_SCALE = 0.5
"""Factor for units matched only by mentioned_at, which ranks them behind occurrence matches."""


def overlaps(starts: IntArray, ends: IntArray, window: Interval) -> BoolArray:
    """Return a mask of the spans that overlap the window (paper eq. 13); all are half-open, as in `Interval.overlaps`.

    Starts and (exclusive) ends are in microseconds, (n,); UNDATED never matches.
    """
    before_end, after_start = starts < to_micros(window.end), ends > to_micros(window.start)
    inside: BoolArray = before_end & after_start & (starts != UNDATED)
    return inside


def matches(starts: IntArray, ends: IntArray, mentioned: IntArray, window: Interval) -> BoolArray:
    """Return a mask of the units that happened or were mentioned in the window; arguments as in `temporal_hits`."""
    return overlaps(starts, ends, window) | overlaps(mentioned, mentioned + 1, window)


def proximity(starts: IntArray, ends: IntArray, window: Interval) -> npt.NDArray[np.float64]:
    """Compute 1 - |mid - mid_q| / (length / 2), clipped to [0, 1]: 1 at the window's centre, 0 from its edge on.

    This is paper eq. 14, clipped as in the recall docs' "Temporal proximity signal"; 0 for UNDATED spans. Doubled
    midpoints are compared, in whole microseconds, so that nothing is rounded before the division.
    """
    first, last = to_micros(window.start), to_micros(window.end)
    dated = starts != UNDATED
    twice_mid = np.where(dated, starts, 0) + np.where(dated, ends, 0)
    score = 1.0 - np.abs(twice_mid - (first + last)) / (last - first)
    return np.where(dated, np.clip(score, 0.0, 1.0), 0.0)


def temporal_score(starts: IntArray, ends: IntArray, window: Interval) -> npt.NDArray[np.float64]:
    """Return the proximity (paper eq. 14), but at least 0.5 for a span that overlaps the window."""
    score = proximity(starts, ends, window)
    return np.where(overlaps(starts, ends, window), np.maximum(score, INSIDE_FLOOR), score)


def event_moments(starts: IntArray, mentioned: IntArray) -> IntArray:
    """Return the start of each unit's occurrence, else its mentioned_at, in microseconds, (n,)."""
    return np.where(starts == UNDATED, mentioned, starts)


def temporal_hits(
    ids: IntArray, starts: IntArray, ends: IntArray, mentioned: IntArray, *, window: Interval
) -> Hits:
    """Return units that happened in the window, then those that were only mentioned in it.

    "What did she tell me on 8 May?" asks for the day of the mention, so units that happened at another time match
    too, ranked behind those that happened in the window. Times are in microseconds, (n,); ends are exclusive, and the
    starts of undated units are UNDATED.

    Returns:
        Best first, ties by id: occurrence matches with scores in [0.5, 1], then mentions in [0.25, 0.5].
    """
    happened = overlaps(starts, ends, window)
    starts, ends = np.where(happened, starts, mentioned), np.where(happened, ends, mentioned + 1)
    score = temporal_score(starts, ends, window) * np.where(happened, 1.0, MENTIONED_SCALE)
    match = np.flatnonzero(overlaps(starts, ends, window))
    scores = score[match].astype(np.float32)
    order = np.lexsort((ids[match], -scores, ~happened[match]))
    return Hits(ids[match][order], scores[order])


def temporal_channel(
    view: BankView, selected: Selection, window: Interval | None, relevance: Relevance, *, limit: int
) -> Hits:
    """Return at most `limit` units in a time window, weighted by relevance; no hits without a window.

    The score is the temporal score times the cosine mapped to [0, 1]. Without the cosine, "in 2023" would rank a
    year's units by their distance from 2 July.
    """
    if window is None or not selected.count:
        return no_hits()
    columns = view.columns
    of_then = matches(columns.starts, columns.ends, columns.mentioned, window) & selected.mask
    at = np.flatnonzero(of_then)  # usually few units match, so only these are scored
    hits = temporal_hits(
        columns.ids[at], columns.starts[at], columns.ends[at], columns.mentioned[at], window=window
    )
    return ranked(hits.ids, (hits.scores * (1.0 + relevance(hits.ids)) / 2.0).astype(np.float32), limit)


def turns_naming(view: BankView, selected: Selection, names: Collection[str], *, limit: int) -> IntArray:
    """Return the row ids of at most `limit` turns waiting for extraction that contain one of the normalised names, (n,)."""
    turns = view.columns.ids[view.columns.waiting & selected.mask]
    if not len(turns) or not names or "keyword" in view.failures:
        return np.empty(0, np.int64)
    near = view.keywords.search(" ".join(sorted(names)), limit, turns).ids
    stored = view.ledger.units.get(view.bank, near)
    naming = [row for row in near.tolist() if row in stored and names_any(stored[row].text, names)]
    return np.array(naming, np.int64)
