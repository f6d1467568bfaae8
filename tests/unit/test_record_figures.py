"""Figures of records compared with a simple computation, over invented weeks."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_digest import Bound, GoalTarget
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Granule, Interval, Weekday
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.recall.record_digest import Calendar, figures_of, standing, sums_of, within

LISBON = ZoneInfo("Europe/Lisbon")
FIRST = date(2025, 6, 1)  # a Sunday
BOUGHT = st.lists(st.tuples(st.integers(0, 28), st.integers(1, 2_000)), min_size=1, max_size=25)

Bought = list[tuple[int, int]]
"""Day of June from 0, and cents."""


def entry(
    day: date, value: Decimal | str, unit: str = "EUR", *, number: int = 0, days: int = 1
) -> RecordEntry:
    begins = datetime(day.year, day.month, day.day, tzinfo=LISBON)
    memory = MemoryUnit(
        id=f"{day}-{number}",
        bank="made-up",
        text=f"coffee on {day}",
        fact_type=FactType.WORLD,
        mentioned_at=begins.astimezone(UTC),
        occurred=Interval(begins.astimezone(UTC), (begins + timedelta(days=days)).astimezone(UTC)),
    )
    return RecordEntry(Record(RecordKind.EXPENSE, value, "coffee", unit), memory)


def coffees(bought: Bought) -> list[RecordEntry]:
    made = [
        entry(FIRST + timedelta(days=day), Decimal(cents) / 100, number=n)
        for n, (day, cents) in enumerate(bought)
    ]
    return sorted(made, key=lambda each: each.at)


def by_day(bought: Bought) -> dict[date, Decimal]:
    days: dict[date, Decimal] = defaultdict(Decimal)
    for day, cents in bought:
        days[FIRST + timedelta(days=day)] += Decimal(cents) / 100
    return days


@given(BOUGHT)
def test_figures_are_those_of_what_lies_in_the_window(bought: Bought) -> None:
    days = (date(2025, 6, 16), date(2025, 6, 22))
    inside = [Decimal(cents) / 100 for day, cents in bought if 15 <= day <= 21]
    counted = within(coffees(bought), days, Calendar(LISBON)).inside
    assert len(counted) == len(inside)
    if not inside:
        return
    [found] = figures_of(counted, "asked", days, Calendar(LISBON), adds_up=True)
    sums = {day: total for day, total in by_day(bought).items() if days[0] <= day <= days[1]}
    assert (found.total, found.count) == (sum(inside), len(inside))
    assert found.mean is not None
    assert abs(found.mean - sum(inside, Decimal(0)) / len(inside)) < Decimal("1e-20")
    assert found.smallest is not None
    assert found.largest is not None
    assert (found.smallest.value, found.largest.value) == (min(inside), max(inside))
    assert found.most is not None
    assert found.most.value == max(sums.values())
    assert found.per_day is not None
    assert abs(found.per_day - sum(inside, Decimal(0)) / len(sums)) < Decimal("1e-20")


@given(BOUGHT, st.booleans())
def test_weeks_are_summed_as_they_begin(bought: Bought, sunday: bool) -> None:
    calendar = Calendar(LISBON, Weekday.SUNDAY if sunday else Weekday.MONDAY)
    weeks: dict[date, Decimal] = defaultdict(Decimal)
    for day, total in by_day(bought).items():
        back = day.isoweekday() % 7 if sunday else day.weekday()
        weeks[day - timedelta(days=back)] += total
    found = sums_of(coffees(bought), Granule.WEEK, None, calendar)
    assert {each.start: each.value for each in found} == weeks


@given(BOUGHT, st.integers(1, 3_000))
def test_a_goal_is_met_in_the_weeks_that_keep_to_it(bought: Bought, cents: int) -> None:
    target = GoalTarget(Decimal(cents) / 100, Bound.AT_MOST, "EUR", Granule.WEEK)
    calendar = Calendar(LISBON)
    found = standing(target, "goal", coffees(bought), None, date(2025, 6, 29), calendar)
    weeks = sums_of(coffees(bought), Granule.WEEK, None, calendar)
    assert found is not None
    assert (found.met, found.periods) == (sum(week.value <= target.value for week in weeks), len(weeks))


def test_a_record_of_several_days_belongs_to_no_single_day() -> None:
    spread = [entry(date(2025, 6, 2), Decimal(3), days=5)]
    [june] = figures_of(spread, "all time", None, Calendar(LISBON), adds_up=True)
    assert (june.total, june.most) == (Decimal(3), None)
    assert sums_of(spread, Granule.DAY, None, Calendar(LISBON)) == ()
    counted = within(spread, (date(2025, 6, 3), date(2025, 6, 3)), Calendar(LISBON))
    assert (len(counted.inside), len(counted.partly)) == (0, 1)


@pytest.mark.parametrize("value", ["about 3", "three"])
def test_what_is_no_number_leaves_the_sum_open(value: str) -> None:
    entries = [entry(date(2025, 6, 2), Decimal(3)), entry(date(2025, 6, 3), value)]
    [found] = figures_of(entries, "all time", None, Calendar(LISBON), adds_up=True)
    assert (found.count, found.total, found.mean) == (2, None, None)
    target = GoalTarget(Decimal(10), Bound.AT_MOST, "EUR", Granule.WEEK)
    assert standing(target, "goal", entries, None, date(2025, 6, 3), Calendar(LISBON)) is None


def test_a_goal_in_kilometres_is_met_by_miles() -> None:
    runs = [entry(date(2025, 6, 24), Decimal(4), "mi")]
    target = GoalTarget(Decimal(6), Bound.AT_LEAST, "km", Granule.WEEK)
    found = standing(target, "goal", runs, None, date(2025, 6, 29), Calendar(LISBON))
    assert found is not None
    assert (found.met, found.target.unit) == (1, "mi")
