"""Counted units: "two weeks ago", "the last three months", "in five days"."""

from __future__ import annotations

import re

from hindsight_integrations.text.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    days_span,
    shift,
    weekday_before,
    weekday_in,
)
from hindsight_integrations.text.time_expressions.grammar import Direction, Scope
from hindsight_integrations.text.time_expressions.meanings import holidays, seasons
from hindsight_integrations.text.time_expressions.meanings.days import weekday_of
from hindsight_integrations.text.time_expressions.nearest import relative
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import Which, Words

_CLOCK = {Unit.MINUTE, Unit.HOUR}
_WHOLE = {Unit.MINUTE, Unit.HOUR, Unit.WEEKEND}  # vague counts of these stay whole units
_HALVES = {
    Unit.HOUR: (Unit.MINUTE, 30),
    Unit.DAY: (Unit.HOUR, 12),
    Unit.MONTH: (Unit.DAY, 15),
    Unit.YEAR: (Unit.MONTH, 6),
    Unit.DECADE: (Unit.YEAR, 5),
}


def counted(amount: str, unit: str, words: Words) -> tuple[int, int]:
    """Least and most units that an amount in words means: ("a couple of", "weeks") is (1, 3)."""
    plain = word(amount).replace("-", " ")
    vague = next((reach for name, reach in words.vague.items() if name in plain), None)
    if vague:
        return vague
    number = words.numbers.get(plain) or int(plain.replace(words.thousands, ""))
    number *= words.multiples.get(word(unit), 1)
    return number, number


def unit_of(match: re.Match[str], scope: Scope) -> Unit:
    """The unit of a match, written out or glued to its figure."""
    if "short_unit" in match.re.groupindex:
        return scope.words.short_units[word(match["short_unit"])]
    return scope.words.units[word(match["unit"])]


def _counted(match: re.Match[str], scope: Scope) -> tuple[int, int]:
    unit = match["unit"] if "unit" in match.re.groupindex else match["short_unit"]
    return counted(match["amount"], unit, scope.words)


def around(scope: Scope, moment: Span, unit: Unit, least: int, most: int) -> Span:
    """The units `least` to `most` away (both signs the same): exact ones whole, vague ones to the day."""
    near, far = sorted((shift(moment.start, unit, least), shift(moment.start, unit, most)))
    if least == most or unit in _WHOLE:
        return Span(scope.unit_around(unit, near).start, scope.unit_around(unit, far).end, unit)
    return days_span(near, far, unit)


def _now(scope: Scope) -> Span:
    return Span(scope.now, scope.now, Unit.DAY)


@needs("amount", "unit|short_unit")
def ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "Two weeks ago": the whole calendar week."""
    least, most = _counted(match, scope)
    return around(scope, _now(scope), unit_of(match, scope), -least, -most)


@needs("amount", "amount2", "unit")
def between_ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "Two or three weeks ago"."""
    first = counted(match["amount"], match["unit"], scope.words)[0]
    second = counted(match["amount2"], match["unit"], scope.words)[1]
    return around(scope, _now(scope), unit_of(match, scope), -min(first, second), -max(first, second))


@needs("unit|short_unit")
def one_or_two_ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "A week or two ago"."""
    return around(scope, _now(scope), unit_of(match, scope), -1, -2)


@needs("amount", "unit|short_unit", "weekday|clear_weekday")
def weekday_of_week_ago(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Two weeks ago on Monday"."""
    least, most = _counted(match, scope)
    if unit_of(match, scope) is not Unit.WEEK or least != most:
        return None
    week = scope.unit_around(Unit.WEEK, shift(scope.now, Unit.WEEK, -least))
    return weekday_in(week, weekday_of(match, scope))


@needs("number", "weekday|clear_weekday")
def weekdays_ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "Two Fridays ago"."""
    last = weekday_before(scope.now, weekday_of(match, scope))
    count = counted(match["number"], "", scope.words)[0]
    return containing(Unit.DAY, shift(last.start, Unit.WEEK, 1 - count))


@needs("number", "holiday|season")
def occurrences_ago(match: re.Match[str], scope: Scope) -> Span:
    """As in "Two summers ago", "three Christmases ago"."""
    of = holidays.yearly if "holiday" in match.re.groupindex else seasons.yearly
    yearly = of(match, scope)
    count = counted(match["number"], "", scope.words)[0]
    return yearly(relative(scope, yearly, Which.LAST).start.year + 1 - count)


@needs("amount", "unit|short_unit")
def ahead(match: re.Match[str], scope: Scope) -> Span:
    """As in "Two weeks from now"."""
    least, most = _counted(match, scope)
    return around(scope, _now(scope), unit_of(match, scope), least, most)


@needs("number", "unit")
def half_ago(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Half a year ago", "two years and a half ago": the finer unit's."""
    unit = unit_of(match, scope)
    if unit not in _HALVES:
        return None
    finer, count = _HALVES[unit]
    amount = match["number"]
    whole = counted(amount, match["unit"], scope.words)[0] if amount else 0
    return scope.unit_around(finer, shift(shift(scope.now, unit, -whole), finer, -count))


@needs("amount", "unit|short_unit")
def expected(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In two weeks", a date in what speaks of the future, a duration in anything else."""
    return ahead(match, scope) if scope.direction is Direction.FUTURE else None


@needs("amount", "unit|short_unit")
def announced(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In two weeks" is a date in an announcement, a duration in a question."""
    return ahead(match, scope) if scope.telling and scope.direction is Direction.FUTURE else None


def stretch(scope: Scope, unit: Unit, count: int) -> Span:
    """The `count` units that end (or, counted negative, begin) now, to whole days, hours or minutes."""
    other = shift(scope.now, unit, -count)
    first, last = sorted((other, scope.now))
    if unit not in _CLOCK:
        return days_span(first, last, unit)
    return Span(containing(unit, first).start, containing(unit, last).end, unit)


@needs("intro", "last", "amount", "unit|short_unit")
def past(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The last three days"; without an article "last" may be a verb."""
    before = scope.text[max(0, match.start() - 200) : match.start()]
    if not match["intro"] and match["last"] and regex(scope.words.verbal_last).search(before):
        return None
    return stretch(scope, unit_of(match, scope), _counted(match, scope)[1])


@needs("amount", "unit|short_unit")
def coming(match: re.Match[str], scope: Scope) -> Span:
    """As in "The next three days"."""
    return stretch(scope, unit_of(match, scope), -_counted(match, scope)[1])


@needs("unit")
def past_one(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The past week" and "in the last week" end now; "last week" is another rule's."""
    unit, name = unit_of(match, scope), word(match["unit"])
    if unit is Unit.WEEKEND or name in scope.words.plurals:
        return None
    return stretch(scope, unit, scope.words.multiples.get(name, 1))


@needs()
def other_day(_match: re.Match[str], scope: Scope) -> Span:
    """As in "The other day": within the last week, not today."""
    return days_span(shift(scope.now, Unit.DAY, -7), shift(scope.now, Unit.DAY, -1), Unit.WEEK)
