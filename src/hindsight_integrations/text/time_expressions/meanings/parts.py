"""Parts of longer times: "early 2023", "the first week of June", "the second half of May", "earlier this week"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from hindsight_integrations.text.time_expressions.calendar import (
    SATURDAY,
    Span,
    Unit,
    containing,
    midnight,
    month_span,
    nth_weekday,
    portion,
    shift,
    weekend_near,
    years_span,
)
from hindsight_integrations.text.time_expressions.grammar import Level, Reading, Scope
from hindsight_integrations.text.time_expressions.meanings.days import weekday_of
from hindsight_integrations.text.time_expressions.meanings.offsets import counted, unit_of
from hindsight_integrations.text.time_expressions.nearest import of_tail, year_of_tail
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import word

_QUARTERS = 4


def anchor_at(match: re.Match[str], scope: Scope) -> tuple[Reading, Span] | None:
    """The time that begins where a match ends."""
    anchor = scope.time_at(match.end(), Level.ATOM)
    return (anchor, anchor.span) if anchor and anchor.span else None


def part_of(match: re.Match[str], whole: Reading, span: Span) -> Reading:
    """The reading of a part, from the start of the match to the end of the whole."""
    floating = whole.span is not None and whole.span.floating
    return Reading(match.start(), whole.end, replace(span, floating=floating))


def _whole(match: re.Match[str], scope: Scope) -> tuple[Reading, Span] | None:
    """The time the part is of, at least two days long."""
    found = anchor_at(match, scope)
    return found if found and found[1].end - found[1].start >= timedelta(days=2) else None


@needs("portion")
def some_part(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Early 2023", "the end of May"."""
    found, name = _whole(match, scope), word(match["portion"])
    if found is None:
        return None
    whole, span = found
    shares = scope.words.year_portions.get(name) if span.unit is Unit.YEAR else None
    return part_of(match, whole, portion(span, *(shares or scope.words.portions[name])))


@needs("ordinal", "piece")
def piece(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The first half of 2023", "the last quarter of 2024"."""
    found, of = _whole(match, scope), scope.words.pieces[word(match["piece"])]
    if found is None:
        return None
    number = scope.words.ordinals[word(match["ordinal"])]
    first = of - 1 if number < 0 else number - 1
    if first >= of:
        raise ValueError(f"no piece {number} of {of}")
    span = portion(found[1], first, first + 1, of)
    return part_of(match, found[0], replace(span, unit=Unit.QUARTER) if of == _QUARTERS else span)


@needs("ordinal", "unit", "amount")
def nth_unit(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The first week of June" is its first seven days, "the last three days of May" its last three."""
    found = _whole(match, scope)
    if found is None:
        return None
    whole, span = found
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    if unit is Unit.WEEKEND:
        return part_of(match, whole, containing(unit, nth_weekday(span, SATURDAY, number).start))
    count = counted(match["amount"], match["unit"], scope.words)[1] if match["amount"] else 1
    cut = _slice(span, unit, -1 if number < 0 else (number - 1) * count, count)
    return part_of(match, whole, cut) if cut else None


def _slice(whole: Span, unit: Unit, index: int, count: int) -> Span | None:
    """`count` units of `whole`; None if they are not inside it ("last year in May" is no part of May)."""
    if index < 0:
        start, end = shift(whole.end, unit, -count), whole.end
    else:
        start = shift(whole.start, unit, index)
        end = min(shift(start, unit, count), whole.end)
    return Span(start, end, unit) if whole.start <= start < end else None


@needs("ordinal", "clear_month", "unit", "tail")
def unit_of_month(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In der ersten Juniwoche", the same in one word."""
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    month = _month(match, scope)
    if unit is Unit.WEEKEND:
        return containing(unit, nth_weekday(month, SATURDAY, number).start)
    return _slice(month, unit, -1 if number < 0 else number - 1, 1)


@needs("ordinal", "clear_month", "piece", "tail")
def piece_of_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "In der ersten Junihälfte"."""
    of, number = scope.words.pieces[word(match["piece"])], scope.words.ordinals[word(match["ordinal"])]
    first = of - 1 if number < 0 else number - 1
    if first >= of:
        raise ValueError(f"no piece {number} of {of}")
    return portion(_month(match, scope), first, first + 1, of)


def _month(match: re.Match[str], scope: Scope) -> Span:
    number = scope.words.months[word(match["clear_month"])]
    return of_tail(scope, lambda year: month_span(year, number), match["tail"])


@needs("portion", "unit", "tail")
def part_of_unit(match: re.Match[str], scope: Scope) -> Span:
    """As in "Jahresbeginn", "zum Monatsende": of the running unit, or of the year named behind it."""
    unit, name = unit_of(match, scope), word(match["portion"])
    year = year_of_tail(scope, match["tail"]) if unit is Unit.YEAR else None
    span = containing(unit, scope.now) if year is None else years_span(year)
    shares = scope.words.year_portions.get(name) if unit is Unit.YEAR else None
    return portion(span, *(shares or scope.words.portions[name]))


@needs("ordinal", "weekday|clear_weekday")
def nth_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The last Friday of March"."""
    found = _whole(match, scope)
    if found is None:
        return None
    number = scope.words.ordinals[word(match["ordinal"])]
    return part_of(match, found[0], nth_weekday(found[1], weekday_of(match, scope), number))


@needs("unit|short_unit")
def unit_of_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The weekend of June 3", "the week of 5 May"."""
    found = anchor_at(match, scope)
    if found is None or found[1].unit is not Unit.DAY:
        return None
    day, span = found
    unit = unit_of(match, scope)
    return part_of(
        match, day, weekend_near(span.start) if unit is Unit.WEEKEND else containing(unit, span.start)
    )


@needs()
def week_from(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The week starting 5 June": seven days."""
    found = anchor_at(match, scope)
    if found is None or found[1].unit is not Unit.DAY:
        return None
    start = found[1].start
    return part_of(match, found[0], Span(start, start + timedelta(days=7), Unit.WEEK))


@needs()
def week_to(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "The week ending 11 June": seven days."""
    found = anchor_at(match, scope)
    if found is None or found[1].unit is not Unit.DAY:
        return None
    end = found[1].end
    return part_of(match, found[0], Span(end - timedelta(days=7), end, Unit.WEEK))


@needs("side")
def rest(match: re.Match[str], scope: Scope) -> Reading | None:
    """As in "Earlier this week" ends now, "later this year" begins now."""
    found = anchor_at(match, scope)
    if found is None or not found[1].start <= scope.now < found[1].end:
        return None
    whole, span = found
    if word(match["side"]) in scope.words.earlier:
        return part_of(match, whole, replace(span, end=containing(Unit.DAY, scope.now).end))
    return part_of(match, whole, replace(span, start=midnight(scope.now)))
