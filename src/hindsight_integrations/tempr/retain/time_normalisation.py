"""Time normalisation: the dates extraction wrote, as half-open intervals, and back as readable text (paper section 4.1.2). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from hindsight_integrations.model.time import Granule, Interval, as_utc

_ISO = re.compile(
    r"^\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?\s*$"
)
_GRANULES = (Granule.YEAR, Granule.MONTH, Granule.DAY, Granule.HOUR, Granule.MINUTE, Granule.SECOND)
_FIXED = {
    Granule.DAY: timedelta(days=1),
    Granule.HOUR: timedelta(hours=1),
    Granule.MINUTE: timedelta(minutes=1),
    Granule.SECOND: timedelta(seconds=1),
}


def parse_moment(text: str) -> tuple[datetime, Granule] | None:
    """Start of an ISO date of any coarseness and its granule: "2023" is a year, "2023-05" a month.

    Naive unless the text has an offset; None if it is no date, or an impossible one.
    """
    match = _ISO.match(text)
    if not match:
        return None
    given = [int(part) for part in match.groups()[:6] if part is not None]
    offset = match.group(7)
    defaults = (1, 1, 1, 0, 0, 0)
    try:
        moment = datetime(*given, *defaults[len(given) :], tzinfo=_offset(offset))  # type: ignore[misc]
    except ValueError:
        return None
    return moment, _GRANULES[len(given) - 1]


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    return UTC if text == "Z" else datetime.strptime(text.replace(":", ""), "%z").tzinfo


def occurrence(start: str | None, end: str | None, zone: tzinfo) -> Interval | None:
    """The half-open interval from the start of `start` to the end of the granule of `end`.

    A null end is the start's granule, never "until now" (design section 6). An end that cannot be read, or lies before
    the start, is treated as null. None if the start cannot be read.

    Args:
        start: ISO date of any coarseness.
        end: ISO date of the last day (month, year) included.
        zone: in which dates without an offset are read.
    """
    first = parse_moment(start) if start else None
    if first is None:
        return None
    last = parse_moment(end) if end else None
    begins = as_utc(first[0], zone)
    ends = _after(last, zone) if last else _after(first, zone)
    if ends <= begins:
        ends = _after(first, zone)
    return Interval(begins, ends) if ends > begins else None


def _after(moment: tuple[datetime, Granule], zone: tzinfo) -> datetime:
    """The first instant after a granule; the last instant there is, at the end of year 9999."""
    start, granule = moment
    try:
        return as_utc(_next(start, granule), zone)
    except (OverflowError, ValueError):
        return datetime.max.replace(tzinfo=UTC)


def _next(start: datetime, granule: Granule) -> datetime:
    if granule == Granule.YEAR:
        return start.replace(year=start.year + 1)
    if granule == Granule.MONTH:
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    return start + _FIXED[granule]


def readable_time(occurred: Interval | None, mentioned_at: datetime) -> str:
    """When it happened, in words as coarse as known; when it was mentioned, for what has no time of its own."""
    if occurred is None:
        return f"mentioned on {_day(mentioned_at)}"
    start, end = occurred.start, occurred.end
    if (start.month, start.day) == (1, 1) and end == _next(start, Granule.YEAR):
        return f"happened in {start:%Y}"
    if start.day == 1 and end == _next(start, Granule.MONTH):
        return f"happened in {start:%B %Y}"
    last = end - timedelta(microseconds=1)
    if start.date() == last.date():
        return f"happened on {_day(start)}"
    return f"happened from {_day(start)} to {_day(last)}"


def _day(moment: datetime) -> str:
    return f"{moment:%A}, {moment:%B} {moment.day}, {moment.year}"


def embedding_text(text: str, occurred: Interval | None, mentioned_at: datetime) -> str:
    """What is embedded: the text with a readable time, which the stored text does not carry (earlier paper 2.3.2)."""
    return f"{text} ({readable_time(occurred, mentioned_at)})"
