"""What a time expression comes to: an interval of instants, and the words it was read from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Granule, Interval, as_utc
from hindsight_integrations.text.time_expressions.calendar import GRANULE_OF, Span

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MIDDLE_YEAR = 5000


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time window found in a text.

    Attributes:
        interval: the instants it covers, half-open, UTC.
        granule: the unit the words were given in ("last week": WEEK).
        phrase: the words.
        span: their character offsets in the text, end excluded.
        from_now: they name nothing but units counted from now: "this week", "yesterday", "the last 7 days", but no month,
            weekday, season, feast or part of a day, which texts name too.
    """

    interval: Interval
    granule: Granule
    phrase: str
    span: tuple[int, int]
    from_now: bool = False


def as_interval(span: Span, zone: tzinfo) -> Interval | None:
    """The instants of a local span; None if a clock change leaves nothing of it."""
    start, end = _instant(span.start, zone), _instant(span.end, zone)
    return Interval(start, end) if start < end else None


def granule_of(span: Span) -> Granule:
    """The granule of the unit that the words of a span gave."""
    return GRANULE_OF[span.unit]


def _instant(moment: datetime, zone: tzinfo) -> datetime:
    """UTC of a local time; the first and last days of the calendar are cut off at years 1 and 9999."""
    try:
        return as_utc(moment, zone)
    except InvalidRequest:
        return _FIRST if moment.year < _MIDDLE_YEAR else _LAST
