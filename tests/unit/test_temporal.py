"""The temporal channel: which units are in the window, and their proximity to its middle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.indexes.temporal import overlaps, proximity, temporal_hits, temporal_score
from hindsight_integrations.model.arrays import UNDATED, IntArray
from hindsight_integrations.model.time import Interval, from_micros, to_micros

JUNE = Interval(datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))
ASKED = Interval(from_micros(1_000), from_micros(2_000))
MOMENT = st.integers(0, 3_000)


def micros(*days: str) -> IntArray:
    return np.array([to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC)) for day in days], np.int64)


def test_equation_13_takes_what_shares_an_instant() -> None:
    """Eq. 13: a trip from May into June is in June; one that ended when June began, or starts on 1 July, is not."""
    starts = micros("2024-05-20", "2024-05-01", "2024-06-10", "2024-07-01", "2024-01-01")
    ends = micros("2024-06-02", "2024-06-01", "2024-06-11", "2024-07-02", "2025-01-01")
    assert overlaps(starts, ends, JUNE).tolist() == [True, False, True, False, True]


def test_undated_units_overlap_nothing_and_have_no_proximity() -> None:
    """Undated units do not overlap any window."""
    nothing = np.array([UNDATED])
    everything = Interval(datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
    assert overlaps(nothing, nothing, everything).tolist() == [False]
    assert proximity(nothing, nothing, everything).tolist() == [0.0]


def test_equation_14_at_the_middle_the_quarter_and_the_edge() -> None:
    """1 at the middle of the window, 0.5 a quarter of the window away, 0 at half of it and beyond."""
    starts = np.array([1_490, 1_740, 1_990, 4_000])
    assert proximity(starts, starts + 20, ASKED).tolist() == [1.0, 0.5, 0.0, 0.0]


def test_inside_the_window_nothing_scores_below_half() -> None:
    """Inside the window the score is at least 0.5."""
    starts = micros("2024-06-16", "2024-06-30", "2024-07-02")
    scores = temporal_score(starts, starts + to_micros(datetime(1970, 1, 2, tzinfo=UTC)), JUNE)
    assert scores[0] == pytest.approx(1.0, abs=0.05)
    assert scores.tolist()[1:] == [0.5, 0.0]


def test_mentions_follow_what_happened() -> None:
    """Undated units mentioned in June come after everything that happened in June."""
    ids = np.array([1, 2, 3, 4])
    starts = np.concatenate([[UNDATED, UNDATED], micros("2024-06-30", "2024-05-01")])
    ends = np.concatenate([[UNDATED, UNDATED], micros("2024-07-01", "2024-05-02")])
    mentioned = micros("2024-06-16", "2024-08-01", "2024-08-01", "2024-06-16")
    hits = temporal_hits(ids, starts, ends, mentioned, window=JUNE)
    assert hits.ids.tolist() == [3, 1, 4]
    assert hits.scores.tolist() == pytest.approx([0.5, 0.5, 0.5], abs=0.02)


def test_equally_near_units_are_ordered_by_id() -> None:
    """Equally near units are ordered by id."""
    ids, starts = np.array([9, 3, 5]), np.array([1_400, 1_400, 1_580])
    hits = temporal_hits(ids, starts, starts + 20, starts, window=ASKED)
    assert hits.ids.tolist() == [3, 5, 9]
    assert len(set(hits.scores.tolist())) == 1


def test_no_units_no_hits() -> None:
    """An empty bank gives no hits."""
    none = np.empty(0, np.int64)
    assert len(temporal_hits(none, none, none, none, window=JUNE)) == 0


@given(start=MOMENT, length=st.integers(1, 1_000))
def test_the_mask_is_interval_overlap(start: int, length: int) -> None:
    """The mask equals `Interval.overlaps` for each unit."""
    span = Interval(from_micros(start), from_micros(start + length))
    assert overlaps(np.array([start]), np.array([start + length]), ASKED).tolist() == [span.overlaps(ASKED)]


@given(start=MOMENT, length=st.integers(1, 1_000))
def test_scores_stay_in_range_and_mirror(start: int, length: int) -> None:
    """Scores are in [0, 1], at least 0.5 inside, and equal at equal distances before and after the middle."""
    starts, ends = np.array([start, 3_000 - start - length]), np.array([start + length, 3_000 - start])
    scores = temporal_score(starts, ends, ASKED)
    assert 0.0 <= scores[0] == scores[1] <= 1.0
    assert scores[0] >= 0.5 * overlaps(starts, ends, ASKED)[0]


@given(spans=st.lists(st.tuples(st.booleans(), MOMENT, MOMENT), max_size=12))
def test_occurrence_matches_always_come_first(spans: list[tuple[bool, int, int]]) -> None:
    """No mention outranks an occurrence, scores do not increase down the list, and only the window's units are in it."""
    starts = np.array([start if dated else UNDATED for dated, start, _ in spans], np.int64)
    ends = np.where(starts == UNDATED, UNDATED, starts + 10)
    mentioned = np.array([moment for _, _, moment in spans], np.int64)
    hits = temporal_hits(np.arange(len(spans)), starts, ends, mentioned, window=ASKED)
    happened = {
        n for n, (dated, start, _) in enumerate(spans) if dated and start < 2_000 and start + 10 > 1_000
    }
    mentions = {n for n, (_, _, moment) in enumerate(spans) if 1_000 <= moment < 2_000}
    order = [unit not in happened for unit in hits.ids.tolist()]
    assert order == sorted(order)
    assert np.all(np.diff(hits.scores) <= 0)
    assert set(hits.ids.tolist()) == happened | mentions


def test_a_window_of_one_second_still_scores() -> None:
    """A one-second window does not divide by zero."""
    second = Interval(JUNE.start, JUNE.start + timedelta(seconds=1))
    starts = micros("2024-06-01")
    assert temporal_score(starts, starts + 1_000_000, second).tolist() == [1.0]
