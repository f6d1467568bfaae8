"""Exact answers against a plain computation of the same, over made-up weeks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.cara.reflection.exact import RecordTools, exact_answer
from hindsight_integrations.cara.reflection.periods import Calendar
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_answers import RecordAnswer
from hindsight_integrations.model.records import Record, RecordCategory, RecordKind
from hindsight_integrations.model.time import Interval, LocalDates, Weekday
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.tempr.listing.aggregation import aggregate
from hindsight_integrations.text.languages import LANGUAGES

LISBON = ZoneInfo("Europe/Lisbon")
NOW = datetime(2025, 6, 29, 21, tzinfo=LISBON)  # a Sunday; June begins on one as well
FIRST = date(2025, 6, 1)
DAYS = st.lists(st.tuples(st.integers(0, 28), st.integers(1, 2_000)), min_size=1, max_size=25)

Bought = list[tuple[int, int]]
"""Day of June from 0, and cents."""


def entry(
    day: date, value: Decimal, kind: RecordKind, category: str, unit: str, *, number: int = 0
) -> RecordEntry:
    begins = datetime(day.year, day.month, day.day, tzinfo=LISBON)
    memory = MemoryUnit(
        id=f"{category}-{day}-{number}",
        bank="made-up",
        text=f"{category} on {day}",
        fact_type=FactType.WORLD,
        mentioned_at=begins.astimezone(UTC),
        occurred=Interval(begins.astimezone(UTC), (begins + timedelta(days=1)).astimezone(UTC)),
    )
    return RecordEntry(Record(kind, value, category, unit, stated=category), memory)


def coffees(bought: Bought) -> list[RecordEntry]:
    made = [
        entry(
            FIRST + timedelta(days=day),
            Decimal(cents) / 100,
            RecordKind.EXPENSE,
            "coffee",
            "EUR",
            number=number,
        )
        for number, (day, cents) in enumerate(bought)
    ]
    return sorted(made, key=lambda each: each.at)


def ask(
    question: str, entries: Sequence[RecordEntry], *, week_starts: Weekday = Weekday.MONDAY
) -> RecordAnswer | None:
    async def categories() -> list[RecordCategory]:
        found = {(e.record.kind, e.record.category): e.record.unit for e in entries}
        return [RecordCategory(kind, name, (name,), 3, (unit,)) for (kind, name), unit in found.items()]

    async def of_kind(kind: RecordKind, category: str | None) -> list[RecordEntry]:
        return [e for e in entries if e.record.kind == kind and category in {None, e.record.category}]

    tools = RecordTools(
        categories,
        of_kind,
        aggregate,
        LocalDates(LISBON, week_starts=week_starts),
        tuple(LANGUAGES.values()),
        Calendar(LISBON, week_starts),
    )
    return asyncio.run(exact_answer(question, NOW, tools))


def by_week(bought: Bought, *, sunday: bool) -> dict[date, Decimal]:
    weeks: dict[date, Decimal] = defaultdict(Decimal)
    for number, cents in bought:
        day = FIRST + timedelta(days=number)
        back = day.isoweekday() % 7 if sunday else day.weekday()
        weeks[day - timedelta(days=back)] += Decimal(cents) / 100
    return weeks


@given(DAYS)
def test_a_total_is_the_sum_of_what_lies_in_the_window(bought: Bought) -> None:
    answer = ask("How much did I spend on coffee last week?", coffees(bought))
    inside = [Decimal(cents) / 100 for day, cents in bought if 15 <= day <= 21]
    if not inside:
        assert answer is None
    else:
        assert answer is not None
        assert (answer.value, len(answer.entries)) == (sum(inside), len(inside))


@given(DAYS, st.booleans())
def test_the_week_with_the_most_is_the_one_with_the_greatest_sum(bought: Bought, sunday: bool) -> None:
    first = Weekday.SUNDAY if sunday else Weekday.MONDAY
    answer = ask("In which week did I spend the most on coffee?", coffees(bought), week_starts=first)
    weeks = by_week(bought, sunday=sunday)
    best = max(weeks.values())
    assert answer is not None
    assert answer.value == best
    assert [part.start for part in answer.periods] == sorted(
        week for week, total in weeks.items() if total == best
    )


@given(DAYS)
def test_the_day_with_the_least_is_one_with_a_record(bought: Bought) -> None:
    answer = ask("An welchem Tag im Juni habe ich am wenigsten für Kaffee ausgegeben?", coffees(bought))
    days: dict[date, Decimal] = defaultdict(Decimal)
    for day, cents in bought:
        days[FIRST + timedelta(days=day)] += Decimal(cents) / 100
    assert answer is not None
    assert answer.value == min(days.values())
    assert {part.start for part in answer.periods} == {
        d for d, total in days.items() if total == min(days.values())
    }


@given(DAYS, st.integers(1, 30))
def test_days_over_a_number_are_counted_among_days_with_records(bought: Bought, limit: int) -> None:
    answer = ask(f"On how many days in June did I spend more than {limit} euros on coffee?", coffees(bought))
    days: dict[int, Decimal] = defaultdict(Decimal)
    for day, cents in bought:
        days[day] += Decimal(cents) / 100
    assert answer is not None
    assert answer.value == sum(total > limit for total in days.values())


@given(DAYS)
def test_met_and_missed_weeks_are_all_weeks(bought: Bought) -> None:
    goal = entry(FIRST, Decimal(10), RecordKind.GOAL, "coffee", "EUR/week")
    known = [*coffees(bought), goal]
    kept = ask("In how many weeks did I stay within my coffee budget?", known)
    broken = ask("In how many weeks did I go over my coffee budget?", known)
    weeks = by_week(bought, sunday=False)
    assert kept is not None
    assert broken is not None
    assert kept.value == sum(total <= 10 for total in weeks.values())
    assert broken.value == sum(total > 10 for total in weeks.values())


def test_a_record_of_several_days_belongs_to_no_single_day() -> None:
    whole = coffees([(3, 300)])[0]
    occurred = Interval(datetime(2025, 6, 2, tzinfo=UTC), datetime(2025, 6, 7, tzinfo=UTC))
    memory = MemoryUnit(
        id="span",
        bank="made-up",
        text="coffees",
        fact_type=FactType.WORLD,
        mentioned_at=whole.memory.mentioned_at,
        occurred=occurred,
    )
    spread = RecordEntry(whole.record, memory)
    assert ask("How much did I spend on coffee in June?", [spread]) is not None
    assert ask("How much did I spend on coffee on June 3?", [spread]) is None
    assert ask("On which day in June did I spend the most on coffee?", [spread]) is None


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How many kilometres did I run in June?", "18.04672"),
        ("How many miles did I run in June?", "11.2137119224"),
    ],
)
def test_miles_and_kilometres_are_added_exactly_in_the_unit_asked_for(question: str, value: str) -> None:
    runs = [
        entry(FIRST, Decimal(10), RecordKind.QUANTITY, "running", "km"),
        entry(FIRST + timedelta(days=3), Decimal(5), RecordKind.QUANTITY, "running", "mi"),
    ]
    answer = ask(question, runs)
    assert answer is not None
    assert isinstance(answer.value, Decimal)
    assert answer.value.quantize(Decimal("0.0000000001")) == Decimal(value).quantize(Decimal("0.0000000001"))


def test_a_goal_in_kilometres_is_met_by_miles() -> None:
    known = [
        entry(FIRST + timedelta(days=23), Decimal(4), RecordKind.QUANTITY, "running", "mi"),
        entry(FIRST, Decimal(6), RecordKind.GOAL, "running", "km/week"),
    ]
    answer = ask("Am I meeting my running goal?", known)
    assert answer is not None
    assert answer.met
