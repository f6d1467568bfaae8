"""Reciprocal rank fusion: worked examples of the recall docs and the reference, and symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.indexes.hybrid import RRF_K, reciprocal_rank_fusion
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.trace import Channel

CHANNELS = list(Channel)
RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=15), min_size=4, max_size=4)


def at_rank(rank: int, unit: int = 7) -> IntArray:
    """Build a list with `unit` at `rank`, after units that are in no other list."""
    return np.array([1000 * rank + place for place in range(1, rank)] + [unit], np.int64)


def fuse(*lists: list[int] | IntArray) -> dict[int, float]:
    given_lists = {channel: np.asarray(ids, np.int64) for channel, ids in zip(CHANNELS, lists, strict=False)}
    ids, scores = reciprocal_rank_fusion(given_lists)
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


def test_docs_example_first_and_fifth() -> None:
    """Recall docs, stage 1: rank 1 in semantic and 5 in BM25 give 0.0318, ahead of rank 1 alone."""
    scores = fuse(at_rank(1), at_rank(5))
    assert scores[7] == pytest.approx(1 / 61 + 1 / 65)
    assert round(scores[7], 4) == 0.0318
    assert scores[7] > fuse(at_rank(1))[7] == pytest.approx(0.0164, abs=5e-5)


def test_reference_example_four_channels() -> None:
    """Reference, "Example Calculation": ranks 2, 1, 2, 3 give 0.0645."""
    score = fuse(at_rank(2), at_rank(1), at_rank(2), at_rank(3))[7]
    assert score == pytest.approx(1 / 62 + 1 / 61 + 1 / 62 + 1 / 63)
    assert round(score, 4) == 0.0645


def test_equal_sums_go_to_the_better_single_rank() -> None:
    """1/63 + 1/84 equals 1/72 + 1/72: the unit with the better single rank comes first, despite rounding."""
    lists = [[0] * 24, [0] * 12]
    lists[0] = [*range(100, 102), 9, *range(103, 111), 5]  # unit 9 third, unit 5 twelfth
    lists[1] = [*range(200, 211), 5, *range(212, 223), 9]  # unit 5 twelfth, unit 9 twenty-fourth
    order = [unit for unit in fuse(*lists) if unit in {5, 9}]
    assert order == [9, 5]


def test_full_ties_go_to_the_lower_id() -> None:
    """Fully tied units have a stable order."""
    assert list(fuse([8, 3], [3, 8])) == [3, 8]


def test_a_repeat_in_one_list_counts_once_at_its_best_rank() -> None:
    """A repeated unit in one list counts once, at its best rank."""
    assert fuse([7, 8, 7])[7] == pytest.approx(1 / (RRF_K + 1))


def test_nothing_in_nothing_out() -> None:
    """No results in any channel give an empty ranking."""
    for lists in ({}, {Channel.GRAPH: np.empty(0, np.int64)}):
        ids, scores = reciprocal_rank_fusion(lists)
        assert (len(ids), len(scores), ids.dtype) == (0, 0, np.dtype(np.int64))


@settings(max_examples=40, deadline=None)
@given(lists=RANKINGS, data=st.data())
def test_channels_are_equals(lists: list[list[int]], data: st.DataObject) -> None:
    """Neither the order of channels nor which channel has which list changes the ranking."""
    shuffled = data.draw(st.permutations(lists))
    one, other = fuse(*lists), fuse(*shuffled)
    assert list(one.items()) == list(other.items())


@settings(max_examples=40, deadline=None)
@given(lists=RANKINGS)
def test_scores_are_the_sum_of_equation_15(lists: list[list[int]]) -> None:
    """Every unit of any channel is listed once with its score by eq. 15, best first."""
    fused = fuse(*lists)
    expected: dict[int, float] = {}
    for ranking in lists:
        for rank, unit in enumerate(ranking, start=1):
            expected[unit] = expected.get(unit, 0.0) + 1 / (60 + rank)
    assert fused == pytest.approx(expected)
    scores = list(fused.values())
    assert bool(np.all(np.diff(scores) <= 1e-15))


@settings(max_examples=40, deadline=None)
@given(lists=RANKINGS, unit=st.integers(0, 30))
def test_a_vote_more_never_hurts(lists: list[list[int]], unit: int) -> None:
    """A unit found by one more channel scores higher."""
    if unit in lists[3]:
        lists[3].remove(unit)
    before = fuse(*lists).get(unit, 0.0)
    assert fuse(*lists[:3], [*lists[3], unit])[unit] > before
