"""The final score of a reranked unit: the cross-encoder's logit nudged by recency, time and proof.

Every function takes floats or arrays and gives float64 of the same shape. Without a reranker none of this applies:
the fused order stands (design section 6, "final score").
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from hindsight_integrations.model.time import DAY, Interval, to_micros
from hindsight_integrations.ports.arrays import UNDATED, Float64Array, IntArray
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.temporal import event_moments

RECENCY_ALPHA = 0.2  # +-10 % [recall docs, stage 3]
TEMPORAL_ALPHA = 0.2  # +-10 % [recall docs, stage 3]
PROOF_ALPHA = 0.1  # +-5 % [recall docs, stage 3]
NEUTRAL = 0.5  # a signal that moves nothing [recall docs, stage 3]
RECENCY_DAYS = 365.0  # [recall docs, "Recency signal"]
RECENCY_FLOOR = 0.1  # [recall docs, "Recency signal"]
PROOF_DIVISOR = 10.0  # [recall docs, "Proof count signal"]


class Boosts(StrEnum):
    """How boosts meet the cross-encoder's answer.

    LOG_ODDS adds their logarithms to the raw logit. PRODUCT is the docs' literal product with the sigmoid, which
    saturates: it costs 14 to 31 points where measured, and is here for their worked examples (design section 6).
    """

    LOG_ODDS = "log_odds"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Signals:
    """The three signals of some units, each in [0, 1], floats or arrays of one shape; 0.5 is neutral."""

    recency: npt.ArrayLike = NEUTRAL
    temporal: npt.ArrayLike = NEUTRAL
    proof: npt.ArrayLike = NEUTRAL

    def at(self, positions: IntArray) -> Signals:
        """The signals of the units at these positions of three arrays, in their order."""
        return Signals(
            np.asarray(self.recency)[positions],
            np.asarray(self.temporal)[positions],
            np.asarray(self.proof)[positions],
        )


def neutral(count: int) -> Signals:
    """Signals that move none of so many units."""
    signal = np.full(count, NEUTRAL)
    return Signals(signal, signal, signal)


def sigmoid(logit: npt.ArrayLike) -> Float64Array:
    """1 / (1 + e^-x), in [0, 1], without overflow for any finite x (recall docs, stage 2)."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))


def days_before(moments: IntArray, query_time: int) -> Float64Array:
    """Days from each moment to the query's time, (n,), both in microseconds; NaN for UNDATED, negative after it."""
    dated = moments != UNDATED
    gaps = query_time - np.where(dated, moments, query_time)
    return np.where(dated, gaps / DAY, np.nan)


def recency(days_ago: npt.ArrayLike) -> Float64Array:
    """clamp(1 - days / 365, 0.1, 1); 1 in the future, 0.5 for NaN (undated) (recall docs, "Recency signal").

    Args:
        days_ago: days before the query's time, which is not the machine's.
    """
    days = np.asarray(days_ago, np.float64)
    return np.where(np.isnan(days), NEUTRAL, np.clip(1.0 - days / RECENCY_DAYS, RECENCY_FLOOR, 1.0))


def temporal_proximity(days_from_center: npt.ArrayLike, window_days: float | None) -> Float64Array:
    """1 - min(d / (window / 2), 1): 1 at the window's centre, 0 from its edge on (recall docs, "Temporal proximity").

    Args:
        days_from_center: distance of a unit's date from the window's centre, either sign; NaN if undated, giving 0.5.
        window_days: length of the window in days, > 0; None if the query names no time, giving 0.5.
    """
    days = np.abs(np.asarray(days_from_center, np.float64))
    if window_days is None:
        return np.full_like(days, NEUTRAL)
    return np.where(np.isnan(days), NEUTRAL, 1.0 - np.minimum(days / (window_days / 2.0), 1.0))


def proof(count: npt.ArrayLike) -> Float64Array:
    """clamp(0.5 + ln(n) / 10, 0, 1) (recall docs, "Proof count signal").

    Args:
        count: how many units an observation stands on; 0 for a unit that is no observation, giving 0.5.
    """
    evidence = np.maximum(np.asarray(count, np.float64), 1.0)
    return np.clip(NEUTRAL + np.log(evidence) / PROOF_DIVISOR, 0.0, 1.0)


def boost(signal: npt.ArrayLike, alpha: float) -> Float64Array:
    """1 + alpha * (signal - 0.5), in [1 - alpha / 2, 1 + alpha / 2] (recall docs, stage 3)."""
    return 1.0 + alpha * (np.asarray(signal, np.float64) - NEUTRAL)


def combined_boost(signals: Signals) -> Float64Array:
    """The product of the three boosts, 0.77 to 1.27 (recall docs, "Maximum combined range")."""
    when = boost(signals.recency, RECENCY_ALPHA) * boost(signals.temporal, TEMPORAL_ALPHA)
    return np.asarray(when * boost(signals.proof, PROOF_ALPHA))


def final_score(logit: npt.ArrayLike, signals: Signals, boosts: Boosts = Boosts.LOG_ODDS) -> Float64Array:
    """The score units are sorted by (design section 6, "final score").

    Args:
        logit: raw cross-encoder output.
        signals: recency, temporal proximity and proof.
        boosts: LOG_ODDS gives logit + ln(recency boost) + ln(temporal boost) + ln(proof boost), any real number;
            PRODUCT gives sigmoid(logit) times the boosts, in [0, 1.27].
    """
    factor = combined_boost(signals)
    if boosts is Boosts.PRODUCT:
        return np.asarray(sigmoid(logit) * factor)
    return np.asarray(np.asarray(logit, np.float64) + np.log(factor))


def signals_of(ids: IntArray, columns: Columns, *, window: Interval | None, query_time: datetime) -> Signals:
    """Recency and temporal proximity of units; no unit has a proof count yet.

    Args:
        ids: row ids of the units, (n,).
        columns: where their times are.
        window: the time the question names, if any.
        query_time: from which recency counts.
    """
    at = columns.positions(ids)
    starts, ends, mentioned = columns.starts[at], columns.ends[at], columns.mentioned[at]
    return Signals(
        recency=recency(days_before(event_moments(starts, mentioned), to_micros(query_time))),
        temporal=_temporal(starts, ends, window),
        proof=np.full(len(ids), NEUTRAL),
    )


def _temporal(starts: IntArray, ends: IntArray, window: Interval | None) -> Float64Array:
    """Proximity of each unit's middle to the window's; neutral for undated units and timeless questions."""
    if window is None:
        return np.full(len(starts), NEUTRAL)
    centre = to_micros(window.midpoint)
    middles = np.where(starts == UNDATED, np.nan, (starts // 2 + ends // 2 - centre) / DAY)
    return temporal_proximity(middles, (to_micros(window.end) - to_micros(window.start)) / DAY)
