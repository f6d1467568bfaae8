"""Months and days of months by name."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import Span, Unit, day_span, month_span
from hindsight_integrations.tempr.time_expressions.grammar import Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import YearlyTime, of_tail, relative
from hindsight_integrations.tempr.time_expressions.patterns import word

_AMBIGUOUS_INTRODUCERS = ("in", "during", "throughout", "since", "until", "till", "back in", "over")
_PERSON = re.compile(rf"'s\b|\s+{english.NAME_ACTS}\b", re.IGNORECASE)


def _number(name: str) -> int:
    return english.MONTHS[word(name)]


def _yearly(name: str) -> YearlyTime:
    return lambda year: month_span(year, _number(name))


def _is_name(match: re.Match[str], scope: Scope) -> bool:
    """Whether a month without a year is rather a person: "in April's group", "before August left"."""
    if word(match["month"]) not in english.NAME_MONTHS or match["tail"]:
        return False
    return _PERSON.match(scope.text, match.end()) is not None


def _month(match: re.Match[str], scope: Scope) -> Span | None:
    if _is_name(match, scope):
        return None
    return of_tail(scope, _yearly(match["month"]), match["tail"])


def _introduced_month(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "For April" and "from June" may speak of people."""
    if word(match["month"]) in english.NAME_MONTHS and word(match["intro"]) not in _AMBIGUOUS_INTRODUCERS:
        return None
    return _month(match, scope)


def _month_of_year(match: re.Match[str], scope: Scope) -> Span | None:
    """A month with a year needs no preposition, but "may last year" is a verb."""
    name, tail = match["month"], match["tail"]
    if not tail or (name.islower() and word(name) in english.VERB_MONTHS and not re.search("[0-9]", tail)):
        return None
    return of_tail(scope, _yearly(name), tail)


def _clear_month(match: re.Match[str], scope: Scope) -> Span:
    return of_tail(scope, _yearly(match["clear_month"]), "")


def _which_month(match: re.Match[str], scope: Scope) -> Span:
    return relative(scope, _yearly(match["month"]), english.WHICH[word(match["which"])])


def _month_and_day(match: re.Match[str], scope: Scope) -> Span:
    month, day = _number(match["month"]), int(match["day"])
    return of_tail(scope, lambda year: day_span(year, month, day), match["tail"])


def _month_and_days(match: re.Match[str], scope: Scope) -> Span:
    """Two days of one month: "May 5-7, 2023"."""
    month, first, last = _number(match["month"]), int(match["day"]), int(match["day2"])

    def days(year: int) -> Span:
        return Span(day_span(year, month, first).start, day_span(year, month, last).end, Unit.DAY)

    if last < first:
        raise ValueError("the days run backwards")
    return of_tail(scope, days, match["tail"])


def _months(match: re.Match[str], scope: Scope) -> Span:
    """Two months: "March-May 2024"; "November to February 2024" began the year before."""
    first, last = _number(match["month"]), _number(match["month2"])

    def months(year: int) -> Span:
        start = year if first <= last else year - 1
        return Span(month_span(start, first).start, month_span(year, last).end, Unit.MONTH)

    return of_tail(scope, months, match["tail"])


_TO = r"(?: ?- ?| to | through | thru | until | till )"
_WEEKDAY = r"(?:on )?(?:{weekday},? )?"
RULES: tuple[Rule, ...] = (
    rule(r"{month}{tail}", _month, weak=True),
    rule(
        r"(?P<intro>in|during|throughout|over|back in|through|for|from|of|around|about)(?: the)?(?: month of)?"
        r" {month}{tail}",
        _introduced_month,
    ),
    rule(r"(?:in )?{month}{tail}", _month_of_year),
    rule(r"(?:in |during |for )?the month of {month}{tail}", _month),
    rule(r"{clear_month}(?!'s)", _clear_month),
    rule(r"(?:in )?{which} {month}", _which_month),
    rule(rf"{_WEEKDAY}{{month}} (?:the )?{{day}}{{nth}}{{tail}}", _month_and_day),
    rule(rf"{_WEEKDAY}(?:the )?{{day}}{{nth}} (?:of )?{{month}}{{tail}}", _month_and_day),
    rule(rf"(?:from )?{{month}} {{day}}{{nth}}(?:{_TO}| and | & ){{day2}}{{nth2}}{{tail}}", _month_and_days),
    rule(
        rf"(?:from )?(?:the )?{{day}}{{nth}}(?:{_TO}(?:the )?| and | & ){{day2}}{{nth2}} (?:of )?{{month}}{{tail}}",
        _month_and_days,
    ),
    rule(rf"(?:from |in )?{{month}}{_TO}{{month2}}{{tail}}", _months),
)
