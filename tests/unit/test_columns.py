"""Columns: snapshots follow the ledger, and masks select by the filters."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.indexes.columns import (
    ARRAYS,
    Columns,
    empty_columns,
    found_types,
    memories_and_items,
    of_types,
    points_in_time,
    tagged,
    tags_select,
    updated,
    valid_at,
)
from hindsight_integrations.indexes.projection import GrowingColumns
from hindsight_integrations.ledger.values import UnitColumns
from hindsight_integrations.model.arrays import IN_DOCUMENT, NEVER, STORED, UNDATED, WAITING, IntArray
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import FactType

DAY = datetime(2024, 1, 2, tzinfo=UTC)


def rows(*ids: int, kind: int = 0, closed: int = NEVER, tags: tuple[str, ...] = ()) -> UnitColumns:
    size = len(ids)

    def full(value: int) -> IntArray:
        return np.full(size, value, np.int64)

    return UnitColumns(
        ids=np.array(ids, np.int64),
        types=full(kind),
        starts=full(UNDATED),
        ends=full(UNDATED),
        mentioned=full(to_micros(DAY)),
        closed=full(closed),
        tokens=full(3),
        compact=full(3),
        heads=full(0),
        lasting=full(0),
        tags=[tags] * size,
        turns=[("", "")] * size,
        metadata=[""] * size,
    )


NONE = np.empty(0, np.int64)


def test_changes_replace_add_and_remove_rows() -> None:
    """A later snapshot has new rows, new values for old rows, and no removed ones, always in order of id."""
    first = updated(empty_columns(), rows(1, 2, 5), NONE)
    second = updated(first, rows(2, 9, closed=7), np.array([5], np.int64))
    assert second.ids.tolist() == [1, 2, 9]
    assert second.closed.tolist() == [NEVER, 7, 7]
    assert first.ids.tolist() == [1, 2, 5]
    assert updated(second, rows(), NONE) is second


@given(st.lists(st.lists(st.integers(1, 30), unique=True).map(sorted), max_size=6))
def test_positions_point_at_their_ids(batches: list[list[int]]) -> None:
    """Whatever the order of insertion, an id has its position, and an unknown id has -1."""
    columns = empty_columns()
    for batch in batches:
        columns = updated(columns, rows(*batch), NONE)
    wanted = np.arange(0, 35, dtype=np.int64)
    at = columns.positions(wanted)
    there = {number for batch in batches for number in batch}
    assert {int(i) for i in wanted[at >= 0]} == there
    assert (columns.ids[at[at >= 0]] == wanted[at >= 0]).all()


def test_validity_is_half_open() -> None:
    """A unit is valid from its mention until, and not at, the moment it is closed."""
    closing = datetime(2024, 1, 5, tzinfo=UTC)
    columns = updated(empty_columns(), rows(1, closed=to_micros(closing)), NONE)
    moments = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 4, 5)]
    assert [bool(valid_at(columns, moment)[0]) for moment in moments] == [False, True, True, False]
    assert not valid_at(columns, None)[0]


def test_gaps_follow_the_rows_they_belong_to() -> None:
    """A changed row replaces all its gaps, a removed row removes its own, and the others keep theirs."""

    def gaps(*spans: tuple[int, int, int]) -> IntArray:
        return np.array(spans, np.int64).reshape(-1, 3)

    first = updated(empty_columns(), replace(rows(1, 2, 5), gaps=gaps((1, 3, 4), (2, 3, 4), (5, 3, 4))), NONE)
    second = updated(first, replace(rows(2), gaps=gaps((2, 3, 4), (2, 6, 8))), np.array([5], np.int64))
    assert sorted(second.gaps.tolist()) == [[1, 3, 4], [2, 3, 4], [2, 6, 8]]
    assert updated(second, rows(2), NONE).gaps.tolist() == [[1, 3, 4]]


def test_a_restored_unit_was_not_valid_in_its_gap() -> None:
    """Closed on the 5th and restored on the 8th, it is valid until the 4th and from the 8th on; its neighbours always."""
    closing, back = (datetime(2024, 1, day, 12, tzinfo=UTC) for day in (5, 8))
    gap = np.array([[2, to_micros(closing), to_micros(back)]], np.int64)
    columns = updated(empty_columns(), replace(rows(1, 2, 3), gaps=gap), NONE)
    days = [datetime(2024, 1, day, 12, tzinfo=UTC) for day in range(3, 10)]
    assert [bool(valid_at(columns, day)[1]) for day in days] == [True, True, False, False, False, True, True]
    assert all(valid_at(columns, day)[[0, 2]].all() for day in days)
    assert valid_at(columns, None).all()


def test_masks_by_type_and_tag() -> None:
    """Types and tags select rows; with strict modes an unknown tag selects none."""
    columns = updated(empty_columns(), rows(1, kind=0, tags=("a",)), NONE)
    columns = updated(columns, rows(2, kind=1), NONE)
    assert of_types(columns, [FactType.EXPERIENCE]).tolist() == [False, True]
    assert tagged(columns, ["a"], TagsMatch.ANY_STRICT).tolist() == [True, False]
    assert tagged(columns, [], TagsMatch.EXACT).tolist() == [False, True]


@given(st.frozensets(st.sampled_from("abc")), st.frozensets(st.sampled_from("abc"), min_size=1))
def test_tag_modes_imply_each_other(own: frozenset[str], wanted: frozenset[str]) -> None:
    """exact implies all_strict implies any_strict implies any, for any tags."""
    exact, strict, some, loose = (
        tags_select(own, wanted, mode)
        for mode in (TagsMatch.EXACT, TagsMatch.ALL_STRICT, TagsMatch.ANY_STRICT, TagsMatch.ANY)
    )
    assert exact <= strict <= some <= loose
    assert tags_select(own, wanted, TagsMatch.ALL) == (strict or not own)


def test_a_point_in_time_is_the_middle_or_the_mention() -> None:
    """A unit with an interval is at its midpoint, an undated one at its mention."""
    points = points_in_time(np.array([10, UNDATED]), np.array([20, UNDATED]), np.array([1, 2]))
    assert points.tolist() == [15, 2]


changes_of_rows = st.tuples(
    st.lists(st.integers(1, 8), unique=True, max_size=3).map(sorted),  # changed if they exist
    st.integers(0, 3),  # added
    st.sampled_from([(), (), (1,), (4, 5)]),  # removed
    st.sampled_from([("a",), ("b",), ("a", "c")]),
    st.integers(0, 5),
)


@given(st.lists(changes_of_rows, max_size=12))
def test_columns_that_grow_are_those_made_again(
    history: list[tuple[list[int], int, tuple[int, ...], tuple[str, ...], int]],
) -> None:
    """A grown snapshot equals a rebuilt one, and earlier snapshots do not change."""
    growing, whole, last = GrowingColumns(), empty_columns(), 0
    earlier = []
    for changed, added, gone, tags, moment in history:
        ids = [row for row in changed if row in whole.ids] + list(range(last + 1, last + 1 + added))
        last += added
        given_rows = replace(
            rows(*ids, closed=moment, tags=tags),
            turns=[(f"t{moment}", f"s{row}") for row in ids],
            gaps=np.array([(row, 1, moment + 2) for row in ids if row % 2], np.int64).reshape(-1, 3),
        )
        removed = np.array([row for row in gone if row in whole.ids and row not in ids], np.int64)
        whole = updated(whole, given_rows, removed)
        growing.update(given_rows, removed)
        earlier.append((growing.newest, spelt_out(whole)))
    for columns, expected in earlier:
        assert spelt_out(columns) == expected


def spelt_out(columns: Columns) -> tuple[object, ...]:
    """Return a snapshot's content with decoded values."""
    arrays = (
        getattr(columns, name).tolist() for name in ARRAYS if name not in ("tag_sets", "threads", "speakers")
    )
    tags = [columns.vocabulary[code] for code in columns.tag_sets]
    threads = [columns.thread_names[code] for code in columns.threads]
    speakers = [columns.speaker_names[code] for code in columns.speakers]
    return (*arrays, tags, threads, speakers, sorted(columns.gaps.tolist()))


