"""Years, decades and centuries."""

from __future__ import annotations

import re

from hindsight_integrations.text.time_expressions.calendar import Span, Unit, years_span
from hindsight_integrations.text.time_expressions.grammar import Scope
from hindsight_integrations.text.time_expressions.meanings.days import day_number
from hindsight_integrations.text.time_expressions.nearest import short_year
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word

# A lone number is a year only this far from the reference: the span of a biography, and plans.
_BACK, _AHEAD = 130, 30
_LAST_CENTURY = 1800  # "the 1800s" are a century; "the 1900s" and "2000s" are taken for decades
_ROUND_YEAR = 2000  # any other hundred in front of a thing rather counts it
_LOOK_BACK = 40  # characters


def _near(year: int, scope: Scope) -> bool:
    return scope.now.year - _BACK <= year <= scope.now.year + _AHEAD


def _is_quantity(match: re.Match[str], scope: Scope) -> bool:
    return regex(scope.words.quantity_after).match(scope.text, match.end()) is not None


def _is_numbered(match: re.Match[str], scope: Scope) -> bool:
    """Behind "room" or "page", figures are no year."""
    before = scope.text[max(0, match.start() - _LOOK_BACK) : match.start()]
    return regex(scope.words.numbered_before).search(before) is not None


@needs("year")
def year(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "2023" behind a preposition or inside a composite."""
    number = int(match["year"])
    return years_span(number) if _near(number, scope) and not _is_quantity(match, scope) else None


@needs("year")
def year_of_thing(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "the 2022 reorg", but not "the 2019 laptop", "the 1600 block" or "the 2048 game"."""
    number = int(match["year"])
    if number > scope.now.year + 1 or (number % 100 == 0 and number != _ROUND_YEAR):
        return None
    counted = regex(scope.words.things_of_year).match(scope.text, match.end())
    return None if counted else year(match, scope)


@needs("year")
def any_year(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In 1066": "in" needs a year less near."""
    return None if _is_quantity(match, scope) else years_span(int(match["year"]))


@needs("year")
def final_year(match: re.Match[str], scope: Scope) -> Span | None:
    """A year that ends a question behind a plain word: "who coached the colts 2012"."""
    number, before = int(match["year"]), scope.text[max(0, match.start() - _LOOK_BACK) : match.start()]
    plain = regex(scope.words.year_after, exact=True).search(before)
    if not (_near(number, scope) and number <= scope.now.year + 1 and plain):
        return None
    return None if _is_numbered(match, scope) or _is_quantity(match, scope) else years_span(number)


@needs("year")
def named_year(match: re.Match[str], _scope: Scope) -> Span:
    """As in "The year 1702"."""
    return years_span(int(match["year"]))


@needs("year", "year2")
def two_years(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "2019-2021", "from 1834 to 1840"."""
    first, last = int(match["year"]), int(match["year2"])
    if first > last or _is_quantity(match, scope):
        return None
    return None if _is_numbered(match, scope) else years_span(first, last - first + 1)


@needs("year", "year2")
def bare_two_years(match: re.Match[str], scope: Scope) -> Span | None:
    """The same without a preposition, only near the reference."""
    near = _near(int(match["year"]), scope) and _near(int(match["year2"]), scope)
    return two_years(match, scope) if near else None


@needs("year", "y")
def split_year(match: re.Match[str], _scope: Scope) -> Span | None:
    """As in "1998-99": a year and the one after it."""
    year = int(match["year"])
    return years_span(year, 2) if int(match["y"]) == (year + 1) % 100 else None


@needs("y")
def two_digit_year(match: re.Match[str], scope: Scope) -> Span:
    """As in "'23"."""
    return years_span(short_year(int(match["y"]), scope))


@needs("decade")
def decade(match: re.Match[str], _scope: Scope) -> Span:
    """As in "The 1990s"; "the 1700s" are a century, as "the 2000s" are not yet."""
    first = int(match["decade"])
    if first % 100 == 0 and first <= _LAST_CENTURY:
        return years_span(first, 100, Unit.CENTURY)
    return years_span(first, 10, Unit.DECADE)


@needs("y")
def short_decade(match: re.Match[str], scope: Scope) -> Span:
    """As in "The '90s"."""
    return years_span(short_year(int(match["y"]), scope), 10, Unit.DECADE)


@needs("decade_word")
def word_decade(match: re.Match[str], scope: Scope) -> Span:
    """As in "The nineties"."""
    return years_span(scope.words.decades[word(match["decade_word"])], 10, Unit.DECADE)


@needs("century|day")
def century(match: re.Match[str], scope: Scope) -> Span:
    """As in "The 19th century", "the nineteenth century"."""
    if "century" in match.re.groupindex:
        number = scope.words.centuries[word(match["century"])]
    else:
        number = day_number(match["day"], scope)
    return years_span(max(100 * (number - 1), 1), 100 if number > 1 else 99, Unit.CENTURY)
