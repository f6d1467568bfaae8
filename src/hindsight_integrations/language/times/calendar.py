"""Calendar arithmetic on naive local times and half-open spans, and conversion to UTC windows.

Functions on spans raise ValueError or OverflowError for dates outside the years 1 to 9999, which the grammar treats as
an impossible time.
"""

from __future__ import annotations

import calendar as _month_lengths
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Granule, Interval, Weekday, as_utc

EARLIEST = datetime.combine(date.min, time.min)  # the start of a span without a beginning
LATEST = datetime.combine(date.max, time.max)  # the end of an open-ended span
MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6


class Unit(StrEnum):
    """Units of time."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    QUARTER = "quarter"
    HALF = "half"
    YEAR = "year"
    DECADE = "decade"
    CENTURY = "century"


GRANULE_OF = {
    Unit.MINUTE: Granule.MINUTE,
    Unit.HOUR: Granule.HOUR,
    Unit.DAY: Granule.DAY,
    Unit.WEEK: Granule.WEEK,
    Unit.WEEKEND: Granule.DAY,
    Unit.MONTH: Granule.MONTH,
    Unit.QUARTER: Granule.QUARTER,
    Unit.HALF: Granule.QUARTER,
    Unit.YEAR: Granule.YEAR,
    Unit.DECADE: Granule.YEAR,
    Unit.CENTURY: Granule.YEAR,
}

_FIXED = {
    Unit.MINUTE: timedelta(minutes=1),
    Unit.HOUR: timedelta(hours=1),
    Unit.DAY: timedelta(days=1),
    Unit.WEEK: timedelta(days=7),
    Unit.WEEKEND: timedelta(days=7),
}
_MONTHS = {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.HALF: 6, Unit.YEAR: 12, Unit.DECADE: 120, Unit.CENTURY: 1200}


@dataclass(frozen=True, slots=True)
class Span:
    """A span of local time [start, end).

    Attributes:
        start: first instant, naive.
        end: first instant after it, naive.
        unit: the unit named by the expression.
        floating: whether the expression names no year, so that a neighbouring one may supply it.
    """

    start: datetime
    end: datetime
    unit: Unit
    floating: bool = False


def midnight(moment: date) -> datetime:
    """Return the start of the day of `moment`."""
    return datetime.combine(moment.date() if isinstance(moment, datetime) else moment, time.min)


def shift(moment: datetime, unit: Unit, count: int) -> datetime:
    """Move `moment` by `count` units; 31 May minus three months is 28 or 29 February."""
    if unit in _FIXED:
        return moment + _FIXED[unit] * count
    months = moment.year * 12 + moment.month - 1 + _MONTHS[unit] * count
    year, month = divmod(months, 12)
    last = _month_lengths.monthrange(year, month + 1)[1]
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


def _floor(moment: datetime, unit: Unit, week_starts: Weekday) -> datetime:
    if unit is Unit.MINUTE:
        return moment.replace(second=0, microsecond=0)
    if unit is Unit.HOUR:
        return moment.replace(minute=0, second=0, microsecond=0)
    day = midnight(moment)
    if unit is Unit.WEEK:
        return day - timedelta(days=(day.weekday() - week_starts.number) % 7)
    if unit is Unit.WEEKEND:
        return day - timedelta(days=day.weekday())
    if unit is Unit.DAY:
        return day
    width = _MONTHS[unit]
    year, month = divmod((day.year * 12 + day.month - 1) // width * width, 12)
    return day.replace(year=max(year, 1), month=month + 1, day=1)


def containing(unit: Unit, moment: datetime, week_starts: Weekday = Weekday.MONDAY) -> Span:
    """Return the calendar unit that contains `moment`; for a weekend, the weekend of the week from Monday to Sunday."""
    start = _floor(moment, unit, week_starts)
    if unit is Unit.WEEKEND:
        saturday = start + timedelta(days=SATURDAY)
        return Span(saturday, saturday + timedelta(days=2), unit)
    return Span(start, shift(start, unit, 1), unit)


def day_span(year: int, month: int, day: int) -> Span:
    """Return the span of one day."""
    return containing(Unit.DAY, midnight(date(year, month, day)))


def month_span(year: int, month: int, months: int = 1, unit: Unit = Unit.MONTH) -> Span:
    """Return `months` whole months from the first of `month`."""
    start = day_span(year, month, 1).start
    return Span(start, shift(start, Unit.MONTH, months), unit)


def years_span(year: int, years: int = 1, unit: Unit = Unit.YEAR) -> Span:
    """Return `years` whole years from 1 January of `year`."""
    return month_span(year, 1, 12 * years, unit)


def days_span(first: datetime, last: datetime, unit: Unit = Unit.DAY) -> Span:
    """Return the span from the day of `first` to the day of `last`, both included."""
    return Span(midnight(first), midnight(last) + timedelta(days=1), unit)


def weekday_before(moment: datetime, weekday: int) -> Span:
    """Return the latest given weekday before the day of `moment` (Monday is 0)."""
    back = (moment.weekday() - weekday - 1) % 7 + 1
    return containing(Unit.DAY, moment - timedelta(days=back))


def weekday_after(moment: datetime, weekday: int) -> Span:
    """Return the next given weekday after the day of `moment`."""
    ahead = (weekday - moment.weekday() - 1) % 7 + 1
    return containing(Unit.DAY, moment + timedelta(days=ahead))


def weekday_in(week: Span, weekday: int) -> Span:
    """Return a weekday of a week, whichever day the week starts on."""
    return containing(Unit.DAY, week.start + timedelta(days=(weekday - week.start.weekday()) % 7))


def weekend_near(moment: datetime) -> Span:
    """Return the weekend nearest to a day; for Monday and Tuesday, the past weekend."""
    return containing(Unit.WEEKEND, moment - timedelta(days=2))


def nth_weekday(span: Span, weekday: int, nth: int) -> Span:
    """Return the nth given weekday (1 first, -1 last) inside `span`.

    Raises:
        ValueError: the span has no such day.
    """
    if nth < 0:
        found = weekday_before(span.end, weekday).start + timedelta(days=7 * (nth + 1))
    else:
        found = weekday_after(span.start - timedelta(days=1), weekday).start + timedelta(days=7 * (nth - 1))
    if not span.start <= found < span.end:
        raise ValueError(f"no weekday {weekday} number {nth} in {span}")
    return containing(Unit.DAY, found)


def easter(year: int) -> Span:
    """Compute Western Easter Sunday (anonymous Gregorian algorithm, Meeus, Astronomical Algorithms, chapter 8)."""
    golden, century, rest = year % 19, year // 100, year % 100
    leap = century // 4
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leap - correction + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return day_span(year, month, day + 1)


def portion(span: Span, first: int, last: int, of: int) -> Span:
    """Divide `span` into `of` parts at whole months or days; return parts `first` (from 0) to `last` (excluded).

    A third of a month is ten days, which is what "early", "mid" and "late" usually mean.
    """
    months = (span.end.year - span.start.year) * 12 + span.end.month - span.start.month
    if months >= of and months > 1:
        unit, width = (Unit.YEAR, 12) if months >= 12 * of else (Unit.MONTH, 1)
        cuts = [shift(span.start, unit, -(-months * part // (width * of))) for part in (first, last)]
        return replace(span, start=cuts[0], end=cuts[1], unit=unit)
    days = 30 if span.unit is Unit.MONTH else (span.end - span.start).days
    start = span.start + timedelta(days=days * first // of)
    end = span.end if last == of else span.start + timedelta(days=days * last // of)
    return replace(span, start=start, end=end, unit=Unit.DAY)


_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MIDDLE_YEAR = 5000


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time window found in a text.

    Attributes:
        interval: the covered interval, half-open, UTC.
        granule: the unit of the expression ("last week": WEEK).
        phrase: the expression.
        span: its character offsets in the text, end excluded.
        from_now: whether the expression only counts units from now ("this week", "yesterday", "the last 7 days") and
            names no month, weekday, season, holiday or part of a day, which texts of memories may also name.
    """

    interval: Interval
    granule: Granule
    phrase: str
    span: tuple[int, int]
    from_now: bool = False


def as_interval(span: Span, zone: tzinfo) -> Interval | None:
    """Convert a local span to a UTC interval; None if a clock change leaves it empty."""
    start, end = _instant(span.start, zone), _instant(span.end, zone)
    return Interval(start, end) if start < end else None


def _instant(moment: datetime, zone: tzinfo) -> datetime:
    """Convert a local time to UTC, clipped to the years 1 and 9999."""
    try:
        return as_utc(moment, zone)
    except InvalidRequest:
        return _FIRST if moment.year < _MIDDLE_YEAR else _LAST
