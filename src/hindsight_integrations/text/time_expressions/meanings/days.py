"""Single days by name: today, weekdays, ISO and written dates without a month name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.text.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    day_span,
    month_span,
    shift,
    weekday_after,
    weekday_before,
    weekday_in,
)
from hindsight_integrations.text.time_expressions.grammar import Direction, Reading, Scope
from hindsight_integrations.text.time_expressions.nearest import short_year, unspecified, year_of_tail
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import Which

_MONTHS_IN_YEAR = 12
_MONTHS_SEARCHED = 28  # a Friday the 13th is at most 14 months off


@needs("near")
def near_day(match: re.Match[str], scope: Scope) -> Span:
    """As in "Yesterday", "the day after tomorrow"."""
    return containing(Unit.DAY, shift(scope.now, Unit.DAY, scope.words.near[word(match["near"])]))


@needs("unit", "number", "near")
def near_day_ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "A year ago today": the same date then, not the whole year."""
    unit, words = scope.words.units[word(match["unit"])], scope.words
    count = words.numbers.get(word(match["number"])) or int(match["number"].replace(words.thousands, ""))
    count *= words.multiples.get(word(match["unit"]), 1)
    moment = shift(scope.now, Unit.DAY, words.near[word(match["near"])] if match["near"] else 0)
    return containing(Unit.DAY, shift(moment, unit, -count))


def which_of(match: re.Match[str], scope: Scope) -> Which:
    """Which of several a match names: the last one, this one or the next."""
    return scope.words.which[word(match["which"])]


def weekday_of(match: re.Match[str], scope: Scope) -> int:
    """The weekday of a match, Monday 0."""
    name = "weekday" if "weekday" in match.re.groupindex else "clear_weekday"
    return scope.words.weekdays[word(match[name])]


@needs("weekday|clear_weekday")
def plain_weekday(match: re.Match[str], scope: Scope) -> Span:
    """As in "On Friday": the latest before today; looking ahead, the next after it.

    Raises:
        ValueError: in the year of a neighbour, which names no one weekday.
    """
    if scope.year is not None:
        raise ValueError("a year has no one such weekday")
    towards = weekday_before if scope.direction is Direction.PAST else weekday_after
    return replace(towards(scope.now, weekday_of(match, scope)), floating=True)


@needs("weekday|clear_weekday")
def named_weekday(match: re.Match[str], scope: Scope) -> Span | None:
    """A weekday in front of a capitalised word is a name or a title ("Sunday Times")."""
    goes_on = regex(scope.words.name_goes_on, exact=True).match(scope.text, match.end())
    return None if goes_on else plain_weekday(match, scope)


@needs("weekday", "weekday2")
def two_weekdays(match: re.Match[str], scope: Scope) -> Span:
    """As in "Mon through Wed": from the latest such day before today (ahead, the next) to the next such end."""
    first = plain_weekday(match, scope)
    last = weekday_after(first.start, scope.words.weekdays[word(match["weekday2"])])
    return Span(first.start, last.end, Unit.DAY, floating=True)


@needs("weekday|clear_weekday", "which")
def which_weekday(match: re.Match[str], scope: Scope) -> Span:
    """As in "Last Friday", "this Friday", "next Friday"."""
    weekday, which = weekday_of(match, scope), which_of(match, scope)
    if which is Which.LAST:
        return weekday_before(scope.now, weekday)
    if which is Which.NEXT:
        return weekday_after(scope.now, weekday)
    return weekday_in(scope.unit_around(Unit.WEEK, scope.now), weekday)


@needs("weekday|clear_weekday")
def last_weekday(match: re.Match[str], scope: Scope) -> Span:
    """As in "Friday just gone"."""
    return weekday_before(scope.now, weekday_of(match, scope))


@needs("weekday|clear_weekday")
def weekday_before_last(match: re.Match[str], scope: Scope) -> Span:
    """As in "The Friday before last"."""
    return weekday_before(last_weekday(match, scope).start, weekday_of(match, scope))


@needs("weekday|clear_weekday", "which")
def weekday_of_week(match: re.Match[str], scope: Scope) -> Span:
    """As in "Friday of last week"."""
    week = scope.unit_around(Unit.WEEK, shift(scope.now, Unit.WEEK, which_of(match, scope)))
    return weekday_in(week, weekday_of(match, scope))


