"""Times before or after another: "two weeks before Christmas", "the weekend after", "the Friday before 3 May"."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from hindsight_integrations.text.time_expressions.calendar import (
    SATURDAY,
    Span,
    Unit,
    containing,
    shift,
    weekday_after,
    weekday_before,
)
from hindsight_integrations.text.time_expressions.grammar import Reading, Scope
from hindsight_integrations.text.time_expressions.meanings.days import weekday_of
from hindsight_integrations.text.time_expressions.meanings.offsets import around, counted, unit_of
from hindsight_integrations.text.time_expressions.meanings.parts import anchor_at, part_of
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import word

_ONE_DAY = timedelta(days=1)
_CALENDAR = {Unit.MONTH, Unit.QUARTER, Unit.HALF, Unit.YEAR, Unit.DECADE, Unit.CENTURY}


def _looks_back(match: re.Match[str], scope: Scope) -> bool:
    return word(match["side"]) in scope.words.before


@needs("side", "amount", "unit")
def counted_from(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Two weeks before Christmas 2023" is the week that lies there, as "two weeks ago" is."""
    found = anchor_at(match, scope)
    if found is None:
        return None
    anchor, span = found
    back = _looks_back(match, scope)
    edge = span.start if back else max(span.start, span.end - _ONE_DAY)
    least, most = (
        count * (-1 if back else 1) for count in counted(match["amount"], match["unit"], scope.words)
    )
    return part_of(match, anchor, around(Span(edge, edge, span.unit), unit_of(match, scope), least, most))


@needs("side", "amount", "unit")
def stretch_beside(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The two weeks before Christmas": the fourteen days that end where it begins."""
    found = anchor_at(match, scope)
    if found is None:
        return None
    anchor, span = found
    count = counted(match["amount"], match["unit"], scope.words)[1]
    edge, sign = (span.start, -1) if _looks_back(match, scope) else (span.end, 1)
    first, last = sorted((edge, shift(edge, unit_of(match, scope), sign * count)))
    return part_of(match, anchor, Span(first, last, unit_of(match, scope)))


@needs("side", "unit")
def unit_beside(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The week before Christmas" ends where Christmas begins; "the month before" is the calendar's."""
    found = anchor_at(match, scope)
    if found is None:
        return None
    anchor, span = found
    unit, back = unit_of(match, scope), _looks_back(match, scope)
    edge = span.start if back else span.end
    if unit is Unit.WEEKEND:
        return part_of(match, anchor, _next_weekend(edge, before=back))
    if unit in _CALENDAR:
        moment = span.start if back else span.end - timedelta(microseconds=1)
        beside = containing(unit, shift(containing(unit, moment).start, unit, -1 if back else 1))
        return part_of(match, anchor, beside)
    count = scope.words.multiples.get(word(match["unit"]), 1)
    first, last = sorted((edge, shift(edge, unit, -count if back else count)))
    return part_of(match, anchor, Span(first, last, unit))


@needs()
def eve_of(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The eve of 3 May": the day before."""
    found = anchor_at(match, scope)
    if found is None:
        return None
    anchor, span = found
    return part_of(match, anchor, containing(Unit.DAY, span.start - _ONE_DAY))


@needs("side", "weekday|clear_weekday")
def weekday_beside(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "the Sunday before October 25"."""
    found = anchor_at(match, scope)
    if found is None:
        return None
    anchor, span = found
    weekday = weekday_of(match, scope)
    if _looks_back(match, scope):
        return part_of(match, anchor, weekday_before(span.start, weekday))
    return part_of(match, anchor, weekday_after(span.end - _ONE_DAY, weekday))


def _next_weekend(edge: datetime, *, before: bool) -> Span:
    """The last weekend wholly before `edge`, or the first that does not begin before it."""
    towards = weekday_before if before else weekday_after
    return containing(Unit.WEEKEND, towards(edge - _ONE_DAY, SATURDAY).start)
