"""Weeks begin on the configured day: "this week" is the same week in a question, a statement and a sum."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from table import every_row

from hindsight_integrations.config import HindsightConfig
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.language.dates import event_time, question_time
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.time import LocalDates, Weekday

WEDNESDAY = datetime(2025, 6, 11, 9, tzinfo=UTC)
SUNDAY = datetime(2025, 6, 15, 9, tzinfo=UTC)
EVERY_LANGUAGE = tuple(LANGUAGES.values())


def days(text: str, week_starts: Weekday, *, asked: datetime = WEDNESDAY) -> tuple[date, date]:
    found = question_time(text, asked, LocalDates(UTC, week_starts=week_starts), EVERY_LANGUAGE)
    assert found is not None
    return found.interval.start.date(), found.interval.end.date()


@every_row(
    ("text", "monday", "sunday"),
    [
        ("What did I buy this week?", (9, 16), (8, 15)),
        ("What did I buy last week?", (2, 9), (1, 8)),
        ("What will I buy next week?", (16, 23), (15, 22)),
        ("What did I do two weeks ago on Sunday?", (1, 2), (25, 26)),
        ("What did I do on Sunday of last week?", (8, 9), (1, 2)),
        ("Where was I the week of 5 June 2025?", (2, 9), (1, 8)),
        ("Was habe ich letzte Woche gekauft?", (2, 9), (1, 8)),
        ("¿Qué compré la semana pasada?", (2, 9), (1, 8)),
    ],
)
def test_weeks_of_a_question_begin_on_the_day_set(
    text: str, monday: tuple[int, int], sunday: tuple[int, int]
) -> None:
    """Days are in June 2025, or in May if they are before it."""
    for week_starts, expected in ((Weekday.MONDAY, monday), (Weekday.SUNDAY, sunday)):
        first, last = days(text, week_starts)
        assert (first.day, last.day) == expected


def test_on_a_sunday_a_week_from_sunday_has_just_begun() -> None:
    assert days("What did I eat this week?", Weekday.SUNDAY, asked=SUNDAY)[0] == date(2025, 6, 15)
    assert days("What did I eat this week?", Weekday.MONDAY, asked=SUNDAY)[0] == date(2025, 6, 9)


@pytest.mark.parametrize(
    "text", ["What did I do in 2025-W23?", "Where was I last weekend?", "What did I eat in the last 7 days?"]
)
def test_weeks_of_iso_weekends_and_rolling_days_are_the_same_everywhere(text: str) -> None:
    assert days(text, Weekday.SUNDAY) == days(text, Weekday.MONDAY)


def test_weeks_of_a_statement_begin_there_too() -> None:
    """A memory dated "last week" is found by a question about last week."""
    told = event_time(
        "I bought a kayak last week.",
        WEDNESDAY,
        LocalDates(UTC, week_starts=Weekday.SUNDAY),
        EVERY_LANGUAGE,
    )
    assert told is not None
    assert (told.start.date(), told.end.date()) == (date(2025, 6, 1), date(2025, 6, 8))


def test_a_day_on_which_no_week_begins_is_refused() -> None:
    """The error names the setting and the choices."""
    with pytest.raises(InvalidRequest, match=r"week_starts: 'someday'.* monday, saturday, sunday"):
        HindsightConfig(week_starts="someday")
    with pytest.raises(InvalidRequest, match=r"HINDSIGHT_WEEK_STARTS: 'tuesday'.* monday, saturday, sunday"):
        HindsightConfig.from_env({"HINDSIGHT_WEEK_STARTS": "Tuesday"})
