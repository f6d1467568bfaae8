"""The final score: tables of the recall docs, and properties of the boosts."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.indexes.temporal import event_moments
from hindsight_integrations.model.arrays import UNDATED, Float64Array, IntArray
from hindsight_integrations.model.time import Interval, from_micros, to_micros
from hindsight_integrations.recall.rerank import (
    PROOF_ALPHA,
    RECENCY_ALPHA,
    TEMPORAL_ALPHA,
    boost,
    days_before,
    final_score,
    proof,
    recency,
    sigmoid,
    temporal_signal,
)

SIGNAL = st.floats(0.0, 1.0)
LOGIT = st.floats(-15.0, 15.0)
DAY = 86_400_000_000
NOW = 1_700_000_000_000_000
SIXTY_DAYS = Interval(from_micros(NOW - 30 * DAY), from_micros(NOW + 30 * DAY))


def boosts(recency_signal: Any, temporal: Any, proof_signal: Any) -> tuple[Float64Array, ...]:
    alphas = (RECENCY_ALPHA, TEMPORAL_ALPHA, PROOF_ALPHA)
    return tuple(map(boost, (recency_signal, temporal, proof_signal), alphas))


def around(*days: float) -> tuple[IntArray, IntArray]:
    """Spans of two hours around moments a number of days from the centre of SIXTY_DAYS."""
    centres = np.array([NOW + round(day * DAY) for day in days], np.int64)
    return centres - DAY // 24, centres + DAY // 24


@every_row(("count", "norm", "percent"), [(1, 0.5, 0.0), (3, 0.61, 1.1), (10, 0.73, 2.3), (150, 1.0, 5.0)])
def test_docs_proof_table(count: int, norm: float, percent: float) -> None:
    """Recall docs, "Proof count signal": 1, 3, 10 and 150 sources."""
    assert float(proof(count)) == pytest.approx(norm, abs=0.005)
    assert (float(boost(proof(count), PROOF_ALPHA)) - 1) * 100 == pytest.approx(percent, abs=0.06)


def test_proof_is_neutral_for_what_is_no_observation_and_saturates() -> None:
    """Proof is neutral without sources, and saturates."""
    assert proof(np.array([0, 1, 1000])).tolist() == [0.5, 0.5, 1.0]


@every_row(("days", "signal"), [(0, 1.0), (182.5, 0.5), (365, 0.1), (4000, 0.1), (-30, 1.0), (math.nan, 0.5)])
def test_docs_recency(days: float, signal: float) -> None:
    """Recall docs, "Recency signal": today, half a year, a year and more ago; the future counts as today."""
    assert float(recency(days)) == pytest.approx(signal)


def test_docs_recency_boosts() -> None:
    """Today is worth +10 %, more than a year ago -8 %, an unknown date nothing."""
    boosts = boost(recency(np.array([0.0, 400.0, np.nan])), RECENCY_ALPHA)
    assert boosts.tolist() == pytest.approx([1.10, 0.92, 1.0])


def test_recency_counts_from_the_questions_time() -> None:
    """Recency counts from the question's time."""
    moments = np.array([NOW - 73 * DAY, NOW, NOW + DAY, UNDATED])
    days = days_before(moments, NOW)
    assert days[:3].tolist() == [73.0, 0.0, -1.0]
    assert math.isnan(days[3])
    assert recency(days).tolist() == pytest.approx([0.8, 1.0, 1.0, 0.5])


def test_what_happened_dates_a_unit_before_what_was_said() -> None:
    """The event time takes precedence over the time of mention."""
    assert event_moments(np.array([5, UNDATED]), np.array([9, 9])).tolist() == [5, 9]


def test_docs_temporal_proximity() -> None:
    """Recall docs, a window of 60 days: 1 at its centre, 0 at its edge and beyond, 0.5 without a date."""
    starts, ends = (np.append(side, UNDATED) for side in around(0.0, 15.0, -15.0, 30.0, 90.0))
    signal = temporal_signal(starts, ends, SIXTY_DAYS)
    assert signal.tolist() == pytest.approx([1.0, 0.5, 0.5, 0.0, 0.0, 0.5])


def test_a_question_without_time_leaves_time_alone() -> None:
    """Without a window the temporal boost is neutral."""
    assert temporal_signal(*around(0.0, 400.0), None).tolist() == [0.5, 0.5]


