"""Months and days of months by name."""

from __future__ import annotations

import re

from hindsight_integrations.text.time_expressions.calendar import Span, Unit, day_span, month_span
from hindsight_integrations.text.time_expressions.grammar import Scope
from hindsight_integrations.text.time_expressions.meanings.days import day_number, which_of
from hindsight_integrations.text.time_expressions.nearest import of_tail, relative, short_year
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import YearlyTime


def _yearly(name: str, scope: Scope) -> YearlyTime:
    return lambda year: month_span(year, scope.words.months[word(name)])


def _is_name(match: re.Match[str], scope: Scope) -> bool:
    """Whether a month without a year is rather a person: "in April's group", "before August left"."""
    if word(match["month"]) not in scope.words.name_months or match["tail"]:
        return False
    return regex(scope.words.person_after).match(scope.text, match.end()) is not None


@needs("month", "tail")
def month(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "May", "May 2023".

    Raises:
        ValueError: if the figures behind it are no year.
    """
    if _is_name(match, scope):
        return None
    impossible = None if match["tail"] else regex(scope.words.no_year).match(scope.text, match.end())
    if impossible and not regex(scope.words.quantity_after).match(scope.text, impossible.end()):
        raise ValueError("no such year")
    return of_tail(scope, _yearly(match["month"], scope), match["tail"])


@needs("intro", "the", "month", "tail")
def introduced_month(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "in May"; "for April" and "from June" may speak of people, "in the march" of walking."""
    name, intro = match["month"], word(match["intro"])
    bare = not match["tail"]
    if bare and word(name) in scope.words.name_months and intro not in scope.words.month_introducers:
        return None
    if bare and match["the"] and name.islower() and word(name) in scope.words.verb_months:
        return None
    return month(match, scope)


@needs("month", "tail")
def month_of_year(match: re.Match[str], scope: Scope) -> Span | None:
    """A month with a year needs no preposition, but "may last year" is a verb."""
    name, tail = match["month"], match["tail"]
    if not tail or (
        name.islower() and word(name) in scope.words.verb_months and not re.search("[0-9]", tail)
    ):
        return None
    return of_tail(scope, _yearly(name, scope), tail)


@needs("clear_month")
def clear_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "September": no other word."""
    return of_tail(scope, _yearly(match["clear_month"], scope), "")


@needs("month", "which")
def which_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "Last May"."""
    return relative(scope, _yearly(match["month"], scope), which_of(match, scope))


@needs("month", "day", "tail")
def month_then_day(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "May 5, 2023"; "may second" without a year is a verb.

    Raises:
        ValueError: if there is no such day, or the figures behind it are no year.
    """
    name, tail = match["month"], match["tail"]
    if (
        not tail
        and name.islower()
        and word(name) in scope.words.verb_months
        and not re.search("[0-9]", match[0])
    ):
        return None
    return month_and_day(match, scope)


@needs("month", "day", "tail")
def month_and_day(match: re.Match[str], scope: Scope) -> Span:
    """As in "the 5th of May 2023".

    Raises:
        ValueError: if there is no such day, or the figures behind it are no year.
    """
    tail = match["tail"]
    number, day = scope.words.months[word(match["month"])], day_number(match["day"], scope)
    if not tail and regex(scope.words.no_year).match(scope.text, match.end()):
        raise ValueError("no such year")
    return of_tail(scope, lambda year: day_span(year, number, day), tail)


@needs("month", "day", "which")
def which_month_and_day(match: re.Match[str], scope: Scope) -> Span:
    """As in "El pasado 3 de mayo", "the coming 5th of May"."""
    number, day = scope.words.months[word(match["month"])], day_number(match["day"], scope)
    return relative(scope, lambda year: day_span(year, number, day), which_of(match, scope))


@needs("month", "y", "day?")
def short_dated(match: re.Match[str], scope: Scope) -> Span:
    """Months and days with a year of two figures: "3 Aug 96", "Aug 96"."""
    number, year = scope.words.months[word(match["month"])], short_year(int(match["y"]), scope)
    if "day" not in match.re.groupindex:
        return month_span(year, number)
    return day_span(year, number, day_number(match["day"], scope))


@needs("month", "day", "day2", "tail")
def month_and_days(match: re.Match[str], scope: Scope) -> Span:
    """Two days of one month: "May 5-7, 2023"."""
    number = scope.words.months[word(match["month"])]
    first, last = day_number(match["day"], scope), day_number(match["day2"], scope)
    if last < first:
        raise ValueError("the days run backwards")

    def days(year: int) -> Span:
        return Span(day_span(year, number, first).start, day_span(year, number, last).end, Unit.DAY)

    return of_tail(scope, days, match["tail"])


@needs("month", "month2", "tail")
def two_months(match: re.Match[str], scope: Scope) -> Span:
    """Two months: "March-May 2024"; "November to February 2024" began the year before."""
    first, last = (scope.words.months[word(match[name])] for name in ("month", "month2"))

    def months(year: int) -> Span:
        start = year if first <= last else year - 1
        return Span(month_span(start, first).start, month_span(year, last).end, Unit.MONTH)

    return of_tail(scope, months, match["tail"])
