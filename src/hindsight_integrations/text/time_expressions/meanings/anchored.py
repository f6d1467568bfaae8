"""Times before or after another: "two weeks before Christmas", "the weekend after", "the Friday before 3 May"."""

from __future__ import annotations

import re
from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import (
    SATURDAY,
    Span,
    Unit,
    containing,
    shift,
    weekday_after,
    weekday_before,
)
from hindsight_integrations.text.time_expressions.grammar import Scope
from hindsight_integrations.text.time_expressions.meanings.days import weekday_of
from hindsight_integrations.text.time_expressions.meanings.offsets import around, counted, unit_of
from hindsight_integrations.text.time_expressions.meanings.parts import of_anchor
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import word

_ONE_DAY = timedelta(days=1)
_CALENDAR = {Unit.MONTH, Unit.QUARTER, Unit.HALF, Unit.YEAR, Unit.DECADE, Unit.CENTURY}


def _looks_back(match: re.Match[str], scope: Scope) -> bool:
    return word(match["side"]) in scope.words.before


@needs("side", "amount", "unit")
@of_anchor()
def counted_from(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """As in "Two weeks before Christmas 2023" is the week that lies there, as "two weeks ago" is."""
    back = _looks_back(match, scope)
    edge = anchor.start if back else max(anchor.start, anchor.end - _ONE_DAY)
    least, most = (
        count * (-1 if back else 1) for count in counted(match["amount"], match["unit"], scope.words)
    )
    return around(scope, Span(edge, edge, anchor.unit), unit_of(match, scope), least, most)


@needs("side", "amount", "unit")
@of_anchor()
def stretch_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """As in "The two weeks before Christmas": the fourteen days that end where it begins."""
    count = counted(match["amount"], match["unit"], scope.words)[1]
    edge, sign = (anchor.start, -1) if _looks_back(match, scope) else (anchor.end, 1)
    first, last = sorted((edge, shift(edge, unit_of(match, scope), sign * count)))
    return Span(first, last, unit_of(match, scope))


@needs("side", "unit")
@of_anchor()
def unit_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """As in "The week before Christmas" ends where Christmas begins; "the month before" is the calendar's."""
    unit, back = unit_of(match, scope), _looks_back(match, scope)
    edge = anchor.start if back else anchor.end
    if unit is Unit.WEEKEND:  # the last wholly before the edge, or the first that does not begin before it
        towards = weekday_before if back else weekday_after
        return containing(Unit.WEEKEND, towards(edge - _ONE_DAY, SATURDAY).start)
    if unit in _CALENDAR:
        moment = anchor.start if back else anchor.end - timedelta(microseconds=1)
        return scope.unit_around(unit, shift(scope.unit_around(unit, moment).start, unit, -1 if back else 1))
    count = scope.words.multiples.get(word(match["unit"]), 1)
    first, last = sorted((edge, shift(edge, unit, -count if back else count)))
    return Span(first, last, unit)


@needs()
@of_anchor()
def eve_of(_match: re.Match[str], _scope: Scope, anchor: Span) -> Span:
    """As in "The eve of 3 May": the day before."""
    return containing(Unit.DAY, anchor.start - _ONE_DAY)


@needs("side", "weekday|clear_weekday")
@of_anchor()
def weekday_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """As in "the Sunday before October 25"."""
    if _looks_back(match, scope):
        return weekday_before(anchor.start, weekday_of(match, scope))
    return weekday_after(anchor.end - _ONE_DAY, weekday_of(match, scope))
