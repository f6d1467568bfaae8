"""Counted units: "two weeks ago", "the last three months", "in five days"."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    days_span,
    shift,
)
from hindsight_integrations.tempr.time_expressions.grammar import Direction, Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.patterns import word

_CLOCK = {Unit.MINUTE, Unit.HOUR}
_HALVES = {
    Unit.HOUR: (Unit.MINUTE, 30),
    Unit.DAY: (Unit.HOUR, 12),
    Unit.MONTH: (Unit.DAY, 15),
    Unit.YEAR: (Unit.MONTH, 6),
    Unit.DECADE: (Unit.YEAR, 5),
}
_VERBAL_LAST = re.compile(english.VERBAL_LAST, re.IGNORECASE)


def counted(amount: str, unit: str) -> tuple[int, int]:
    """Least and most units that an amount in words means: ("a couple of", "weeks") is (1, 3)."""
    plain = word(amount)
    vague = next((reach for name, reach in english.VAGUE.items() if name in plain), None)
    if vague:
        return vague
    number = english.NUMBERS.get(plain) or int(plain.replace(",", ""))
    number *= english.MULTIPLES.get(word(unit), 1)
    return number, number


def unit_of(match: re.Match[str]) -> Unit:
    """The unit of a match."""
    return english.UNITS[word(match["unit"])]


def around(moment: Span, unit: Unit, least: int, most: int) -> Span:
    """The units `least` to `most` away (both signs the same): exact ones whole, vague weeks and days to the day."""
    near, far = sorted((shift(moment.start, unit, least), shift(moment.start, unit, most)))
    if least == most or unit not in {Unit.DAY, Unit.WEEK}:
        return Span(containing(unit, near).start, containing(unit, far).end, unit)
    return days_span(near, far, unit)


def _now(scope: Scope) -> Span:
    return Span(scope.now, scope.now, Unit.DAY)


def _ago(match: re.Match[str], scope: Scope) -> Span:
    least, most = counted(match["amount"], match["unit"])
    return around(_now(scope), unit_of(match), -least, -most)


def _between_ago(match: re.Match[str], scope: Scope) -> Span:
    first, second = counted(match["amount"], match["unit"])[0], counted(match["amount2"], match["unit"])[1]
    return around(_now(scope), unit_of(match), -min(first, second), -max(first, second))


def _ahead(match: re.Match[str], scope: Scope) -> Span:
    least, most = counted(match["amount"], match["unit"])
    return around(_now(scope), unit_of(match), least, most)


def _half_ago(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Half a year ago", "two years and a half ago": the finer unit's."""
    if unit_of(match) not in _HALVES:
        return None
    unit, count = _HALVES[unit_of(match)]
    amount = match["number"]
    whole = counted(amount, match["unit"])[0] if amount else 0
    moment = shift(scope.now, unit_of(match), -whole)
    return containing(unit, shift(moment, unit, -count))


def _in(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In two weeks" is a date in an announcement, a duration in a question."""
    return _ahead(match, scope) if scope.direction is Direction.FUTURE else None


def _stretch(scope: Scope, unit: Unit, count: int) -> Span:
    """The `count` units that end (or, counted negative, begin) now, to whole days or minutes."""
    other = shift(scope.now, unit, -count)
    first, last = sorted((other, scope.now))
    if unit not in _CLOCK:
        return days_span(first, last, unit)
    return Span(containing(Unit.MINUTE, first).start, containing(Unit.MINUTE, last).end, unit)


def _past(match: re.Match[str], scope: Scope) -> Span | None:
    before = scope.text[max(0, match.start() - 200) : match.start()]
    if not match["intro"] and word(match["last"]) == "last" and _VERBAL_LAST.search(before):
        return None
    return _stretch(scope, unit_of(match), counted(match["amount"], match["unit"])[1])


def _coming(match: re.Match[str], scope: Scope) -> Span:
    return _stretch(scope, unit_of(match), -counted(match["amount"], match["unit"])[1])


def _past_one(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "The past week" and "in the last week" end now; "last week" is another rule's."""
    unit = unit_of(match)
    if unit is Unit.WEEKEND or match["unit"].lower().endswith("s"):
        return None
    return _stretch(scope, unit, 1)


def _other_day(_match: re.Match[str], scope: Scope) -> Span:
    """As in "The other day": within the last week, not today."""
    return days_span(shift(scope.now, Unit.DAY, -7), shift(scope.now, Unit.DAY, -1), Unit.WEEK)


_OVER = "(?:in|over|during|within|for|throughout|from|of)"
RULES: tuple[Rule, ...] = (
    rule(r"{amount} {unit}(?: (?:ago|back)| earlier than now)", _ago),
    rule(r"{amount}(?: to | or |-){amount2} {unit} ago", _between_ago),
    rule(r"half(?P<number>) an? {unit} ago", _half_ago),
    rule(r"{number} {unit} and a half ago", _half_ago),
    rule(r"{amount} {unit} from (?:now|today)", _ahead),
    rule(r"in {amount} {unit}(?:'s? time)?(?! of)", _in),
    rule(
        rf"(?P<intro>(?:{_OVER} )?(?:the |these |this |my |our )?(?:very )?)(?P<last>last|past|previous|prior)"
        r" {amount} {unit}(?! of)",
        _past,
    ),
    rule(rf"(?:{_OVER} )?(?:the )?(?:next|coming) {{amount}} {{unit}}(?! of)", _coming),
    rule(
        rf"(?:{_OVER} (?:(?:the |this )?past|(?:the|this) last)|(?:the|this) past) {{unit}}(?! of)", _past_one
    ),
    rule(r"past {unit}(?! of)", _past_one),
    rule(r"the other (?:day|night|week)", _other_day),
)
