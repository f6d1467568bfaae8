"""Time normalisation: extracted times become intervals and readable text."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.indexes.embedding import embedding_text
from hindsight_integrations.model.time import Granule, Interval, readable_time
from hindsight_integrations.retain.extraction import (
    occurrence,
    parse_moment,
)
from hindsight_integrations.retain.verbatim import iso_bounds

MENTIONED = datetime(2023, 12, 1, 9, tzinfo=UTC)
MOMENTS = [
    ("2023", (2023, 1, 1), Granule.YEAR),
    ("2023-05", (2023, 5, 1), Granule.MONTH),
    ("2023-05-07", (2023, 5, 7), Granule.DAY),
    ("2023-05-07T13:56", (2023, 5, 7, 13, 56), Granule.MINUTE),
    ("2023-05-07 13:56:20", (2023, 5, 7, 13, 56, 20), Granule.SECOND),
]
SPANS = [
    ("2023", None, (2023, 1, 1), (2024, 1, 1)),
    ("2023-12", None, (2023, 12, 1), (2024, 1, 1)),
    ("2023-05-07", "2023-05-07", (2023, 5, 7), (2023, 5, 8)),
    ("2023-06-01", "2023-06-30", (2023, 6, 1), (2023, 7, 1)),
    ("2023-06", "2023-08", (2023, 6, 1), (2023, 9, 1)),
    ("2023-06-05", "2023", (2023, 6, 5), (2024, 1, 1)),
    ("2024-02-29", None, (2024, 2, 29), (2024, 3, 1)),
]


def _utc(
    year: int, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0, second: int = 0, micro: int = 0
) -> datetime:
    return datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)


@every_row(("text", "parts", "granule"), MOMENTS)
def test_dates_keep_the_coarseness_they_were_written_in(
    text: str, parts: tuple[int, ...], granule: Granule
) -> None:
    """ "2023" is a year, not the first of January."""
    parsed = parse_moment(text)
    assert parsed is not None
    assert parsed[0].replace(tzinfo=UTC) == _utc(*parts)
    assert parsed[1] is granule


def test_a_date_before_time_began_is_no_date() -> None:
    """The first of January of year 1, in a zone where UTC is still in year 0, is dropped instead of failing the retain."""
    assert occurrence("0001-01-01", None, ZoneInfo("Asia/Tokyo")) is None
    assert occurrence("0001-01-01", None, UTC) is not None


@pytest.mark.parametrize("text", ["2023-05-07T13:56Z", "2023-05-07T15:56+02:00", "2023-05-07T09:56-0400"])
def test_offsets_are_honoured(text: str) -> None:
    """The same instant written in three zones is one instant."""
    parsed = parse_moment(text)
    assert parsed is not None
    assert parsed[0].astimezone(UTC) == _utc(2023, 5, 7, 13, 56)


@every_row("text", ["", "soon", "2023-02-30", "2023-13", "0000", "May 2023", "2023-05-07T25:00"])
def test_what_is_no_date_is_none(text: str) -> None:
    """A model's "soon" or an impossible date never becomes a date."""
    assert parse_moment(text) is None


@every_row(("start", "end", "first", "after"), SPANS)
def test_an_occurrence_covers_its_granules(
    start: str, end: str | None, first: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """An event in June 2023 is found by a question about any day of June, and about none of July."""
    assert occurrence(start, end, UTC) == Interval(_utc(*first), _utc(*after))


@pytest.mark.parametrize("end", [None, "2022-01-01", "later"])
def test_a_missing_or_mistaken_end_leaves_the_start(end: str | None) -> None:
    """A fact without a valid end has the length of its start's precision; it does not last until now."""
    assert occurrence("2023-05-07", end, UTC) == Interval(_utc(2023, 5, 7), _utc(2023, 5, 8))


@pytest.mark.parametrize("start", [None, "", "unknown"])
def test_no_start_is_no_occurrence(start: str | None) -> None:
    """A fact with an unreadable date has no time."""
    assert occurrence(start, None, UTC) is None


def test_days_are_those_of_the_bank_zone() -> None:
    """A Tokyo user's 7 May begins at 15:00 UTC the day before."""
    found = occurrence("2023-05-07", None, ZoneInfo("Asia/Tokyo"))
    assert found == Interval(_utc(2023, 5, 6, 15), _utc(2023, 5, 7, 15))


@every_row(
    ("start", "end", "words"),
    [
        ("2023-11", None, "happened in November 2023"),
        ("2023", None, "happened in 2023"),
        ("2023-05-07", None, "happened on Sunday, May 7, 2023"),
        ("2023-05-07", "2023-05-09", "happened from Sunday, May 7, 2023 to Tuesday, May 9, 2023"),
    ],
)
def test_times_are_readable_at_their_own_coarseness(start: str, end: str | None, words: str) -> None:
    """The embedded text names a month as a month and a day with its weekday."""
    occurred = occurrence(start, end, UTC)
    assert occurred is not None
    assert readable_time(occurred, MENTIONED) == words


def test_embedding_text_is_the_papers_example() -> None:
    """Earlier paper 2.3.2: the embedded text has the time in brackets after the stored text."""
    text = embedding_text("Alice started working at Google", occurrence("2023-11", None, UTC), MENTIONED)
    assert text == "Alice started working at Google (happened in November 2023)"


@given(
    st.dates(date(1950, 1, 1), date(2100, 1, 1)),
    st.integers(min_value=1, max_value=800),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Africa/Cairo"]),
    st.integers(min_value=0, max_value=86_399),
)
@settings(max_examples=40, deadline=None)
def test_written_bounds_read_back_exactly(first: date, length: int, zone_name: str, second: int) -> None:
    """Times written by the model-free extractor are read back as the same instants."""
    zone = ZoneInfo(zone_name)
    start = datetime.combine(first, datetime.min.time(), zone).astimezone(UTC) + timedelta(seconds=second)
    interval = Interval(start, start + timedelta(hours=length))
    assert occurrence(*iso_bounds(interval, zone), zone) == interval
