"""Which May is meant: the rules for times named without a year."""

from __future__ import annotations

import re
from dataclasses import replace

from hindsight_integrations.text.time_expressions.calendar import Span
from hindsight_integrations.text.time_expressions.grammar import Direction, Scope
from hindsight_integrations.text.time_expressions.patterns import any_of, regex, word
from hindsight_integrations.text.time_expressions.words import Which, Words, YearlyTime

_REACH = 9  # years searched each way: 29 February is at most eight years off
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_SHORT_YEAR = re.compile(r"(?<![0-9])[0-9]{2}(?![0-9])")


def _around(scope: Scope, make: YearlyTime) -> list[Span]:
    """Its occurrences of the years around now, early ones first; years without one (29 February) are left out."""
    spans = []
    for year in range(scope.now.year - _REACH, scope.now.year + _REACH + 1):
        try:
            spans.append(make(year))
        except (ValueError, OverflowError):
            continue
    return spans


def unspecified(scope: Scope, make: YearlyTime) -> Span:
    """The occurrence of the neighbour's year, else the latest begun; looking ahead, the first not yet over.

    Raises:
        ValueError: if there is none.
    """
    if scope.year is not None:
        return replace(make(scope.year), floating=True)
    spans = _around(scope, make)
    if scope.direction is Direction.FUTURE:
        found = next((span for span in spans if span.end > scope.now), None)
    else:
        found = next((span for span in reversed(spans) if span.start <= scope.now), None)
    if found is None:
        raise ValueError("no such time near the reference")
    return replace(found, floating=True)


def relative(scope: Scope, make: YearlyTime, which: Which) -> Span:
    """The last one over, the one of this year, or the next to begin.

    Raises:
        ValueError: if there is none.
    """
    spans = _around(scope, make)
    if which is Which.LAST:
        found = next((span for span in reversed(spans) if span.end <= scope.now), None)
    elif which is Which.NEXT:
        found = next((span for span in spans if span.start > scope.now), None)
    else:
        found = next((span for span in spans if span.start <= scope.now < span.end), make(scope.now.year))
    if found is None:
        raise ValueError("no such time near the reference")
    return found


def of_tail(scope: Scope, make: YearlyTime, tail: str) -> Span:
    """The occurrence that the words behind it name ("2023", "'23", "of last year"), else `unspecified`."""
    year = year_of_tail(scope, tail)
    return unspecified(scope, make) if year is None else make(year)


def year_of_tail(scope: Scope, tail: str) -> int | None:
    """The year that the words behind a month, season or holiday name; None if there are no such words."""
    plain = word(tail or "").lstrip(",- ")
    if not plain:
        return None
    if long := _YEAR.search(plain):
        return int(long[0])
    count = _years_ago(plain, scope.words)
    if count is not None:
        return scope.now.year - count
    if short := _SHORT_YEAR.search(plain):
        return short_year(int(short[0]), scope)
    named = regex(rf"\b(?:{any_of(scope.words.tail_years)})$").search(plain)
    return scope.now.year + scope.words.tail_years[named[0]] if named else None


def _years_ago(plain: str, words: Words) -> int | None:
    """The count in "two years ago", "3 years ago"."""
    found = regex(words.years_ago).search(plain)
    if not found:
        return None
    return words.numbers.get(found[1]) or int(found[1])


def short_year(digits: int, scope: Scope) -> int:
    """The year of "'23": the latest begun."""
    return scope.now.year - (scope.now.year - digits) % 100
