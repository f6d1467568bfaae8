"""Records by day, week or month, in the bank's time zone. Pure (decision 135)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_answers import PeriodValue
from hindsight_integrations.model.time import MICROSECOND, Granule, Interval, Weekday

ONE_DAY = timedelta(days=1)

Value = Callable[[Sequence[RecordEntry]], Decimal]
"""What several records come to."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """How days and weeks are told apart.

    Attributes:
        zone: of days.
        week_starts: on which day weeks begin.
    """

    zone: tzinfo
    week_starts: Weekday = Weekday.MONDAY

    def day(self, moment: datetime) -> date:
        """The day on which a moment lies."""
        return moment.astimezone(self.zone).date()

    def days_of(self, entry: RecordEntry) -> tuple[date, date]:
        """The first and the last day of what a record tells of; of one without a time, when it was mentioned."""
        occurred = entry.memory.occurred
        if occurred is None:
            return (day := self.day(entry.memory.mentioned_at)), day
        return self.day(occurred.start), self.day(occurred.end - MICROSECOND)

    def around(self, day: date, period: Granule) -> tuple[date, date]:
        """First and last day of the day, week or month of a day."""
        if period == Granule.MONTH:
            first = day.replace(day=1)
            return first, (first + 31 * ONE_DAY).replace(day=1) - ONE_DAY
        if period == Granule.WEEK:
            first = day - (day.weekday() - self.week_starts.number) % 7 * ONE_DAY
            return first, first + 6 * ONE_DAY
        return day, day

    def days(self, window: Interval) -> tuple[date, date]:
        """First and last day of a window."""
        return self.day(window.start), self.day(window.end - MICROSECOND)


class Uncertain(Exception):
    """Records do not say for sure what a question asks for."""


def within(entries: Iterable[RecordEntry], first: date, last: date, calendar: Calendar) -> list[RecordEntry]:
    """The records of a stretch of days.

    Raises:
        Uncertain: one lies partly in it.
    """
    found = []
    for entry in entries:
        begins, ends = calendar.days_of(entry)
        if ends < first or begins > last:
            continue
        if begins < first or ends > last:
            raise Uncertain
        found.append(entry)
    return found


def by_period(
    entries: Iterable[RecordEntry], period: Granule, value: Value, calendar: Calendar
) -> list[PeriodValue]:
    """What the records of each day, week or month come to, in order of time; those without records are left out.

    Raises:
        Uncertain: a record lies in several.
    """
    parts: dict[tuple[date, date], list[RecordEntry]] = {}
    for entry in entries:
        begins, ends = calendar.days_of(entry)
        bounds = calendar.around(begins, period)
        if ends > bounds[1]:
            raise Uncertain
        parts.setdefault(bounds, []).append(entry)
    return [PeriodValue(*bounds, value(parts[bounds]), tuple(parts[bounds])) for bounds in sorted(parts)]


def in_window(
    entries: Sequence[RecordEntry],
    days: tuple[date, date] | None,
    period: Granule,
    value: Value,
    calendar: Calendar,
) -> list[PeriodValue]:
    """The periods of a window, a week at its edge whole.

    Raises:
        Uncertain: a record lies in several periods, or records of a week at the edge lie outside the window, so that it
            depends on how much of that week is meant.
    """
    if days is None:
        return by_period(entries, period, value, calendar)
    inside = by_period(within(entries, *days, calendar), period, value, calendar)
    whole = {part.start: part for part in by_period(entries, period, value, calendar)}
    if any(whole[part.start].value != part.value for part in inside):
        raise Uncertain
    return inside
