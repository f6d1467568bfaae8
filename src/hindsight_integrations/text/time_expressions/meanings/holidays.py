"""Holidays with fixed or computable dates; a language names them, see `fixed`, `nth` and `moved`."""

from __future__ import annotations

import re
from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import (
    THURSDAY,
    Span,
    Unit,
    containing,
    day_span,
    month_span,
    nth_weekday,
    weekend_near,
)
from hindsight_integrations.text.time_expressions.grammar import Scope
from hindsight_integrations.text.time_expressions.meanings.days import which_of
from hindsight_integrations.text.time_expressions.nearest import of_tail, relative
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import Which, YearlyTime


def fixed(month: int, day: int) -> YearlyTime:
    """A holiday on the same date every year."""
    return lambda year: day_span(year, month, day)


def nth(month: int, weekday: int, number: int) -> YearlyTime:
    """A holiday on the nth (-1 last) such weekday of a month."""
    return lambda year: nth_weekday(month_span(year, month), weekday, number)


def moved(feast: YearlyTime, days: int) -> YearlyTime:
    """A holiday so many days after another."""
    return lambda year: containing(Unit.DAY, feast(year).start + timedelta(days=days))


def named(*feasts: tuple[YearlyTime, str]) -> dict[str, YearlyTime]:
    """Feasts by each of their names, which commas part."""
    return {name: feast for feast, names in feasts for name in names.split(", ")}


THANKSGIVING = nth(11, THURSDAY, 4)


def yearly(match: re.Match[str], scope: Scope) -> YearlyTime:
    """The holiday that a match names."""
    return scope.words.holidays[word(match["holiday"])]


def _is_thing(match: re.Match[str], scope: Scope) -> bool:
    """What hangs on the tree is not a date."""
    return regex(scope.words.holiday_things).match(scope.text, match.end()) is not None


@needs("holiday", "tail")
def holiday(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Christmas", "at Easter 2024"."""
    return None if _is_thing(match, scope) else of_tail(scope, yearly(match, scope), match["tail"])


@needs("holiday", "which")
def which_holiday(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Last Christmas"."""
    if _is_thing(match, scope):
        return None
    return relative(scope, yearly(match, scope), which_of(match, scope))


@needs("holiday")
def holiday_before_last(match: re.Match[str], scope: Scope) -> Span:
    """As in "The Christmas before last"."""
    feast = yearly(match, scope)
    return feast(relative(scope, feast, Which.LAST).start.year - 1)


@needs("holiday", "unit", "tail")
def holiday_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Christmas week", "Labor Day weekend 2023"."""
    feast, unit = yearly(match, scope), scope.words.units[word(match["unit"])]
    if unit not in {Unit.WEEK, Unit.WEEKEND}:
        return None
    day = of_tail(scope, feast, match["tail"])
    return weekend_near(day.start) if unit is Unit.WEEKEND else scope.unit_around(unit, day.start)