def test_docs_maximum_combined_range() -> None:
    """Recall docs: all boosts together are worth +27 % or -23 % at most."""
    best, worst = (float(math.prod(boosts(signal, signal, signal))) for signal in (1.0, 0.0))
    assert (best, worst) == pytest.approx((1.10 * 1.10 * 1.05, 0.90 * 0.90 * 0.95))
    assert [round((score - 1) * 100) for score in (best, worst)] == [27, -23]


def test_log_odds_adds_the_logarithms_of_the_boosts() -> None:
    """logit + ln(recency boost) + ln(temporal boost) + ln(proof boost)."""
    score = final_score(2.0, *boosts(1.0, 0.0, 1.0))
    assert float(score) == pytest.approx(2.0 + math.log(1.1) + math.log(0.9) + math.log(1.05))


def test_sure_answers_stay_apart_where_the_sigmoid_saturates() -> None:
    """Logits of 9 and 11 are both about 1.0 after the sigmoid: in the docs' product an old date reverses them, in log-odds it does not."""
    old = boost(np.array([1.0, 0.1]), RECENCY_ALPHA)
    logits = np.array([9.0, 11.0])
    product, log_odds = sigmoid(logits) * old, final_score(logits, old)
    assert product[0] > product[1]
    assert log_odds[0] < log_odds[1]


def test_sigmoid_survives_extreme_logits() -> None:
    """No warning, no infinity, whatever a cross-encoder answers."""
    with np.errstate(all="raise", under="ignore"):
        assert sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]


def test_floats_and_arrays_agree() -> None:
    """Scalars and arrays give the same scores."""
    together = final_score(np.array([1.0, -2.0]), *boosts(np.array([0.9, 0.2]), 0.5, np.array([0.5, 0.7])))
    alone = final_score(1.0, *boosts(0.9, 0.5, 0.5)), final_score(-2.0, *boosts(0.2, 0.5, 0.7))
    assert together.tolist() == [float(score) for score in alone]


@given(logit=LOGIT, recency_signal=SIGNAL, temporal=SIGNAL, proof_signal=SIGNAL)
def test_neutral_signals_move_nothing_and_others_little(
    logit: float, recency_signal: float, temporal: float, proof_signal: float
) -> None:
    """The effect on a log-odds score is within ln 0.77 and ln 1.27, and zero at 0.5."""
    assert float(final_score(logit, *boosts(0.5, 0.5, 0.5))) == logit == float(final_score(logit))
    moved = float(final_score(logit, *boosts(recency_signal, temporal, proof_signal))) - logit
    assert math.log(0.90 * 0.90 * 0.95) - 1e-9 <= moved <= math.log(1.10 * 1.10 * 1.05) + 1e-9


@given(logit=LOGIT, more=st.floats(0.01, 5.0), signal=SIGNAL, rise=st.floats(0.01, 1.0))
def test_score_rises_with_relevance_and_with_each_signal(
    logit: float, more: float, signal: float, rise: float
) -> None:
    """The score rises with relevance and with each signal."""
    base = float(final_score(logit, *boosts(signal, signal, signal)))
    assert float(final_score(logit + more, *boosts(signal, signal, signal))) > base
    higher = min(1.0, signal + rise)
    for signals in ((higher, signal, signal), (signal, higher, signal), (signal, signal, higher)):
        assert float(final_score(logit, *boosts(*signals))) >= base


@given(first=st.floats(0.0, 2000.0), later=st.floats(0.0, 2000.0))
def test_signals_stay_in_their_range_and_fall_with_distance(first: float, later: float) -> None:
    """A nearer time never has a lower value, and no signal leaves [0, 1]."""
    near, far = sorted((first, later))
    assert 0.1 <= float(recency(far)) <= float(recency(near)) <= 1.0
    close, distant = temporal_signal(*around(near, far), SIXTY_DAYS).tolist()
    assert 0.0 <= distant <= close <= 1.0
    assert 0.0 <= float(proof(near)) <= float(proof(far)) <= 1.0


def test_alphas_are_the_docs() -> None:
    """Recall docs, stage 3: recency and time may change a score by 10 %, proof by 5 %."""
    extremes = [float(boost(1.0, alpha)) for alpha in (RECENCY_ALPHA, TEMPORAL_ALPHA, PROOF_ALPHA)]
    assert extremes == pytest.approx([1.10, 1.10, 1.05])


def test_microseconds_of_model_time_are_what_days_before_expects() -> None:
    """Columns written with `to_micros` read back as days."""
    query_time, happened = datetime(2024, 3, 2, tzinfo=UTC), datetime(2024, 2, 28, 12, tzinfo=UTC)
    assert days_before(np.array([to_micros(happened)]), to_micros(query_time)).tolist() == [2.5]
