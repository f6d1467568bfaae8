"""Parts of a day: "this morning", "last night", "Tuesday evening"."""

from __future__ import annotations

import re
from datetime import timedelta

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import Span, Unit, midnight
from hindsight_integrations.tempr.time_expressions.grammar import (
    Continuation,
    Level,
    Reading,
    Rule,
    Scope,
    rule,
)
from hindsight_integrations.tempr.time_expressions.patterns import compiled, word

_OFFSETS = {"this": 0, "last": -1, "yesterday": -1, "tomorrow": 1}


def _hours(day: Span, part: str) -> Span:
    first, last = english.DAY_PARTS[part]
    return Span(day.start + timedelta(hours=first), day.start + timedelta(hours=last), Unit.HOUR)


def _today(scope: Scope, days: int) -> Span:
    start = midnight(scope.now) + timedelta(days=days)
    return Span(start, start + timedelta(days=1), Unit.DAY)


def _near(match: re.Match[str], scope: Scope) -> Span:
    return _hours(_today(scope, _OFFSETS[word(match["near"])]), word(match["day_part"]))


def _before_last(match: re.Match[str], scope: Scope) -> Span:
    return _hours(_today(scope, -2), word(match["day_part"]))


def _tonight(_match: re.Match[str], scope: Scope) -> Span:
    return _hours(_today(scope, 0), "night")


def _of_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The morning of June 3"; "the night before Christmas" is the day before's."""
    day = scope.time_at(match.end(), Level.ATOM)
    if day is None or day.span is None or day.span.unit is not Unit.DAY:
        return None
    start = day.span.start - timedelta(days=1 if match["side"].lower() == "before" else 0)
    span = _hours(Span(start, start + timedelta(days=1), Unit.DAY), word(match["day_part"]))
    return Reading(match.start(), day.end, span)


def _behind_day(day: Reading, match: re.Match[str], _scope: Scope) -> Span | None:
    if day.span is None or day.span.unit is not Unit.DAY or day.span.end - day.span.start > timedelta(days=1):
        return None
    return _hours(day.span, word(match["day_part"]))


RULES: tuple[Rule, ...] = (
    rule(r"(?:earlier |late |early )?(?P<near>this|last|yesterday|tomorrow) {day_part}", _near),
    rule(r"tonight", _tonight),
    rule(r"(?:the )?{day_part} before last", _before_last),
    rule(r"(?:on |in )?(?:the )?{day_part} (?P<side>of|before) {time}", _of_day, level=Level.PART),
)
CONTINUATIONS = (Continuation(compiled(r",? (?:in the |at )?{day_part}"), _behind_day, Level.PART),)
