"""Holidays with fixed or computable dates. Add one by adding a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    day_span,
    easter,
    month_span,
    nth_weekday,
)
from hindsight_integrations.tempr.time_expressions.grammar import Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import YearlyTime, of_tail, relative
from hindsight_integrations.tempr.time_expressions.patterns import word

_THURSDAY, _SUNDAY = 3, 6


def _fixed(month: int, day: int) -> YearlyTime:
    return lambda year: day_span(year, month, day)


def _nth(month: int, weekday: int, nth: int) -> YearlyTime:
    return lambda year: nth_weekday(month_span(year, month), weekday, nth)


def _moved(feast: YearlyTime, days: int) -> YearlyTime:
    return lambda year: containing(Unit.DAY, feast(year).start + timedelta(days=days))


_THANKSGIVING = _nth(11, _THURSDAY, 4)
HOLIDAYS: dict[str, Callable[[int], Span]] = {
    "new year's eve": _fixed(12, 31),
    "new year's day": _fixed(1, 1),
    "new year's": _fixed(1, 1),
    "new years": _fixed(1, 1),
    "new year": _fixed(1, 1),
    "martin luther king day": _nth(1, 0, 3),
    "mlk day": _nth(1, 0, 3),
    "valentine's day": _fixed(2, 14),
    "valentines day": _fixed(2, 14),
    "valentine's": _fixed(2, 14),
    "presidents' day": _nth(2, 0, 3),
    "st. patrick's day": _fixed(3, 17),
    "st patrick's day": _fixed(3, 17),
    "april fools' day": _fixed(4, 1),
    "april fool's day": _fixed(4, 1),
    "good friday": _moved(easter, -2),
    "easter sunday": easter,
    "easter monday": _moved(easter, 1),
    "easter": easter,
    "earth day": _fixed(4, 22),
    "may day": _fixed(5, 1),
    "mother's day": _nth(5, _SUNDAY, 2),
    "memorial day": _nth(5, 0, -1),
    "father's day": _nth(6, _SUNDAY, 3),
    "juneteenth": _fixed(6, 19),
    "independence day": _fixed(7, 4),
    "fourth of july": _fixed(7, 4),
    "labor day": _nth(9, 0, 1),
    "columbus day": _nth(10, 0, 2),
    "halloween": _fixed(10, 31),
    "veterans day": _fixed(11, 11),
    "thanksgiving day": _THANKSGIVING,
    "thanksgiving": _THANKSGIVING,
    "black friday": _moved(_THANKSGIVING, 1),
    "cyber monday": _moved(_THANKSGIVING, 4),
    "christmas eve": _fixed(12, 24),
    "christmas day": _fixed(12, 25),
    "christmas": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "boxing day": _fixed(12, 26),
}

_NAMES = "|".join(re.escape(name).replace(r"\ ", " ") for name in sorted(HOLIDAYS, key=len, reverse=True))
_HOLIDAY = f"(?P<holiday>{_NAMES})"
# What hangs on the tree is not a date.
_THINGS = re.compile(
    r"\s+(?:tree|cards?|gifts?|presents?|eggs?|bunny|songs?|carols?|markets?|movies?|costumes?|decorations?|lights?"
    r"|cookies?|island|jumper|sweater|resolutions?|turkey|stockings?|crackers?|wreath|cactus|lily|lilies)\b",
    re.IGNORECASE,
)


def _yearly(match: re.Match[str]) -> YearlyTime:
    return HOLIDAYS[" ".join(match["holiday"].lower().split())]


def _holiday(match: re.Match[str], scope: Scope) -> Span | None:
    if _THINGS.match(scope.text, match.end()):
        return None
    return of_tail(scope, _yearly(match), match["tail"])


def _which_holiday(match: re.Match[str], scope: Scope) -> Span | None:
    if _THINGS.match(scope.text, match.end()):
        return None
    return relative(scope, _yearly(match), english.WHICH[word(match["which"])])


RULES: tuple[Rule, ...] = (
    rule(rf"(?:on |at |over |during |for )?(?:the )?{_HOLIDAY}(?!'s){{tail}}", _holiday),
    rule(rf"(?:on |at |over |during |for )?{{which}} {_HOLIDAY}(?!'s)", _which_holiday),
)
