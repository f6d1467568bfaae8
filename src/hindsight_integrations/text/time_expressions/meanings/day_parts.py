"""Parts of a day: "this morning", "last night", "Tuesday evening"."""

from __future__ import annotations

import re
from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import Span, Unit, midnight
from hindsight_integrations.text.time_expressions.grammar import Level, Reading, Scope
from hindsight_integrations.text.time_expressions.meanings.days import plain_weekday, which_weekday
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import word

_ONE_DAY = timedelta(days=1)


def _hours(day: Span, part: str, scope: Scope) -> Span:
    first, last = scope.words.day_parts[word(part)]
    return Span(day.start + timedelta(hours=first), day.start + timedelta(hours=last), Unit.HOUR)


def _day(scope: Scope, days: int) -> Span:
    start = midnight(scope.now) + timedelta(days=days)
    return Span(start, start + _ONE_DAY, Unit.DAY)


@needs("near_part", "day_part")
def near_part(match: re.Match[str], scope: Scope) -> Span:
    """As in "This morning", "yesterday evening", "last night"."""
    days = scope.words.near_parts[word(match["near_part"])]
    return _hours(_day(scope, days), match["day_part"], scope)


@needs("near", "day_part")
def part_of_near(match: re.Match[str], scope: Scope) -> Span:
    """As in "Noon today", "in the evening yesterday"."""
    return _hours(_day(scope, scope.words.near[word(match["near"])]), match["day_part"], scope)


@needs("day_part")
def part_before_last(match: re.Match[str], scope: Scope) -> Span:
    """As in "The night before last"."""
    return _hours(_day(scope, -2), match["day_part"], scope)


@needs("part_name")
def named_part(match: re.Match[str], scope: Scope) -> Span:
    """As in "Tonight", one word for the day and its part."""
    days, first, last = scope.words.part_names[word(match["part_name"])]
    start = _day(scope, days).start
    return Span(start + timedelta(hours=first), start + timedelta(hours=last), Unit.HOUR)


@needs("weekday|clear_weekday", "day_part", "which?")
def weekday_part(match: re.Match[str], scope: Scope) -> Span:
    """As in "Dienstagnachmittag", one word for the weekday and its part."""
    day = which_weekday(match, scope) if "which" in match.re.groupindex else plain_weekday(match, scope)
    return _hours(day, match["day_part"], scope)


@needs("day_part", "side")
def part_of_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The morning of June 3"; "the night before Christmas" is the day before's."""
    day = scope.time_at(match.end(), Level.ATOM)
    if day is None or day.span is None or not _single(day):
        return None
    side = word(match["side"] or "")
    away = -1 if side in scope.words.before else 1 if side in scope.words.behind else 0
    start = day.span.start + timedelta(days=away)
    return Reading(
        match.start(), day.end, _hours(Span(start, start + _ONE_DAY, Unit.DAY), match["day_part"], scope)
    )


@needs("day_part")
def part_behind_day(day: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Tuesday" + "night"."""
    return _hours(day.span, match["day_part"], scope) if _single(day) and day.span else None


def _single(day: Reading) -> bool:
    span = day.span
    return span is not None and span.unit is Unit.DAY and span.end - span.start <= _ONE_DAY
