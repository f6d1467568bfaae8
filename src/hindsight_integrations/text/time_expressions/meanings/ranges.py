"""Open and closed ranges: "since May", "before 2020", "between March and June", "1 May to 5 May"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps

from hindsight_integrations.text.time_expressions.calendar import EARLIEST, LATEST, Span, Unit, containing
from hindsight_integrations.text.time_expressions.grammar import Build, Level, Reading, Scope
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word

_LOOK_BACK = 40  # characters


def _open_ended(meaning: Callable[[re.Match[str], Scope, Span], Span | None]) -> Build:
    """Reads the anchor, the time that begins where a match ends, of which the decorated function gives a side."""

    @wraps(meaning)
    def built(match: re.Match[str], scope: Scope) -> Reading | None:
        anchor = scope.time_at(match.end(), Level.PART)
        span = meaning(match, scope, anchor.span) if anchor and anchor.span else None
        if anchor is None or span is None or span.start >= span.end:
            return None
        return Reading(match.start(), anchor.end, span, open_ended=True)

    return built


@needs()
@_open_ended
def since(_match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """From the start of the anchor to the end of today."""
    return Span(anchor.start, containing(Unit.DAY, scope.now).end, anchor.unit)


@needs()
def onwards(first: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "From 2019 onwards" is "since 2019"."""
    today = containing(Unit.DAY, scope.now)
    if first.span is None or first.open_ended or first.span.start >= today.end:
        return None
    return Reading(first.start, match.end(), replace(first.span, end=today.end), open_ended=True)


@needs()
@_open_ended
def after(match: re.Match[str], scope: Scope, anchor: Span) -> Span | None:
    """From the end of the anchor on."""
    return None if _is_phrasal(match, scope) else Span(anchor.end, LATEST, anchor.unit)


@needs()
@_open_ended
def before(_match: re.Match[str], _scope: Scope, anchor: Span) -> Span:
    """Up to the start of the anchor."""
    return Span(EARLIEST, anchor.start, anchor.unit)


@needs()
@_open_ended
def until(match: re.Match[str], scope: Scope, anchor: Span) -> Span | None:
    """Up to the end of the anchor: "until June" includes June."""
    return None if _is_phrasal(match, scope) else Span(EARLIEST, anchor.end, anchor.unit)


def _is_phrasal(match: re.Match[str], scope: Scope) -> bool:
    """Whether the preposition is the verb's: "what we got up to last weekend", "who stopped by on Friday"."""
    context = scope.text[max(0, match.start() - _LOOK_BACK) : match.end()]
    return regex(scope.words.phrasal).search(context) is not None


@needs()
def between(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Between X and Y", "from X to Y"."""
    first = scope.time_at(match.end(), Level.PART)
    connector = first and regex(scope.words.connector).match(scope.text, first.end)
    return _joined(first, connector, scope, match.start()) if first and connector else None


@needs()
def joined(first: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "X to Y"."""
    return None if first.open_ended else _joined(first, match, scope, first.start)


def _joined(first: Reading, connector: re.Match[str], scope: Scope, start: int) -> Reading | None:
    """Both ends included; an end without a year takes the other's."""
    if present := regex(scope.words.now).match(scope.text, connector.end()):
        kept = onwards(replace(first, start=start), present, scope)
        return replace(kept, open_ended=False) if kept else None
    second = scope.time_at(connector.end(), Level.PART)
    if second is None or second.span is None or first.span is None:
        return None
    one, two = first.span, second.span
    weekdays = [_is_weekday(end, scope) for end in (first, second)]
    if one.floating and not all(weekdays):
        one = _earlier(first, scope, two) or one
    elif two.floating or two.end <= one.start:
        second = scope.after(one.start).time_at(connector.end(), Level.PART) or second
        two = second.span or two
    if two.end <= one.start:
        return None
    return Reading(start, second.end, Span(one.start, two.end, min(one.unit, two.unit, key=list(Unit).index)))


def _is_weekday(reading: Reading, scope: Scope) -> bool:
    """Whether a phrase is a weekday alone: its week is then that of the other end."""
    last = word(scope.text[reading.start : reading.end]).split()[-1]
    return last in scope.words.weekdays and reading.span is not None and reading.span.floating


def _earlier(first: Reading, scope: Scope, other: Span) -> Span | None:
    """The first end read again in the year of the second, the year before, or the week before its end."""
    year = other.start.year
    for narrowed in (scope.in_year(year), scope.in_year(year - 1), scope.before(other.start)):
        again = narrowed.read(first.start, Level.PART)
        if again and again.span and again.span.start < other.end:
            return again.span
    return None


@needs()
def in_year(year: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Last year in May", "in 2023, during the summer", "last year's summer"."""
    if year.span is None or year.span.unit is not Unit.YEAR or year.span.end.year - year.span.start.year != 1:
        return None
    part = scope.in_year(year.span.start.year).time_at(match.end(), Level.ATOM)
    if part is None or part.span is None or not part.span.floating:
        return None
    return Reading(year.start, part.end, replace(part.span, floating=False))
