"""Relevance smoothed over neighbouring turns: formula, order, boundaries."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.indexes.columns import Columns, empty_columns, updated
from hindsight_integrations.ledger.values import UnitColumns
from hindsight_integrations.model.arrays import NEVER, UNDATED, IntArray
from hindsight_integrations.recall.rerank import (
    BELOW_BEFORE,
    SAME_SESSION,
    smoothed_logits,
    smoothed_scores,
    turn_order,
)

MINUTE = 60_000_000  # microseconds


def conversation(*messages: tuple[str, str, int]) -> Columns:
    """Build units 1, 2, ... from (thread, speaker, minute); without a speaker the unit is not a turn."""
    size = len(messages)

    def column(value: int) -> IntArray:
        return np.full(size, value, np.int64)

    mentioned = np.array([minute * MINUTE for *_, minute in messages], np.int64)
    numbers = (
        column(0),
        column(UNDATED),
        column(UNDATED),
        mentioned,
        column(NEVER),
        column(1),
        column(1),
        column(0),
        column(0),
    )
    turns = [(thread, speaker) if speaker else ("", "") for thread, speaker, _ in messages]
    rows = UnitColumns(
        np.arange(1, size + 1, dtype=np.int64), *numbers, tags=[()] * size, turns=turns, metadata=[""] * size
    )
    return updated(empty_columns(), rows, np.empty(0, np.int64))


def after_smoothing(columns: Columns, scores: dict[int, float]) -> dict[int, float]:
    ids, fused = np.array(list(scores), np.int64), np.array(list(scores.values()))
    order = turn_order(columns, np.ones(len(columns), bool), ids)
    found, total = smoothed_scores(ids, fused, columns, order) if order else (ids, fused)
    return dict(zip(found.tolist(), total.tolist(), strict=True))


CHAT = conversation(*(("t", "Ann" if n % 2 else "Bob", n) for n in range(5)))


def test_a_turn_takes_of_both_sides_by_distance() -> None:
    """f' = f + 0.3 and 0.1 of the turns one and two before, 0.2 and 0.1 of those after; all five turns are returned."""
    assert after_smoothing(CHAT, {3: 1.0}) == pytest.approx({3: 1.0, 4: 0.3, 2: 0.2, 1: 0.1, 5: 0.1})


def test_no_turn_overtakes_a_better_neighbour() -> None:
    """Two high neighbours lift a turn to just behind them, never above."""
    found = after_smoothing(CHAT, {2: 1.0, 3: 0.95, 4: 0.97})
    assert list(found)[:3] == [2, 4, 3]
    assert found[3] < found[4] < found[2]


def test_nothing_is_smoothed_across_conversations_or_sessions() -> None:
    """Another thread, or an hour of silence, ends the neighbourhood."""
    apart = conversation(("t", "Ann", 0), ("u", "Bob", 1), ("t", "Bob", 1 + SAME_SESSION // MINUTE))
    assert after_smoothing(apart, {1: 1.0}) == {1: 1.0}


def test_facts_are_no_neighbours() -> None:
    """Units that are not one verbatim message neither give nor take relevance, in any order."""
    mixed = conversation(("t", "Ann", 0), ("t", "", 0), ("t", "Bob", 1))
    assert after_smoothing(mixed, {1: 1.0, 2: 0.5}) == pytest.approx({1: 1.0, 2: 0.5, 3: 0.3})
    assert after_smoothing(mixed, {2: 0.5}) == {2: 0.5}


def test_a_turn_that_may_not_be_returned_is_passed_over() -> None:
    """A closed or filtered turn is not returned and does not separate its neighbours."""
    order = turn_order(CHAT, np.array([True, False, True, True, True]), np.array([1]))
    assert order is not None
    ids, _ = smoothed_scores(np.array([1]), np.array([1.0]), CHAT, order)
    assert ids.tolist() == [1, 3, 4]


@given(
    st.dictionaries(st.integers(1, 12), st.floats(0.001, 0.1), min_size=1),
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
)
def test_smoothing_only_raises_and_keeps_better_neighbours_ahead(
    scores: dict[int, float], threads: list[int]
) -> None:
    """Scores never fall, nothing is lost, and of two neighbours the better one stays ahead."""
    chat = conversation(*((f"t{thread}", "Ann", n) for n, thread in enumerate(threads)))
    found = after_smoothing(chat, scores)
    assert all(found[row] >= score for row, score in scores.items())
    for thread in (0, 1):
        rows = [n + 1 for n, own in enumerate(threads) if own == thread]
        for one, other in pairwise(rows):
            if scores.get(one, 0.0) > scores.get(other, 0.0):
                assert found[one] > found[other]


def test_an_answer_inherits_the_logit_of_its_question() -> None:
    """A turn after a highly scored question gets its logit minus 1, the next one minus 3."""
    rows = np.array([1, 2, 3])
    order = turn_order(CHAT, np.ones(len(CHAT), bool), rows)
    assert order is not None
    logits = smoothed_logits(rows, np.array([4.0, -9.0, -9.0], np.float32), CHAT, order)
    assert logits.tolist() == [4.0, 4.0 - BELOW_BEFORE[0], 4.0 - BELOW_BEFORE[1]]
