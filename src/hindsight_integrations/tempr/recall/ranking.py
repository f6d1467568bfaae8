"""Final scores of reranked units: the reranker's logit nudged by recency, time asked about and proof (design section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hindsight_integrations.model.time import DAY, Interval, to_micros
from hindsight_integrations.ports.arrays import UNDATED, Float64Array, FloatArray, IntArray
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.temporal import event_moments
from hindsight_integrations.tempr.recall.boosts import (
    NEUTRAL,
    Signals,
    days_before,
    final_score,
    recency,
    temporal_proximity,
)


@dataclass(frozen=True, slots=True)
class Boosted:
    """Final scores of reranked units, and what they are made of; all (n,).

    Attributes:
        logits: the reranker's, after turns took over those of the turns they answer.
        signals: recency, temporal proximity and proof.
        scores: log-odds after the boosts.
    """

    logits: FloatArray
    signals: Signals
    scores: Float64Array

    def only(self, at: IntArray) -> Boosted:
        """Those at these positions, in their order."""
        chosen = Signals(
            *(
                np.broadcast_to(signal, self.logits.shape)[at]
                for signal in (self.signals.recency, self.signals.temporal, self.signals.proof)
            )
        )
        return Boosted(self.logits[at], chosen, self.scores[at])


def boosted(
    logits: FloatArray, ids: IntArray, columns: Columns, *, window: Interval | None, asked_at: datetime
) -> Boosted:
    """Reranked units with their boosts applied.

    Args:
        logits: the reranker's, (n,).
        ids: row ids of the units, (n,).
        columns: where their times are.
        window: the time asked about, if any.
        asked_at: the query's time, from which recency counts.
    """
    at = columns.positions(ids)
    starts, ends, mentioned = columns.starts[at], columns.ends[at], columns.mentioned[at]
    moments = event_moments(starts, mentioned)
    signals = Signals(
        recency=recency(days_before(moments, to_micros(asked_at))),
        temporal=_temporal(starts, ends, window),
    )
    return Boosted(logits, signals, final_score(logits, signals))


def unboosted(logits: FloatArray) -> Boosted:
    """Reranked units in the reranker's own order."""
    neutral = np.full(len(logits), NEUTRAL)
    return Boosted(logits, Signals(neutral, neutral, neutral), logits.astype(np.float64))


def _temporal(starts: IntArray, ends: IntArray, window: Interval | None) -> Float64Array:
    """Proximity of each unit's middle to the window's; neutral for undated units and timeless questions."""
    if window is None:
        return np.full(len(starts), NEUTRAL)
    centre = to_micros(window.midpoint)
    middles = np.where(starts == UNDATED, np.nan, (starts // 2 + ends // 2 - centre) / DAY)
    return temporal_proximity(middles, (to_micros(window.end) - to_micros(window.start)) / DAY)
