"""Parts of longer times: "early 2023", "the first week of June", "the second half of May", "earlier this week"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import wraps

from hindsight_integrations.text.time_expressions.calendar import (
    SATURDAY,
    Span,
    Unit,
    containing,
    midnight,
    month_span,
    nth_weekday,
    portion,
    shift,
    weekend_near,
    years_span,
)
from hindsight_integrations.text.time_expressions.grammar import Build, Level, Reading, Scope
from hindsight_integrations.text.time_expressions.meanings.days import weekday_of
from hindsight_integrations.text.time_expressions.meanings.offsets import counted, unit_of
from hindsight_integrations.text.time_expressions.nearest import of_tail, year_of_tail
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import word

_QUARTERS = 4
_WEEK = timedelta(days=7)
_PARTED = timedelta(days=2)  # shorter times have no parts


PartOf = Callable[[re.Match[str], Scope, Span], Span | None]


def of_anchor(at_least: timedelta = timedelta()) -> Callable[[PartOf], Build]:
    """Reads the time that begins where a match ends, of which the decorated function gives a part or a neighbour.

    The reading ends with that time, and has a year if that has one.

    Args:
        at_least: how long the time must be.
    """

    def read(meaning: PartOf) -> Build:
        @wraps(meaning)
        def built(match: re.Match[str], scope: Scope) -> Reading | None:
            anchor = scope.time_at(match.end(), Level.ATOM)
            if anchor is None or anchor.span is None or anchor.span.end - anchor.span.start < at_least:
                return None
            span = meaning(match, scope, anchor.span)
            if span is None:
                return None
            return Reading(match.start(), anchor.end, replace(span, floating=anchor.span.floating))

        return built

    return read


@needs("portion")
@of_anchor(_PARTED)
def some_part(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """As in "Early 2023", "the end of May"."""
    return _portion(match, scope, whole, of_year=whole.unit is Unit.YEAR)


@needs("ordinal", "piece")
@of_anchor(_PARTED)
def piece(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """As in "The first half of 2023", "the last quarter of 2024"."""
    span = _piece(match, scope, whole)
    return replace(span, unit=Unit.QUARTER) if scope.words.pieces[word(match["piece"])] == _QUARTERS else span


@needs("ordinal", "unit", "amount")
@of_anchor(_PARTED)
def nth_unit(match: re.Match[str], scope: Scope, whole: Span) -> Span | None:
    """As in "The first week of June" is its first seven days, "the last three days of May" its last three."""
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    if unit is Unit.WEEKEND:
        return containing(unit, nth_weekday(whole, SATURDAY, number).start)
    count = counted(match["amount"], match["unit"], scope.words)[1] if match["amount"] else 1
    return _slice(whole, unit, -1 if number < 0 else (number - 1) * count, count)


def _slice(whole: Span, unit: Unit, index: int, count: int) -> Span | None:
    """`count` units of `whole`; None if they are not inside it ("last year in May" is no part of May)."""
    if index < 0:
        start, end = shift(whole.end, unit, -count), whole.end
    else:
        start = shift(whole.start, unit, index)
        end = min(shift(start, unit, count), whole.end)
    return Span(start, end, unit) if whole.start <= start < end else None


def _piece(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """The half, third or quarter of `whole` that a match names.

    Raises:
        ValueError: it has not so many.
    """
    of, number = scope.words.pieces[word(match["piece"])], scope.words.ordinals[word(match["ordinal"])]
    first = of - 1 if number < 0 else number - 1
    if first >= of:
        raise ValueError(f"no piece {number} of {of}")
    return portion(whole, first, first + 1, of)


def _portion(match: re.Match[str], scope: Scope, whole: Span, *, of_year: bool) -> Span:
    """The share of `whole` that a match names; early and late mean less of a year."""
    name = word(match["portion"])
    shares = scope.words.year_portions.get(name) if of_year else None
    return portion(whole, *(shares or scope.words.portions[name]))


@needs("ordinal", "clear_month", "unit", "tail")
def unit_of_month(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In der ersten Juniwoche", the same in one word."""
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    month = _month(match, scope)
    if unit is Unit.WEEKEND:
        return containing(unit, nth_weekday(month, SATURDAY, number).start)
    return _slice(month, unit, -1 if number < 0 else number - 1, 1)


@needs("ordinal", "clear_month", "piece", "tail")
def piece_of_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "In der ersten Junihälfte"."""
    return _piece(match, scope, _month(match, scope))


def _month(match: re.Match[str], scope: Scope) -> Span:
    number = scope.words.months[word(match["clear_month"])]
    return of_tail(scope, lambda year: month_span(year, number), match["tail"])


@needs("portion", "unit", "tail")
def part_of_unit(match: re.Match[str], scope: Scope) -> Span:
    """As in "Jahresbeginn", "zum Monatsende": of the running unit, or of the year named behind it."""
    unit = unit_of(match, scope)
    year = year_of_tail(scope, match["tail"]) if unit is Unit.YEAR else None
    whole = scope.unit_around(unit, scope.now) if year is None else years_span(year)
    return _portion(match, scope, whole, of_year=unit is Unit.YEAR)


@needs("ordinal", "weekday|clear_weekday")
@of_anchor(_PARTED)
def nth_day(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """As in "The last Friday of March"."""
    number = scope.words.ordinals[word(match["ordinal"])]
    return nth_weekday(whole, weekday_of(match, scope), number)


@needs("unit|short_unit")
@of_anchor()
def unit_of_day(match: re.Match[str], scope: Scope, day: Span) -> Span | None:
    """As in "The weekend of June 3", "the week of 5 May"."""
    if day.unit is not Unit.DAY:
        return None
    unit = unit_of(match, scope)
    return weekend_near(day.start) if unit is Unit.WEEKEND else scope.unit_around(unit, day.start)


@needs()
@of_anchor()
def week_from(_match: re.Match[str], _scope: Scope, day: Span) -> Span | None:
    """As in "The week starting 5 June": seven days."""
    return Span(day.start, day.start + _WEEK, Unit.WEEK) if day.unit is Unit.DAY else None


@needs()
@of_anchor()
def week_to(_match: re.Match[str], _scope: Scope, day: Span) -> Span | None:
    """As in "The week ending 11 June": seven days."""
    return Span(day.end - _WEEK, day.end, Unit.WEEK) if day.unit is Unit.DAY else None


@needs("side")
@of_anchor()
def rest(match: re.Match[str], scope: Scope, whole: Span) -> Span | None:
    """As in "Earlier this week" ends now, "later this year" begins now."""
    if not whole.start <= scope.now < whole.end:
        return None
    if word(match["side"]) in scope.words.earlier:
        return replace(whole, end=containing(Unit.DAY, scope.now).end)
    return replace(whole, start=midnight(scope.now))