@needs("weekday|clear_weekday", "weekday2", "which")
def weekdays_of_week(match: re.Match[str], scope: Scope) -> Span:
    """As in "Mon to Wed last week"."""
    first = weekday_of_week(match, scope)
    last = weekday_after(first.start, scope.words.weekdays[word(match["weekday2"])])
    return Span(first.start, last.end, Unit.DAY)


@needs("weekday|clear_weekday")
def weekday_behind_week(week: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Last week on Friday"."""
    span = week.span
    if span is None or span.unit is not Unit.WEEK or span != scope.unit_around(Unit.WEEK, span.start):
        return None
    return weekday_in(span, weekday_of(match, scope))


@needs("year", "m", "d")
def iso_day(match: re.Match[str], _scope: Scope) -> Span:
    """As in "2023-05-08"."""
    return day_span(int(match["year"]), int(match["m"]), int(match["d"]))


@needs("year", "m")
def iso_month(match: re.Match[str], _scope: Scope) -> Span | None:
    """As in "2023-05"."""
    month = int(match["m"])
    return month_span(int(match["year"]), month) if 1 <= month <= _MONTHS_IN_YEAR else None


@needs("d", "m", "y")
def day_first(match: re.Match[str], scope: Scope) -> Span:
    """Day, month and year as written in Europe: "8.5.2023"."""
    return day_span(_written_year(match["y"], scope), int(match["m"]), int(match["d"]))


@needs("d", "m")
def day_month(match: re.Match[str], scope: Scope) -> Span:
    """Day and month without a year: "8.5."."""
    month, day = int(match["m"]), int(match["d"])
    return unspecified(scope, lambda year: day_span(year, month, day))


@needs("d", "m", "y?")
def in_figures(match: re.Match[str], scope: Scope) -> Span:
    """Day, month and perhaps year, in the order of the rule unless its month can only be a day."""
    day, month = int(match["d"]), int(match["m"])
    if month > _MONTHS_IN_YEAR:
        day, month = month, day
    if "y" in match.re.groupindex:
        return day_span(_written_year(match["y"], scope), month, day)
    return unspecified(scope, lambda year: day_span(year, month, day))


def _written_year(digits: str, scope: Scope) -> int:
    return int(digits) if len(digits) == 4 else short_year(int(digits), scope)


def day_number(text: str, scope: Scope) -> int:
    """The day of "5", "5th" or "fifth"."""
    plain = word(text)
    return scope.words.day_numbers.get(plain) or int("".join(filter(str.isdigit, plain)))


@needs("day", "weekday?")
def day_of_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "On the 5th": the latest one; looking ahead, the next. "Friday the 13th" is one that was a Friday."""
    day = day_number(match["day"], scope)
    weekday = weekday_of(match, scope) if "weekday" in match.re.groupindex else None
    past = scope.direction is Direction.PAST
    for month in _months(scope.now, -1 if past else 1):
        try:
            span = day_span(month.year, month.month, day)
        except ValueError:
            continue
        begun = span.start <= scope.now if past else span.end > scope.now
        if begun and weekday in (None, span.start.weekday()):
            return span
    raise ValueError(f"no day {day} near the reference")


def _months(moment: datetime, step: int) -> Iterator[datetime]:
    first = containing(Unit.MONTH, moment).start
    return (shift(first, Unit.MONTH, step * count) for count in range(_MONTHS_SEARCHED))


@needs("which", "day")
def day_of_which_month(match: re.Match[str], scope: Scope) -> Span:
    """Day of a month relative to this one: "the 5th of last month"."""
    offset = which_of(match, scope)
    month = shift(containing(Unit.MONTH, scope.now).start, Unit.MONTH, offset)
    return day_span(month.year, month.month, day_number(match["day"], scope))


@needs("day")
def day_behind_month(month: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Last month on the 5th"."""
    span = month.span
    if span is None or span != containing(Unit.MONTH, span.start):
        return None
    return day_span(span.start.year, span.start.month, day_number(match["day"], scope))


@needs("tail")
def this_day_then(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "On this day last year", "on this day in 2019"."""
    year = year_of_tail(scope, match["tail"])
    return None if year is None else day_span(year, scope.now.month, scope.now.day)


@needs("tail")
def this_time_then(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "This time last year": the same month then."""
    year = year_of_tail(scope, match["tail"])
    return None if year is None else month_span(year, scope.now.month)
