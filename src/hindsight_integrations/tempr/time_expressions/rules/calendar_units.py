"""Weeks, weekends, months, quarters and years counted from now: "last week", "this quarter", "the weekend"."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    portion,
    shift,
    years_span,
)
from hindsight_integrations.tempr.time_expressions.grammar import Direction, Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import of_tail
from hindsight_integrations.tempr.time_expressions.patterns import word

_COUNTED = {Unit.WEEK, Unit.WEEKEND, Unit.MONTH, Unit.QUARTER, Unit.YEAR, Unit.DECADE, Unit.CENTURY}


def _offset(scope: Scope, unit: Unit, count: int) -> Span:
    return containing(unit, shift(scope.now, unit, count))


def _unit(match: re.Match[str]) -> Unit | None:
    """The unit of a match if it is one of the calendar's, in the singular."""
    unit = english.UNITS[word(match["unit"])]
    return unit if unit in _COUNTED and not match["unit"].lower().endswith("s") else None


def _which(match: re.Match[str], scope: Scope) -> Span | None:
    unit = _unit(match)
    return _offset(scope, unit, english.WHICH[word(match["which"])]) if unit else None


def _before_last(match: re.Match[str], scope: Scope) -> Span | None:
    unit = _unit(match)
    return _offset(scope, unit, -2) if unit else None


def _after_next(match: re.Match[str], scope: Scope) -> Span | None:
    unit = _unit(match)
    return _offset(scope, unit, 2) if unit else None


def _the_weekend(_match: re.Match[str], scope: Scope) -> Span:
    """The running or coming weekend in an announcement, else the latest that has begun."""
    running = _offset(scope, Unit.WEEKEND, 0)
    begun = running.start <= scope.now or scope.direction is Direction.FUTURE
    return running if begun else _offset(scope, Unit.WEEKEND, -1)


def _the_unit(match: re.Match[str], scope: Scope) -> Span | None:
    unit = _unit(match)
    if unit is Unit.WEEKEND:
        return _the_weekend(match, scope)
    return _offset(scope, unit, 0) if unit else None


def _quarter(match: re.Match[str], scope: Scope) -> Span:
    """Quarter of a year by number: "Q2 2024", "2024 Q2"."""
    number = int(match["q"])
    tail = match["tail"] if "tail" in match.re.groupindex else match["year"]
    return of_tail(scope, lambda year: _quarter_of(year, number), tail)


def _quarter_of(year: int, number: int) -> Span:
    whole = portion(years_span(year), number - 1, number, 4)
    return Span(whole.start, whole.end, Unit.QUARTER)


def _half(match: re.Match[str], scope: Scope) -> Span:
    number = int(match["h"])
    return of_tail(scope, lambda year: portion(years_span(year), number - 1, number, 2), match["tail"])


_IN = "(?:in |during |over |throughout |on |at |for |from )?"
RULES: tuple[Rule, ...] = (
    rule(_IN + r"(?:all of |(?:the )?(?:whole|entire) )?{which} {unit}(?! (?:before|after))", _which),
    rule(_IN + r"the {unit} before last", _before_last),
    rule(_IN + r"the {unit} after next", _after_next),
    rule(r"the (?:current )?{unit}", _the_unit, weak=True),
    rule(r"(?:over|at|on|during|for) the weekend(?! (?:of|before|after))", _the_weekend),
    rule(_IN + r"(?-i:Q)(?P<q>[1-4]){tail}", _quarter),
    rule(_IN + r"{year}(?: |-)?(?-i:Q)(?P<q>[1-4])", _quarter),
    rule(_IN + r"(?-i:H)(?P<h>[12]){tail}", _half),
)
