"""Boosts of a reranked unit's score: recency, the question's time and proof (recall docs, "Stage 3: Combined Scoring (Boosts)").

Every formula takes floats or arrays and gives float64 of the same shape. Without a reranker none of this applies: the
fused order stands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from hindsight_integrations.model.time import DAY, Interval, to_micros
from hindsight_integrations.ports.arrays import UNDATED, Float64Array, IntArray
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.temporal import event_moments, proximity

RECENCY_ALPHA = 0.2  # +-10 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
TEMPORAL_ALPHA = 0.2  # +-10 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
PROOF_ALPHA = 0.1  # +-5 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
NEUTRAL = 0.5  # a signal that moves nothing [recall docs, "Stage 3: Combined Scoring (Boosts)"]
RECENCY_DAYS = 365.0  # [recall docs, "Recency signal"]
RECENCY_FLOOR = 0.1  # [recall docs, "Recency signal"]
PROOF_DIVISOR = 10.0  # [recall docs, "Proof count signal"]


def _no_factors() -> Float64Array:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class Boosts:
    """What some units' scores are multiplied by, each (n,).

    Attributes:
        recency: in [0.92, 1.1]; 1 for what has no date.
        temporal: in [0.9, 1.1]; 1 for what has no date, and for a question without a time.
        proof: in [1, 1.05]; 1 for what was not made from several facts.
    """

    recency: Float64Array = field(default_factory=_no_factors)
    temporal: Float64Array = field(default_factory=_no_factors)
    proof: Float64Array = field(default_factory=_no_factors)

    def at(self, positions: IntArray) -> Boosts:
        """Those of the units at these positions, in their order."""
        return Boosts(self.recency[positions], self.temporal[positions], self.proof[positions])


def no_boosts(count: int) -> Boosts:
    """Boosts that move none of so many units."""
    return Boosts(np.ones(count), np.ones(count), np.ones(count))


def boosts_of(
    ids: IntArray, columns: Columns, *, window: Interval | None, query_time: datetime, counts: IntArray
) -> Boosts:
    """Boosts of units by their times, and by what they stand on.

    Args:
        ids: row ids of the units, (n,).
        columns: where their times are.
        window: the time the question names, if any.
        query_time: from which recency counts; not the machine's time.
        counts: how many facts each was made from, (n,).
    """
    at = columns.positions(ids)
    starts, ends = columns.starts[at], columns.ends[at]
    moments = event_moments(starts, columns.mentioned[at])
    return Boosts(
        recency=boost(recency(days_before(moments, to_micros(query_time))), RECENCY_ALPHA),
        temporal=boost(temporal_signal(starts, ends, window), TEMPORAL_ALPHA),
        proof=boost(proof(counts), PROOF_ALPHA),
    )


def sigmoid(logit: npt.ArrayLike) -> Float64Array:
    """1 / (1 + e^-x), in [0, 1], without overflow for any finite x (recall docs, "Stage 2: Cross-Encoder Reranking")."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))


def days_before(moments: IntArray, query_time: int) -> Float64Array:
    """Days from each moment to the query's time, (n,), both in microseconds; NaN for UNDATED, negative after it."""
    dated = moments != UNDATED
    gaps = query_time - np.where(dated, moments, query_time)
    return np.where(dated, gaps / DAY, np.nan)


def recency(days_ago: npt.ArrayLike) -> Float64Array:
    """clamp(1 - days / 365, 0.1, 1); 1 in the future, 0.5 for NaN (undated) (recall docs, "Recency signal").

    Args:
        days_ago: days before the query's time.
    """
    days = np.asarray(days_ago, np.float64)
    return np.where(np.isnan(days), NEUTRAL, np.clip(1.0 - days / RECENCY_DAYS, RECENCY_FLOOR, 1.0))


def temporal_signal(starts: IntArray, ends: IntArray, window: Interval | None) -> Float64Array:
    """Proximity to the window's centre, 0.5 for UNDATED spans or without a window (recall docs, "Temporal proximity signal").

    Args:
        starts: span starts in microseconds, (n,).
        ends: span ends, exclusive, (n,).
        window: the time the question names, if any.
    """
    if window is None:
        return np.full(len(starts), NEUTRAL)
    return np.where(starts == UNDATED, NEUTRAL, proximity(starts, ends, window))


def proof(count: npt.ArrayLike) -> Float64Array:
    """clamp(0.5 + ln(n) / 10, 0, 1) (recall docs, "Proof count signal").

    Args:
        count: how many units an observation stands on; 0 for a unit that is no observation, giving 0.5.
    """
    evidence = np.maximum(np.asarray(count, np.float64), 1.0)
    return np.clip(NEUTRAL + np.log(evidence) / PROOF_DIVISOR, 0.0, 1.0)


def boost(signal: npt.ArrayLike, alpha: float) -> Float64Array:
    """1 + alpha * (signal - 0.5), in [1 - alpha / 2, 1 + alpha / 2] (recall docs, "Stage 3: Combined Scoring (Boosts)")."""
    return 1.0 + alpha * (np.asarray(signal, np.float64) - NEUTRAL)


def final_score(logit: npt.ArrayLike, *boosts: npt.ArrayLike) -> Float64Array:
    """The score units are sorted by: logit + ln(boost) + ..., log-odds, any real number.

    The docs' own product (`docs_score`) saturates with the sigmoid, so that sure answers are ordered by their boosts: it
    cost 14 to 31 points of evidence where measured on LoCoMo.

    Args:
        logit: raw cross-encoder output.
        *boosts: factors > 0, as `boost` gives them.
    """
    return np.asarray(logit, np.float64) + np.log(math.prod(map(np.asarray, boosts)))


def docs_score(logit: npt.ArrayLike, *boosts: npt.ArrayLike) -> Float64Array:
    """sigmoid(logit) * boost * ..., the docs' literal final score (recall docs, "Stage 3: Combined Scoring (Boosts)").

    Recall sorts by `final_score`; this is what the docs' worked examples are about.

    Args:
        logit: raw cross-encoder output.
        *boosts: factors > 0, as `boost` gives them.
    """
    return np.asarray(sigmoid(logit) * math.prod(map(np.asarray, boosts)))