def test_a_turn_copies_no_column() -> None:
    """New rows are appended in place, and a closing copies only the changed column."""
    growing = GrowingColumns()
    growing.update(rows(*range(1, 2000)), NONE)
    growing.update(rows(2000), NONE)  # the first row beyond the loaded ones enlarges the buffer
    before = growing.newest
    growing.update(rows(2001, 2002), NONE)
    assert all(np.shares_memory(getattr(before, name), getattr(growing.newest, name)) for name in ARRAYS)
    growing.update(rows(7, closed=5), NONE)
    shared = {
        name for name in ARRAYS if np.shares_memory(getattr(before, name), getattr(growing.newest, name))
    }
    assert set(ARRAYS) - shared == {"closed"}
    assert (before.closed[6], growing.newest.closed[6]) == (NEVER, 5)


def test_items_of_documents_are_found_and_are_no_memories() -> None:
    """Selecting memories by type excludes items; searches include them."""
    kinds = [0, IN_DOCUMENT, WAITING, STORED]
    columns = empty_columns()
    for row, kind in enumerate(kinds, 1):
        columns = updated(columns, rows(row, kind=kind), NONE)
    assert of_types(columns, [FactType.WORLD]).tolist() == [True, False, False, False]
    assert memories_and_items(columns, [FactType.WORLD]).tolist() == [True, True, False, False]
    assert found_types(columns, [FactType.WORLD]).tolist() == [True, True, True, False]
    assert not found_types(columns, [FactType.OPINION]).any()
    assert columns.waiting.tolist() == [False, False, True, False]
