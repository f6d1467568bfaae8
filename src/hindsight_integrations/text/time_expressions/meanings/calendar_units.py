"""Weeks, weekends, months, quarters and years counted from now: "last week", "this quarter", "the weekend"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from hindsight_integrations.text.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    days_span,
    portion,
    shift,
    years_span,
)
from hindsight_integrations.text.time_expressions.grammar import Build, Direction, Reading, Scope
from hindsight_integrations.text.time_expressions.nearest import of_tail, year_of_tail
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import Which

_COUNTED = {
    Unit.WEEK,
    Unit.WEEKEND,
    Unit.MONTH,
    Unit.QUARTER,
    Unit.HALF,
    Unit.YEAR,
    Unit.DECADE,
    Unit.CENTURY,
}
_QUARTERS, _HALVES = 4, 2


def _offset(scope: Scope, unit: Unit, count: int) -> Span:
    return scope.unit_around(unit, shift(scope.now, unit, count))


def _unit(match: re.Match[str], scope: Scope) -> Unit | None:
    """The unit of a match if it is one of the calendar's, in the singular."""
    name = word(match["unit"])
    unit = scope.words.units[name]
    return unit if unit in _COUNTED and name not in scope.words.plurals else None


@needs("unit", "which")
def which_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Last week", "next year"; a fortnight is no unit of the calendar, so it ends or begins today."""
    unit, name = _unit(match, scope), word(match["which"])
    which = scope.words.which[name]
    if unit is None:
        return None
    if multiple := scope.words.multiples.get(word(match["unit"])):
        first, last = sorted((scope.now, shift(scope.now, unit, which * multiple)))
        return days_span(first, last) if which else None
    if unit is Unit.WEEKEND and name in scope.words.coming:
        which = Which.THIS
    return _offset(scope, unit, which)


@needs("unit")
def unit_before_last(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The week before last"."""
    unit = _unit(match, scope)
    return _offset(scope, unit, -2) if unit else None


@needs("unit")
def unit_after_next(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The month after next"."""
    unit = _unit(match, scope)
    return _offset(scope, unit, 2) if unit else None


@needs()
def the_weekend(_match: re.Match[str], scope: Scope) -> Span:
    """The running or coming weekend in an announcement, else the latest that has begun."""
    running = _offset(scope, Unit.WEEKEND, 0)
    begun = running.start <= scope.now or scope.direction is Direction.FUTURE
    return replace(running if begun else _offset(scope, Unit.WEEKEND, -1), floating=True)


@needs("unit")
def the_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The year", in "since the start of the year"."""
    unit = _unit(match, scope)
    if unit is Unit.WEEKEND:
        return the_weekend(match, scope)
    return _offset(scope, unit, 0) if unit else None


@needs("unit", "tail")
def same_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "This month last year", "the same day in 2019"."""
    year = year_of_tail(scope, match["tail"])
    unit = scope.words.units[word(match["unit"])]
    if year is None or word(match["unit"]) in scope.words.plurals:
        return None
    return scope.unit_around(unit, shift(scope.now, Unit.YEAR, year - scope.now.year))


@needs("ordinal|number", "tail|year")
def quarter(match: re.Match[str], scope: Scope) -> Span | None:
    """Quarter of a year by number: "Q2 2024", "2024 Q2", "in the third quarter"."""
    number = _number(match, scope)
    if not 1 <= number <= _QUARTERS:
        raise ValueError(f"no quarter {number}")
    tail = _tail(match)
    if "ordinal" in match.re.groupindex and not tail and regex(scope.words.decoys.games).search(scope.text):
        return None

    def yearly(year: int) -> Span:
        return replace(portion(years_span(year), number - 1, number, _QUARTERS), unit=Unit.QUARTER)

    return of_tail(scope, yearly, tail)


def _number(match: re.Match[str], scope: Scope) -> int:
    if "ordinal" in match.re.groupindex:
        return scope.words.ordinals[word(match["ordinal"])]
    return int(match["number"])


def _tail(match: re.Match[str]) -> str:
    """What names the year, as a tail or by itself."""
    return match["tail" if "tail" in match.re.groupindex else "year"]


@needs("ordinal|number", "tail|year")
def half(match: re.Match[str], scope: Scope) -> Span:
    """As in "H1 2023"."""
    number = _number(match, scope)
    if not 1 <= number <= _HALVES:
        raise ValueError(f"no half {number}")
    return of_tail(scope, lambda year: portion(years_span(year), number - 1, number, _HALVES), _tail(match))


@needs("number", "tail|year")
def iso_week(match: re.Match[str], scope: Scope) -> Span:
    """As in "2024-W23", "week 23 of 2024": Monday to Sunday, ISO 8601."""
    number = int(match["number"])

    def yearly(year: int) -> Span:
        return containing(Unit.WEEK, datetime.fromisocalendar(year, number, 1))

    return of_tail(scope, yearly, _tail(match))


def to_date(unit: Unit) -> Build:
    """As in "Year to date", "YTD": from the start of the running unit to the end of today."""

    @needs()
    def so_much(_match: re.Match[str], scope: Scope) -> Span:
        return _until_today(scope.unit_around(unit, scope.now), scope)

    return so_much


def running(unit: Unit) -> Build:
    """As in "Heuer": one word for the running unit."""

    @needs()
    def whole(_match: re.Match[str], scope: Scope) -> Span:
        return scope.unit_around(unit, scope.now)

    return whole


@needs()
def so_far(whole: Reading, _match: re.Match[str], scope: Scope) -> Span | None:
    """As in "This week so far"."""
    if whole.span is None or whole.open_ended or not whole.span.start <= scope.now < whole.span.end:
        return None
    return _until_today(whole.span, scope)


def _until_today(whole: Span, scope: Scope) -> Span:
    return replace(whole, end=containing(Unit.DAY, scope.now).start + timedelta(days=1))
