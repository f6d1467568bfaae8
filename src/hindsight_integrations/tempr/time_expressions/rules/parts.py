"""Parts of longer times: "early 2023", "the first week of June", "the second half of May", "two weeks before Easter"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import (
    SATURDAY,
    Span,
    Unit,
    containing,
    midnight,
    nth_weekday,
    portion,
    shift,
    weekday_after,
    weekday_before,
    weekend_near,
)
from hindsight_integrations.tempr.time_expressions.grammar import Level, Reading, Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.patterns import word
from hindsight_integrations.tempr.time_expressions.rules.offsets import around, counted, unit_of

_PIECES = {"half": 2, "third": 3, "quarter": 4}
_SHORT = {Unit.DAY, Unit.WEEK, Unit.WEEKEND, Unit.MONTH}
_BEFORE, _AFTER = -1, 1


def _whole(match: re.Match[str], scope: Scope) -> Reading | None:
    """The time the part is of, at least two days long."""
    whole = scope.time_at(match.end(), Level.ATOM)
    if whole is None or whole.span is None or whole.span.end - whole.span.start < timedelta(days=2):
        return None
    return whole


def _part(match: re.Match[str], whole: Reading, span: Span) -> Reading:
    floating = whole.span is not None and whole.span.floating
    return Reading(match.start(), whole.end, replace(span, floating=floating))


def _portion(match: re.Match[str], scope: Scope) -> Reading | None:
    whole = _whole(match, scope)
    if whole is None or whole.span is None:
        return None
    name = word(match["portion"])
    short = english.SHORT_PORTIONS.get(name) if whole.span.unit in _SHORT else None
    return _part(match, whole, portion(whole.span, *(short or english.PORTIONS[name])))


def _piece(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The first half of 2023", "the last quarter of 2024"."""
    whole, of = _whole(match, scope), _PIECES[word(match["piece"])]
    if whole is None or whole.span is None:
        return None
    number = english.ORDINALS[word(match["ordinal"])]
    first = of - 1 if number < 0 else number - 1
    if first >= of:
        raise ValueError(f"no piece {number} of {of}")
    span = portion(whole.span, first, first + 1, of)
    return _part(match, whole, replace(span, unit=Unit.QUARTER) if of == 4 else span)


