"""Time expressions: the window of a question or a statement, and texts without one."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st
from table import every_row
from time_expressions import rules_of

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.times.calendar import TimeWindow
from hindsight_integrations.language.times.finding import find_event_time, find_window
from hindsight_integrations.model.time import Granule

TIME_RULES = rules_of("en")

AUGUST = datetime(2026, 8, 12, 10, tzinfo=UTC)  # a Wednesday
JANUARY = datetime(2025, 1, 15, 10, tzinfo=UTC)  # a Wednesday
MARCH = datetime(2025, 3, 2, 10, tzinfo=UTC)  # a Sunday

# Phrase, first and last day of its window by the conventions of tests/unit/time_table/README.md. The tables
# there measure
FROM_AUGUST = [
    ("last spring", "2026-03-01", "2026-05-31"),
    ("spring 2024", "2024-03-01", "2024-05-31"),
    ("last summer", "2025-06-01", "2025-08-31"),
    ("Q1 2024", "2024-01-01", "2024-03-31"),
    ("last quarter", "2026-04-01", "2026-06-30"),
    ("this week", "2026-08-10", "2026-08-16"),
    ("this month", "2026-08-01", "2026-08-31"),
    ("this year", "2026-01-01", "2026-12-31"),
    ("past week", "2026-08-05", "2026-08-12"),
    ("next week", "2026-08-17", "2026-08-23"),
    ("over the weekend", "2026-08-08", "2026-08-09"),
    ("last 3 months", "2026-05-12", "2026-08-12"),
    ("in the past two months", "2026-06-12", "2026-08-12"),
    ("last 30 days", "2026-07-13", "2026-08-12"),
    ("in May", "2026-05-01", "2026-05-31"),
    ("March", "2026-03-01", "2026-03-31"),
    ("two weeks ago", "2026-07-27", "2026-08-02"),
    ("6 months ago", "2026-02-01", "2026-02-28"),
    ("a year ago", "2025-01-01", "2025-12-31"),
    ("since January 2024", "2024-01-01", "2026-08-12"),
    ("before June 2024", "0001-01-01", "2024-05-31"),
    ("after 2024-03-01", "2024-03-02", "9999-12-31"),
    ("between March 2024 and May 2024", "2024-03-01", "2024-05-31"),
    ("2020-01-01..2020-12-31", "2020-01-01", "2020-12-31"),
    ("1 May to 5 May", "2026-05-01", "2026-05-05"),
    ("mid-July 2025", "2025-07-11", "2025-07-20"),
    ("first week of June 2025", "2025-06-01", "2025-06-07"),
    ("end of last month", "2026-07-21", "2026-07-31"),
    ("the day before yesterday", "2026-08-10", "2026-08-10"),
    ("in the 1990s", "1990-01-01", "1999-12-31"),
    ("15.01.2024", "2024-01-15", "2024-01-15"),
    ("2023", "2023-01-01", "2023-12-31"),
    ("early 2025", "2025-01-01", "2025-04-30"),
    ("last decade", "2010-01-01", "2019-12-31"),
    ("Christmas 2025", "2025-12-25", "2025-12-25"),
    ("2024-06", "2024-06-01", "2024-06-30"),
]
FROM_JANUARY = [
    ("june 2024", "2024-06-01", "2024-06-30"),
    ("last year", "2024-01-01", "2024-12-31"),
    ("last Saturday", "2025-01-11", "2025-01-11"),
    ("yesterday", "2025-01-14", "2025-01-14"),
    ("last week", "2025-01-06", "2025-01-12"),
    ("last month", "2024-12-01", "2024-12-31"),
    ("last Friday", "2025-01-10", "2025-01-10"),
    ("last weekend", "2025-01-11", "2025-01-12"),
    ("couple of days ago", "2025-01-12", "2025-01-14"),
    ("few days ago", "2025-01-10", "2025-01-13"),
    ("a couple of weeks ago", "2024-12-25", "2025-01-08"),
    ("port 9077 and also last Tuesday", "2025-01-14", "2025-01-14"),
    ("decided on 2026-06-10", "2026-06-10", "2026-06-10"),
    ("what happened in 2019?", "2019-01-01", "2019-12-31"),
    ("in june 2019", "2019-06-01", "2019-06-30"),
    ("1890-03-05", "1890-03-05", "1890-03-05"),
    ("2050-01-15", "2050-01-15", "2050-01-15"),
    ("13 July 2024", "2024-07-13", "2024-07-13"),
    ("winter 2022", "2022-12-01", "2023-02-28"),
    ("summer of 2023", "2023-06-01", "2023-08-31"),
    ("Q2 2024", "2024-04-01", "2024-06-30"),
    ("early 2023", "2023-01-01", "2023-04-30"),
    ("mid-April", "2024-04-11", "2024-04-20"),
    ("two weeks before Christmas 2023", "2023-12-11", "2023-12-17"),
    ("weekend of June 3rd", "2024-06-01", "2024-06-02"),
    ("the 1990s", "1990-01-01", "1999-12-31"),
    ("before 2020", "0001-01-01", "2019-12-31"),
    ("between Jan 3 and Jan 10 2024", "2024-01-03", "2024-01-10"),
    ("first half of 2023", "2023-01-01", "2023-06-30"),
    ("the second half of May", "2024-05-16", "2024-05-31"),
    ("late last year", "2024-09-01", "2024-12-31"),
    ("in the summer of last year", "2024-06-01", "2024-08-31"),
    ("May last year", "2024-05-01", "2024-05-31"),
    ("during the '90s", "1990-01-01", "1999-12-31"),
    ("the nineties", "1990-01-01", "1999-12-31"),
    ("on May 5", "2024-05-05", "2024-05-05"),
    ("May 5th, 2023", "2023-05-05", "2023-05-05"),
    ("Sunday, May 7, 2023", "2023-05-07", "2023-05-07"),
    ("the 5th of May", "2024-05-05", "2024-05-05"),
    ("from Monday to Wednesday", "2025-01-13", "2025-01-15"),
    ("from January to March 2024", "2024-01-01", "2024-03-31"),
    ("March-May 2024", "2024-03-01", "2024-05-31"),
    ("May 5-7, 2023", "2023-05-05", "2023-05-07"),
    ("5 to 7 May", "2024-05-05", "2024-05-07"),
    ("1-5 May 2024", "2024-05-01", "2024-05-05"),
    ("from 2019 to 2021", "2019-01-01", "2021-12-31"),
    ("the week before Christmas", "2024-12-18", "2024-12-24"),
    ("the day after Thanksgiving 2023", "2023-11-24", "2023-11-24"),
    ("the weekend before Easter 2024", "2024-03-23", "2024-03-24"),
    ("the first weekend of June 2024", "2024-06-01", "2024-06-02"),
    ("the first Monday of June", "2024-06-03", "2024-06-03"),
    ("the last week of May", "2024-05-25", "2024-05-31"),
    ("last Christmas", "2024-12-25", "2024-12-25"),
    ("New Year's Eve", "2024-12-31", "2024-12-31"),
    ("Halloween 2023", "2023-10-31", "2023-10-31"),
    ("Valentine's Day", "2024-02-14", "2024-02-14"),
    ("July 4th", "2024-07-04", "2024-07-04"),
    ("Easter 2024", "2024-03-31", "2024-03-31"),
    ("Easter 2025", "2025-04-20", "2025-04-20"),
    ("Good Friday 2025", "2025-04-18", "2025-04-18"),
    ("earlier this week", "2025-01-13", "2025-01-15"),
    ("later this year", "2025-01-15", "2025-12-31"),
    ("since yesterday", "2025-01-14", "2025-01-15"),
    ("since last Monday", "2025-01-13", "2025-01-15"),
    ("since the summer", "2024-06-01", "2025-01-15"),
    ("until June 2024", "0001-01-01", "2024-06-30"),
    ("by 2020", "0001-01-01", "2020-12-31"),
    ("2-3 days ago", "2025-01-12", "2025-01-13"),
    ("ten years ago", "2015-01-01", "2015-12-31"),
    ("next Friday", "2025-01-17", "2025-01-17"),
    ("this Friday", "2025-01-17", "2025-01-17"),
    ("next month", "2025-02-01", "2025-02-28"),
    ("day after tomorrow", "2025-01-17", "2025-01-17"),
    ("the other day", "2025-01-08", "2025-01-14"),
    ("next two weeks", "2025-01-15", "2025-01-29"),
    ("Tuesday of last week", "2025-01-07", "2025-01-07"),
    ("last year in May", "2024-05-01", "2024-05-31"),
    ("in 2023, during the summer", "2023-06-01", "2023-08-31"),
    ("last year at Christmas", "2024-12-25", "2024-12-25"),
    ("the 2023 trip to Japan", "2023-01-01", "2023-12-31"),
    ("week of June 3", "2024-06-03", "2024-06-09"),
    ("in mid-April 2024", "2024-04-11", "2024-04-20"),
    ("at the end of 2023", "2023-10-01", "2023-12-31"),
    ("the beginning of May", "2024-05-01", "2024-05-10"),
    ("by the end of May", "0001-01-01", "2024-05-31"),
    ("spring 2023 to fall 2023", "2023-03-01", "2023-11-30"),
    ("November to February 2024", "2023-11-01", "2024-02-29"),
    ("from November 2023 to February 2024", "2023-11-01", "2024-02-29"),
    ("third quarter of 2023", "2023-07-01", "2023-09-30"),
    ("first two weeks of June", "2024-06-01", "2024-06-14"),
    ("the last three days of May", "2024-05-29", "2024-05-31"),
    ("on the 5th", "2025-01-05", "2025-01-05"),
    ("the 5th of last month", "2024-12-05", "2024-12-05"),
    ("5th of last month", "2024-12-05", "2024-12-05"),
    ("the news of last month", "2024-12-01", "2024-12-31"),
    ("during last month", "2024-12-01", "2024-12-31"),
    ("06/03/2024", "2024-06-03", "2024-06-03"),
    ("2024 Q3", "2024-07-01", "2024-09-30"),
    ("H1 2023", "2023-01-01", "2023-06-30"),
    ("the week before last", "2024-12-30", "2025-01-05"),
    ("the summer before last", "2023-06-01", "2023-08-31"),
    ("half a dozen years ago", "2019-01-01", "2019-12-31"),
    ("this past weekend", "2025-01-11", "2025-01-12"),
    ("this past summer", "2024-06-01", "2024-08-31"),
    ("next summer", "2025-06-01", "2025-08-31"),
    ("last winter", "2023-12-01", "2024-02-29"),
    ("past year", "2024-01-15", "2025-01-15"),
    ("in the last year", "2024-01-15", "2025-01-15"),
    ("throughout 2022", "2022-01-01", "2022-12-31"),
    ("What did Alice do last year in May?", "2024-05-01", "2024-05-31"),
    ("by Friday", "0001-01-01", "2025-01-10"),
    ("What trips did we take in the last 3 months?", "2024-10-15", "2025-01-15"),
    ("What happened between Monday and Wednesday?", "2025-01-13", "2025-01-15"),
    ("Where was Bob on Friday?", "2025-01-10", "2025-01-10"),
    ("What did we plan for next weekend?", "2025-01-25", "2025-01-26"),
    ("When did she buy the bike in early June?", "2024-06-01", "2024-06-10"),
    ("Which books did I read over the summer?", "2024-06-01", "2024-08-31"),
    ("What did Tom say on 7 March?", "2024-03-07", "2024-03-07"),
    ("Photos from last summer", "2024-06-01", "2024-08-31"),
    ("What did he buy two days before Halloween?", "2024-10-29", "2024-10-29"),
    ("expenses in Q1", "2025-01-01", "2025-03-31"),
    ("What did we do on New Year's Eve 2023?", "2023-12-31", "2023-12-31"),
    ("What was decided since the beginning of March?", "2024-03-01", "2025-01-15"),
    ("from 2019-01-01 to 2019-03-31", "2019-01-01", "2019-03-31"),
    ("2019-2021", "2019-01-01", "2021-12-31"),
    ("in 2019-2021", "2019-01-01", "2021-12-31"),
    ("between 2019 and 2021", "2019-01-01", "2021-12-31"),
    ("What did she cook on the weekend of May 10?", "2024-05-11", "2024-05-12"),
    ("What happened on May 10th at 3pm?", "2024-05-10", "2024-05-10"),
    ("in the first half of the 1990s", "1990-01-01", "1994-12-31"),
    ("the early 90s", "1990-01-01", "1993-12-31"),
    ("in the mid-1980s", "1984-01-01", "1986-12-31"),
    ("late 2010s", "2017-01-01", "2019-12-31"),
    ("the first day of June 2025", "2025-06-01", "2025-06-01"),
    ("at Easter", "2024-03-31", "2024-03-31"),
    ("on Easter Sunday 2024", "2024-03-31", "2024-03-31"),
    ("over Christmas", "2024-12-25", "2024-12-25"),
    ("in autumn", "2024-09-01", "2024-11-30"),
    ("in the fall of 2021", "2021-09-01", "2021-11-30"),
    ("a year and a half ago", "2023-07-01", "2023-07-31"),
    ("two years before 2020", "2018-01-01", "2018-12-31"),
    ("within the past week", "2025-01-08", "2025-01-15"),
    ("in March of this year", "2025-03-01", "2025-03-31"),
    ("a fortnight ago", "2024-12-30", "2025-01-05"),
    ("two weekends ago", "2025-01-04", "2025-01-05"),
    ("since 1 May", "2024-05-01", "2025-01-15"),
    ("up to March 2024", "0001-01-01", "2024-03-31"),
    ("January 3rd to 5th", "2025-01-03", "2025-01-05"),
    ("January 3rd through February 2nd, 2024", "2024-01-03", "2024-02-02"),
    ("3/4/24", "2024-03-04", "2024-03-04"),
    ("2024/03/01", "2024-03-01", "2024-03-01"),
    ("the third week of May", "2024-05-15", "2024-05-21"),
    ("the last Friday of September 2024", "2024-09-27", "2024-09-27"),
    ("summer '23", "2023-06-01", "2023-08-31"),
    ("winter 2022/23", "2022-12-01", "2023-02-28"),
    ("29 February", "2024-02-29", "2024-02-29"),
    ("What happened in '99?", "1999-01-01", "1999-12-31"),
    ("as of June 2024", "0001-01-01", "2024-06-30"),
    ("during the week of June 3, 2024", "2024-06-03", "2024-06-09"),
    ("the month of May", "2024-05-01", "2024-05-31"),
    ("in the month of July 2024", "2024-07-01", "2024-07-31"),
    ("the second weekend in August", "2024-08-10", "2024-08-11"),
    ("Wed, 5 June 2024", "2024-06-05", "2024-06-05"),
    ("What did Maria do last weekend before April 10, 2023?", "2023-04-08", "2023-04-09"),
    ("the picture shared on December 1,2023", "2023-12-01", "2023-12-01"),
    ("shown on the Sunday before October 25, 2022", "2022-10-23", "2022-10-23"),
    ("the Monday after Easter 2024", "2024-04-01", "2024-04-01"),
]
HOURS = [
    ("this morning", "2025-01-15T05:00", "2025-01-15T12:00"),
    ("last night", "2025-01-14T18:00", "2025-01-15T06:00"),
    ("tonight", "2025-01-15T18:00", "2025-01-16T06:00"),
    ("yesterday afternoon", "2025-01-14T12:00", "2025-01-14T18:00"),
    ("on Tuesday evening", "2025-01-14T17:00", "2025-01-15T00:00"),
    ("the morning of June 3", "2024-06-03T05:00", "2024-06-03T12:00"),
    ("3 hours ago", "2025-01-15T07:00", "2025-01-15T08:00"),
    ("half an hour ago", "2025-01-15T09:30", "2025-01-15T09:31"),
]
DATELESS = [
    "what did we discuss",
    "port 9077",
    "job 4417",
    "PR 2024",
    "buffer 1024 vs 4096",
    "room 2019",
    "listening in 8080",
    "Did August like it?",
    "May I ask a question?",
    "What did April say about the cake?",
    "Is June allergic to nuts?",
    "May we meet?",
    "Who does May work for?",
    "What is the meaning of spring in physics?",
    "Did he fall off the ladder?",
    "Where did they march?",
    "Which cat sat on the sofa?",
    "What is the second name?",
    "What is Bob's last name?",
    "Does the sun bother her?",
    "How much did the 3 tickets cost?",
    "Is version 2.2024 stable?",
    "Who lives at 1600 Pennsylvania Avenue?",
    "What did she order from room 2023?",
    "Does he work 9 to 5?",
    "How many of the 2000 people came?",
    "Was it between 10 and 20 dollars?",
    "Is Summer her sister?",
    "Who is Wednesday Addams?",
    "What does she do every Friday?",
    "What does he do on Sundays?",
    "Which gift did April give to June?",
    "Does Autumn like tea?",
    "Did the battery last 3 days?",
    "How long did the trip last?",
    "What colour is the Christmas tree?",
    "Which API returns 404?",
    "Call 555-2024-06",
    "Is it Q5?",
    'Who said "may the force be with you"?',
    "What's next to the shed?",
    "Does he like the Sunday Times?",
    "How old is Augusta?",
    "Who is the current manager?",
    "What is the day rate?",
    "What did Mar buy?",
    "Do they use Spring Boot?",
    "in 2000 meters",
    "1.5 million",
    "Did Jan and Mark marry?",
    "Is May in Paris with April?",
    "What is her phone number?",
    "a present for April",
    "letter from June",
    "Did Bob leave before August arrived?",
    "Was it within 3 days of ordering?",
    "What is the first thing she does in the morning?",
    "How many cups a day does he drink?",
    "Is the week plan ready?",
    "Did we order it after the meeting?",
    "How does he feel since then?",
    "$2024",
    "#2024",
    "2:2023",
    "in April's group",
    "31 february 2020",
    "Feb 30 2024",
    "2024-02-30",
    "2024-13-01",
    "100,000 years ago",
    "the following week",
]
STATEMENTS = [
    ("Yesterday I planted the tomatoes.", "2025-03-01", "2025-03-01"),
    ("We're going camping in July.", "2025-07-01", "2025-07-31"),
    ("I started at Meridian in June 2022.", "2022-06-01", "2022-06-30"),
    ("Last Saturday I went to the fair with Priya.", "2025-03-01", "2025-03-01"),
    ("My appointment moved to next Thursday.", "2025-03-06", "2025-03-06"),
    ("I'm seeing the dentist on Friday, will tell you after.", "2025-03-07", "2025-03-07"),
    ("I saw the dentist on Friday.", "2025-02-28", "2025-02-28"),
    ("I quit two days ago.", "2025-02-28", "2025-02-28"),
    ("Next month we fly to Lisbon.", "2025-04-01", "2025-04-30"),
    ("I'll see you in two weeks.", "2025-03-10", "2025-03-16"),
    ("Lunch was late. We met last week, and again yesterday.", "2025-02-17", "2025-02-23"),
]
UNDATED_STATEMENTS = [
    "Since 2020 I have lived here.",
    "I have to finish it by Friday.",
    "Happy Friday! How was your weekend?",
    "Every Tuesday I swim.",
    "Did you hear? May called me.",
    "It took us two weeks.",
]


def days(window: TimeWindow | None) -> tuple[str, str] | None:
    """First and last day of a window."""
    if window is None:
        return None
    last = window.interval.end - timedelta(microseconds=1)
    return window.interval.start.date().isoformat(), last.date().isoformat()


@every_row(("phrase", "first", "last"), FROM_AUGUST)
def test_phrases_that_other_parsers_get_wrong(phrase: str, first: str, last: str) -> None:
    """Every phrase gets the window a person would expect."""
    assert days(find_window(phrase, AUGUST, rules=TIME_RULES)) == (first, last)


@every_row(("phrase", "first", "last"), FROM_JANUARY)
def test_phrases_count_from_the_reference(phrase: str, first: str, last: str) -> None:
    """A time expression means the calendar days relative to the time of the question."""
    assert days(find_window(phrase, JANUARY, rules=TIME_RULES)) == (first, last)


@every_row(("phrase", "start", "end"), HOURS)
def test_parts_of_a_day_are_hours(phrase: str, start: str, end: str) -> None:
    """A question about last night does not search the whole of yesterday."""
    window = find_window(phrase, JANUARY, rules=TIME_RULES)
    assert window is not None
    assert (window.interval.start, window.interval.end) == (
        datetime.fromisoformat(start).replace(tzinfo=UTC),
        datetime.fromisoformat(end).replace(tzinfo=UTC),
    )


@every_row("text", DATELESS)
def test_names_numbers_and_impossible_dates_are_no_time(text: str) -> None:
    """A name or a number in a question without a date gives no window."""
    assert find_window(text, JANUARY, rules=TIME_RULES) is None


@every_row(("text", "first", "last"), STATEMENTS)
def test_statements_date_their_event(text: str, first: str, last: str) -> None:
    """Announced events are in the future, reported ones in the past, and the first time counts."""
    assert days(find_event_time(text, MARCH, rules=TIME_RULES)) == (first, last)


@every_row("text", UNDATED_STATEMENTS)
def test_statements_without_an_event_time(text: str) -> None:
    """A habit, a greeting, a duration or an open end gives a memory no date."""
    assert find_event_time(text, MARCH, rules=TIME_RULES) is None


def test_a_number_beside_a_date_does_not_hide_it() -> None:
    """A port number in the question does not hide the date."""
    friday = datetime(2026, 8, 7, 9, tzinfo=UTC)
    assert days(find_window("port 9077 and also last Tuesday", friday, rules=TIME_RULES)) == (
        "2026-08-04",
        "2026-08-04",
    )


def test_the_narrowest_of_several_times_wins() -> None:
    """A day in the question is more useful for a search than the year next to it."""
    text = "What did she say on 7 March 2023 about her plans for 2024?"
    assert days(find_window(text, JANUARY, rules=TIME_RULES)) == ("2023-03-07", "2023-03-07")


def test_window_tells_phrase_place_and_granule() -> None:
    """The phrase of a window can be shown to the user, or removed from the question."""
    text = "What did Nora plant in early May, near the shed?"
    window = find_window(text, JANUARY, rules=TIME_RULES)
    assert window is not None
    assert text[slice(*window.span)] == window.phrase == "in early May"
    assert window.granule is Granule.DAY


def test_days_are_those_of_the_zone() -> None:
    """Yesterday in New York begins at midnight in New York, not in Greenwich."""
    window = find_window(
        "yesterday", datetime(2025, 1, 15, 2, tzinfo=UTC), ZoneInfo("America/New_York"), rules=TIME_RULES
    )
    assert window is not None
    assert window.interval.start == datetime(2025, 1, 13, 5, tzinfo=UTC)
    assert window.interval.end == datetime(2025, 1, 14, 5, tzinfo=UTC)


def test_typographic_quotes_and_dashes_read_like_plain_ones() -> None:
    """Text pasted from a word processor has the same meaning."""
    assert days(find_window("New Year\u2019s Eve 2023", JANUARY, rules=TIME_RULES)) == (
        "2023-12-31",
        "2023-12-31",
    )
    assert days(find_window("March\u2013May 2024", JANUARY, rules=TIME_RULES)) == (
        "2024-03-01",
        "2024-05-31",
    )


_WORDS = st.sampled_from(
    [
        "last",
        "next",
        "this",
        "two",
        "100,000",
        "99999999",
        "weeks",
        "years",
        "century",
        "ago",
        "before",
        "after",
        "since",
        "between",
        "and",
        "from",
        "to",
        "in",
        "on",
        "the",
        "of",
        "early",
        "end",
        "half",
        "May",
        "31",
        "february",
        "2020",
        "0001",
        "9999",
        "Q4",
        "winter",
        "'90s",
        "Christmas",
        "Friday",
        "night",
        "1st",
        "-",
        "..",
        "/",
        ":",
        chr(0x130),
        chr(0x17F) + "unday",
    ]
)


@given(st.one_of(st.text(max_size=120), st.lists(_WORDS, max_size=12).map(" ".join)))
@example("999999 centuries ago")
@example("the year before 0001-01-01")
@example("since since since since since since")
@example("early " * 300)
@settings(max_examples=40, deadline=None)
def test_no_text_makes_it_raise(text: str) -> None:
    """Whatever a user types, recall and retain work, and a window is never empty."""
    for reference in (AUGUST, datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)):
        for window in (
            found(text, reference, rules=language.times)
            for found in (find_window, find_event_time)
            for language in LANGUAGES.values()
            if language.times
        ):
            assert window is None or (
                window.interval.start < window.interval.end and text[slice(*window.span)] == window.phrase
            )


@every_row(
    ("statement", "dated"),
    [
        ('Ann read "The Summer of 1967" to me.', None),
        ('Ann said "I was in Rome last week".', "2024-06-03"),
        ('Ann read "The Summer of 1967" yesterday.', "2024-06-11"),
        ("Reminder: Dentist Appointment on Monday", "2024-06-17"),
    ],
)
def test_a_title_dates_no_event_and_what_was_said_may(statement: str, dated: str | None) -> None:
    found = find_event_time(statement, datetime(2024, 6, 12, 9, tzinfo=UTC), rules=TIME_RULES)
    assert (found and f"{found.interval.start:%Y-%m-%d}") == dated


def test_a_page_of_quotation_marks_is_read_in_a_moment() -> None:
    started = time.process_time()
    for mark in ('"', "'", "\u201e", " '"):
        find_window(f"{mark}a May 2023 b" * 300, datetime(2024, 6, 12, tzinfo=UTC), rules=TIME_RULES)
        find_window(mark * 3000, datetime(2024, 6, 12, tzinfo=UTC), rules=TIME_RULES)
        find_window("a: B " * 600, datetime(2024, 6, 12, tzinfo=UTC), rules=TIME_RULES)
    assert time.process_time() - started < 5
