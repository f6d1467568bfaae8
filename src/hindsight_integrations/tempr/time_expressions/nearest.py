"""Which May is meant: the rules for times named without a year."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import Span
from hindsight_integrations.tempr.time_expressions.grammar import Direction, Scope
from hindsight_integrations.tempr.time_expressions.patterns import word

_REACH = 9  # years searched each way: 29 February is at most eight years off
YearlyTime = Callable[[int], Span]


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


def relative(scope: Scope, make: YearlyTime, which: int) -> Span:
    """The last one over, the one running (else this year's), or the next to begin.

    Raises:
        ValueError: if there is none.
    """
    spans = _around(scope, make)
    if which == english.LAST:
        found = next((span for span in reversed(spans) if span.end <= scope.now), None)
    elif which == english.NEXT:
        found = next((span for span in spans if span.start > scope.now), None)
    else:
        found = next((span for span in spans if span.start <= scope.now < span.end), make(scope.now.year))
    if found is None:
        raise ValueError("no such time near the reference")
    return found


def of_tail(scope: Scope, make: YearlyTime, tail: str) -> Span:
    """The occurrence that the words behind it name ("2023", "'23", "of last year"), else `unspecified`."""
    plain = word(tail).lstrip(", ")
    digits = "".join(filter(str.isdigit, plain))
    if len(digits) == 4:
        return make(int(digits))
    if digits:
        return make(short_year(int(digits), scope))
    for name, offset in (("last", -1), ("this", 0), ("current", 0), ("next", 1)):
        if name in plain:
            return make(scope.now.year + offset)
    return unspecified(scope, make)


def short_year(digits: int, scope: Scope) -> int:
    """The year of "'23": within the hundred years that end ten years from now."""
    latest = scope.now.year + 10
    return latest - (latest - digits) % 100
