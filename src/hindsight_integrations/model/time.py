"""Instants and intervals. Inside the engine every instant is aware UTC, and every interval is half-open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import TypeAlias

from hindsight_integrations.errors import InvalidRequest, shown

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_INSTANT = datetime.min.replace(tzinfo=UTC)
LAST_INSTANT = datetime.max.replace(tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000  # microseconds
DAY = 86_400_000_000
"""Microseconds in a day."""


Moment: TypeAlias = datetime | str | float | None
"""A moment as accepted from callers: a datetime, a timestamp as text, or Unix seconds."""

Window: TypeAlias = tuple[datetime | str, datetime | str] | None
"""A time range (start, end) as accepted from callers; None for no range."""


class Granule(StrEnum):
    """The precision of a time, which determines its span: "in May" spans the whole month."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


_FIXED = {
    Granule.DAY: timedelta(days=1),
    Granule.HOUR: timedelta(hours=1),
    Granule.MINUTE: timedelta(minutes=1),
    Granule.SECOND: timedelta(seconds=1),
}


@dataclass(frozen=True, slots=True)
class Interval:
    """A half-open interval [start, end) of aware UTC instants; never empty.

    Raises:
        InvalidRequest: a bound is naive, or end <= start.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        bounds: tuple[object, object] = (self.start, self.end)
        if not all(isinstance(bound, datetime) for bound in bounds):
            raise InvalidRequest(
                "interval", f"{shown(bounds)} are not two datetimes", "Pass aware datetimes."
            )
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise InvalidRequest("interval", "its bounds have no time zone", "Pass aware datetimes.")
        if self.end <= self.start:
            raise InvalidRequest(
                "interval", f"it ends ({self.end}) before it starts ({self.start})", "Swap the bounds."
            )

    @property
    def midpoint(self) -> datetime:
        """The instant halfway between the bounds."""
        return self.start + (self.end - self.start) / 2

    def overlaps(self, other: Interval) -> bool:
        """Return whether the two intervals share at least one instant (paper eq. 13)."""
        return self.start < other.end and other.start < self.end


def as_utc(moment: datetime, zone: tzinfo = UTC) -> datetime:
    """Convert an instant to UTC; a naive one is interpreted in `zone`, the bank's time zone.

    Raises:
        InvalidRequest: the converted instant is outside the years 1 to 9999.
    """
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    try:
        return aware.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidRequest(
            "timestamp", f"{shown(moment)} is out of range", "Use a date between years 1 and 9999."
        ) from error


def next_instant(moment: datetime) -> datetime:
    """Return the instant one microsecond later; the last instant of the year 9999 is returned unchanged."""
    return moment + MICROSECOND if moment < LAST_INSTANT else moment


def to_micros(moment: datetime) -> int:
    """Return whole microseconds since 1970-01-01 UTC, the stored form of instants."""
    return (moment - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the instant of a number of microseconds since 1970-01-01 UTC, the inverse of `to_micros`."""
    return EPOCH + timedelta(microseconds=int(micros))


def granule_after(start: datetime, granule: Granule) -> datetime:
    """Return the end of the year, month, day, hour, minute or second that begins at `start`."""
    if granule == Granule.YEAR:
        return start.replace(year=start.year + 1)
    if granule == Granule.MONTH:
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    return start + _FIXED[granule]


def readable_time(
    occurred: Interval | None, mentioned_at: datetime, seen_from: datetime | None = None
) -> str:
    """Format the time of an event, past or planned, at its precision; without an event time, the mention time.

    Args:
        occurred: the interval of the event, in the past or future.
        mentioned_at: the mention time.
        seen_from: the time of the question. An event that begins later, or that was announced and is not over, is
            "planned". An event that was announced and is over "was planned", since it was not confirmed. None formats every
            event as "happened".
    """
    if occurred is None:
        return f"mentioned on {_day(mentioned_at)}"
    start, last = occurred.start, occurred.end - MICROSECOND
    verb, one = "happened", ""
    if seen_from is not None and mentioned_at < start:
        verb, one = ("planned" if seen_from < occurred.end else "was planned"), "for"
    elif seen_from is not None and seen_from < start:
        verb, one = "planned", "for"
    if (start.month, start.day) == (1, 1) and _is_one(occurred, Granule.YEAR):
        return f"{verb} {one or 'in'} {start:%Y}"
    if start.day == 1 and _is_one(occurred, Granule.MONTH):
        return f"{verb} {one or 'in'} {start:%B %Y}"
    if start.date() == last.date():
        return f"{verb} {one or 'on'} {_day(start)}"
    return f"{verb} from {_day(start)} to {_day(last)}"


def iso_time(occurred: Interval) -> str:
    """Format an interval as ISO 8601, at its precision: 2024, 2024-05, 2024-05-03, or two dates separated by a slash."""
    start, last = occurred.start, occurred.end - MICROSECOND
    if (start.month, start.day) == (1, 1) and _is_one(occurred, Granule.YEAR):
        return f"{start.year:04}"
    if start.day == 1 and _is_one(occurred, Granule.MONTH):
        return f"{start.year:04}-{start.month:02}"
    days = dict.fromkeys((start.date().isoformat(), last.date().isoformat()))
    return "/".join(days)


def _is_one(span: Interval, granule: Granule) -> bool:
    """Return whether a span is exactly the year or month in which it begins."""
    try:
        return span.end == granule_after(span.start, granule)
    except (OverflowError, ValueError):  # the granule would end after the year 9999
        return False


def _day(moment: datetime) -> str:
    return f"{moment:%A}, {moment:%B} {moment.day}, {moment.year}"


class Weekday(StrEnum):
    """The first day of the week."""

    MONDAY = "monday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"

    @property
    def number(self) -> int:
        """The number of the day as in `datetime.weekday`, where Monday is 0."""
        return {Weekday.MONDAY: 0, Weekday.SATURDAY: 5, Weekday.SUNDAY: 6}[self]


class DateOrder(StrEnum):
    """The order of day, month and year in numeric dates."""

    DMY = "dmy"
    MDY = "mdy"
    YMD = "ymd"


@dataclass(frozen=True, slots=True)
class LocalDates:
    """The time zone and date conventions for times from callers and texts.

    Attributes:
        zone: the time zone of times without one.
        order: the order of day and month in numeric dates; None rejects ambiguous dates.
        week_starts: the first day of the week, for "this week".
    """

    zone: tzinfo
    order: DateOrder | None = None
    week_starts: Weekday = Weekday.MONDAY


def no_later(moment: datetime, by: datetime) -> bool:
    """Return whether a moment is not later than another, compared in whole seconds.

    The mention times of one message's facts differ by microseconds, to keep their order; validity ignores the difference.
    """
    return to_micros(moment) // SECOND <= to_micros(by) // SECOND
