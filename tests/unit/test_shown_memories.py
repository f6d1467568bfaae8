"""Which memories are shown to the extraction model."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from builders import at, make_unit
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.retain.prepare import in_order_of_use, is_over

TODAY = Interval(at(0), at(24))


def unit(*kinds: RecordKind, occurred: Interval | None = None) -> MemoryUnit:
    """A memory of hour 0 with a record of each kind."""
    records = tuple(Record(kind, "x") for kind in kinds)
    return replace(make_unit("u"), records=records, occurred=occurred)


TASK, EVENT, EXPENSE = unit(RecordKind.TASK), unit(RecordKind.EVENT), unit(RecordKind.EXPENSE)
DATED = unit(RecordKind.EVENT, occurred=TODAY)


@every_row(
    ("memory", "ended", "hours", "over"),
    [
        (TASK, (), 1000, False),
        (unit(RecordKind.TASK, occurred=TODAY), (), 1000, False),
        (unit(RecordKind.GOAL, RecordKind.EXPENSE), (), 1000, False),
        (unit(RecordKind.OTHER), (), 1000, False),
        (DATED, (), 23, False),
        (DATED, (), 24, True),
        (EVENT, (), 1000, False),
        (EXPENSE, (), 23, False),
        (EXPENSE, (), 24, True),
        (unit(RecordKind.EXPENSE, occurred=TODAY), (), 24, True),
        (unit(), (), 1000, False),
        (unit(), (unit(),), 1000, False),
        (unit(), (unit(), TASK), 1, True),
        (TASK, (TASK,), 1000, False),
    ],
)
def test_what_is_over(memory: MemoryUnit, ended: tuple[MemoryUnit, ...], hours: int, over: bool) -> None:
    """Past events, expenses of other days and the end of a task are over; tasks and memories without such records are not."""
    assert is_over(memory, ended, at(0) + timedelta(hours=hours)) is over


def test_a_third_of_the_places_goes_to_the_nearest_and_the_rest_to_what_is_open() -> None:
    assert in_order_of_use([1, 2, 3, 4, 5, 6, 7], {1, 2, 3, 5}, 5) == [1, 2, 4, 6, 7, 3, 5]


@given(st.lists(st.integers(0, 30), unique=True), st.sets(st.integers(0, 30)), st.integers(1, 20))
def test_nothing_is_left_out_or_shown_twice(nearest: list[int], over: set[int], limit: int) -> None:
    """No memory is lost or repeated, and open ones keep their order."""
    ordered = in_order_of_use(nearest, over, limit)
    assert sorted(ordered) == sorted(nearest)
    assert [row for row in ordered if row not in over] == [row for row in nearest if row not in over]
    assert {row for row in nearest[:limit] if row not in over} <= set(ordered[:limit])
