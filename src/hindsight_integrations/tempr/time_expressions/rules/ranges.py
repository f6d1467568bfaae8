"""Open and closed ranges: "since May", "before 2020", "between March and June", "1 May to 5 May"."""

from __future__ import annotations

import re
from dataclasses import replace

from hindsight_integrations.tempr.time_expressions.calendar import EARLIEST, LATEST, Span, Unit, containing
from hindsight_integrations.tempr.time_expressions.grammar import (
    Continuation,
    Level,
    Reading,
    Rule,
    Scope,
    rule,
)
from hindsight_integrations.tempr.time_expressions.patterns import compiled


def _open(match: re.Match[str], anchor: Reading, span: Span) -> Reading | None:
    return Reading(match.start(), anchor.end, span, open_ended=True) if span.start < span.end else None


def _since(match: re.Match[str], scope: Scope) -> Reading | None:
    """From the start of the anchor to the end of today."""
    anchor = scope.time_at(match.end(), Level.PART)
    if anchor is None or anchor.span is None:
        return None
    today = containing(Unit.DAY, scope.now)
    return _open(match, anchor, Span(anchor.span.start, today.end, anchor.span.unit))


def _after(match: re.Match[str], scope: Scope) -> Reading | None:
    anchor = scope.time_at(match.end(), Level.PART)
    return (
        _open(match, anchor, Span(anchor.span.end, LATEST, anchor.span.unit))
        if anchor and anchor.span
        else None
    )


def _before(match: re.Match[str], scope: Scope) -> Reading | None:
    anchor = scope.time_at(match.end(), Level.PART)
    if anchor is None or anchor.span is None:
        return None
    return _open(match, anchor, Span(EARLIEST, anchor.span.start, anchor.span.unit))


def _until(match: re.Match[str], scope: Scope) -> Reading | None:
    """Up to the end of the anchor: "until June" includes June."""
    anchor = scope.time_at(match.end(), Level.PART)
    return (
        _open(match, anchor, Span(EARLIEST, anchor.span.end, anchor.span.unit))
        if anchor and anchor.span
        else None
    )


def _between(match: re.Match[str], scope: Scope) -> Reading | None:
    first = scope.time_at(match.end(), Level.PART)
    connector = first and _AND.match(scope.text, first.end)
    return _joined(first, connector, scope, match.start()) if first and connector else None


def _join(first: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    return None if first.open_ended else _joined(first, match, scope, first.start)


def _joined(first: Reading, connector: re.Match[str], scope: Scope, start: int) -> Reading | None:
    """Both ends included; an end without a year takes the other's."""
    second = scope.time_at(connector.end(), Level.PART)
    if second is None or second.span is None or first.span is None:
        return None
    one, two = first.span, second.span
    if one.floating:
        one = _earlier(first, scope, two) or one
    elif two.floating or two.end <= one.start:
        second = scope.after(one.start).time_at(connector.end(), Level.PART) or second
        two = second.span or two
    if two.end <= one.start:
        return None
    return Reading(start, second.end, Span(one.start, two.end, min(one.unit, two.unit, key=_size)))


def _earlier(first: Reading, scope: Scope, until: Span) -> Span | None:
    """The first end read again in the year of the second, or the year before if it would come later."""
    at = first.start
    for year in (until.start.year, until.start.year - 1):
        again = scope.in_year(year).read(at, Level.PART)
        if again and again.span and again.span.start < until.end:
            return again.span
    return None


def _in_year(year: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Last year in May", "in 2023, during the summer"."""
    if year.span is None or year.span.unit is not Unit.YEAR or year.span.end.year - year.span.start.year != 1:
        return None
    part = scope.in_year(year.span.start.year).time_at(match.end(), Level.ATOM)
    if part is None or part.span is None or not part.span.floating:
        return None
    return Reading(year.start, part.end, replace(part.span, floating=False))


def _size(unit: Unit) -> int:
    return list(Unit).index(unit)


_AND = compiled(r" *(?:and|to|through|until|till|&|-|\.\.\.?) *(?:on |in )?{time}")
RULES: tuple[Rule, ...] = (
    rule(r"(?:ever )?since {time}", _since, level=Level.RANGE),
    rule(r"starting (?:in |on |from |with )?{time}", _since, level=Level.RANGE),
    rule(r"(?:any time )?(?:after|later than) {time}", _after, level=Level.RANGE),
    rule(r"(?:any time )?(?:before|prior to|earlier than) {time}", _before, level=Level.RANGE),
    rule(r"(?:until|till|up until|up to|as of|by|no later than) {time}", _until, level=Level.RANGE),
    rule(r"(?:between|from) {time}", _between, level=Level.RANGE),
)
CONTINUATIONS = (
    Continuation(compiled(r",? (?:in |during |around |at |over )?(?:the )?{time}"), _in_year, Level.PART),
    Continuation(compiled(r"(?: to | through | until | till | ?- ?| ?\.\.\.? ?){time}"), _join, Level.RANGE),
)