def _nth(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The first week of June" is its first seven days, "the last three days of May" its last three."""
    whole = _whole(match, scope)
    if whole is None or whole.span is None:
        return None
    unit, number = unit_of(match), english.ORDINALS[word(match["ordinal"])]
    if unit is Unit.WEEKEND:
        return _part(match, whole, _nth_weekend(whole.span, number))
    amount = match["number"]
    count = counted(amount, match["unit"])[1] if amount else 1
    index = -1 if number < 0 else (number - 1) * count
    span = _slice(whole.span, unit, index, count)
    return _part(match, whole, span) if span else None


def _slice(whole: Span, unit: Unit, index: int, count: int) -> Span | None:
    """`count` units of `whole`; None if they are not inside it ("last year in May" is no part of May)."""
    if index < 0:
        start, end = shift(whole.end, unit, -count), whole.end
    else:
        start = shift(whole.start, unit, index)
        end = min(shift(start, unit, count), whole.end)
    return Span(start, end, unit) if whole.start <= start < end else None


def _nth_weekend(whole: Span, number: int) -> Span:
    saturday = nth_weekday(whole, SATURDAY, number).start
    return containing(Unit.WEEKEND, saturday)


def _nth_day(match: re.Match[str], scope: Scope) -> Reading | None:
    whole = _whole(match, scope)
    if whole is None or whole.span is None:
        return None
    weekday = english.WEEKDAYS[word(match["weekday"])]
    return _part(match, whole, nth_weekday(whole.span, weekday, english.ORDINALS[word(match["ordinal"])]))


def _unit_of_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The weekend of June 3", "the week of 5 May"."""
    day = scope.time_at(match.end(), Level.ATOM)
    if day is None or day.span is None or day.span.unit is not Unit.DAY:
        return None
    if unit_of(match) is Unit.WEEKEND:
        return _part(match, day, weekend_near(day.span.start))
    return _part(match, day, containing(unit_of(match), day.span.start))


def _counted_from(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Two weeks before Christmas 2023" is the week that lies there, as "two weeks ago" is."""
    anchor = scope.time_at(match.end(), Level.ATOM)
    if anchor is None or anchor.span is None:
        return None
    sign = _BEFORE if match["side"].lower() in {"before", "prior to"} else _AFTER
    least, most = counted(match["amount"], match["unit"])
    return _part(match, anchor, around(anchor.span, unit_of(match), sign * least, sign * most))


def _next_to(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The week before Christmas" ends where Christmas begins; "the weekend after" is the next one."""
    anchor = scope.time_at(match.end(), Level.ATOM)
    if anchor is None or anchor.span is None:
        return None
    unit, before = unit_of(match), match["side"].lower() in {"before", "prior to"}
    edge = anchor.span.start if before else anchor.span.end
    if unit is Unit.WEEKEND:
        return _part(match, anchor, _next_weekend(edge, before=before))
    other = shift(edge, unit, _BEFORE if before else _AFTER)
    return _part(match, anchor, Span(min(edge, other), max(edge, other), unit))


def _weekday_beside(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "the Sunday before October 25"."""
    anchor = scope.time_at(match.end(), Level.ATOM)
    if anchor is None or anchor.span is None:
        return None
    weekday = english.WEEKDAYS[word(match["weekday"])]
    if match["side"].lower() == "after":
        return _part(match, anchor, weekday_after(anchor.span.end - timedelta(days=1), weekday))
    return _part(match, anchor, weekday_before(anchor.span.start, weekday))


def _next_weekend(edge: datetime, *, before: bool) -> Span:
    """The last weekend wholly before `edge`, or the first that does not begin before it."""
    if before:
        return containing(Unit.WEEKEND, weekday_before(edge - timedelta(days=1), SATURDAY).start)
    return containing(Unit.WEEKEND, weekday_after(edge - timedelta(days=1), SATURDAY).start)


def _rest(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Earlier this week" ends now, "later this year" begins now."""
    whole = scope.time_at(match.end(), Level.ATOM)
    if whole is None or whole.span is None or not whole.span.start <= scope.now < whole.span.end:
        return None
    today = containing(Unit.DAY, scope.now)
    if word(match["side"]) == "earlier":
        return _part(match, whole, Span(whole.span.start, today.end, whole.span.unit))
    return _part(match, whole, Span(midnight(scope.now), whole.span.end, whole.span.unit))


_IN = "(?:in |on |at |over |during |for |around |towards? |from )?"
_SIDE = "(?P<side>before|after|prior to)"
RULES: tuple[Rule, ...] = (
    rule(_IN + r"(?:the )?(?:very )?{portion}(?:-| )(?:in )?{time}", _portion, level=Level.PART),
    rule(_IN + r"(?:the )?{ordinal} (?P<piece>half|third|quarter) of {time}", _piece, level=Level.PART),
    rule(_IN + r"(?:the )?{ordinal} (?:{number} )?{unit} (?:of|in) {time}", _nth, level=Level.PART),
    rule(_IN + r"(?:the )?{ordinal} {weekday} (?:of|in) {time}", _nth_day, level=Level.PART),
    rule(_IN + r"(?:the )?(?P<unit>weekend|week) of {time}", _unit_of_day, level=Level.PART),
    rule(rf"(?:about |around )?{{amount}} {{unit}} {_SIDE} {{time}}", _counted_from, level=Level.PART),
    rule(
        _IN + rf"(?:the |last |the last ){{unit}} (?:right |just )?{_SIDE} {{time}}",
        _next_to,
        level=Level.PART,
    ),
    rule(_IN + rf"(?:the |last )?{{weekday}} {_SIDE} {{time}}", _weekday_beside, level=Level.PART),
    rule(r"(?P<side>earlier|later) {time}", _rest, level=Level.PART),
)
