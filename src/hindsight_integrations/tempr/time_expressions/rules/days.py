"""Single days by name: today, weekdays, ISO and written dates without a month name."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import (
    Span,
    Unit,
    containing,
    day_span,
    month_span,
    shift,
    weekday_after,
    weekday_before,
    weekday_in,
)
from hindsight_integrations.tempr.time_expressions.grammar import Direction, Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import short_year
from hindsight_integrations.tempr.time_expressions.patterns import word

_NEAR = {"today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2}
_MONTHS_IN_YEAR = 12
_NAME_GOES_ON = re.compile(r" [A-Z][a-z]")


def _near(match: re.Match[str], scope: Scope) -> Span:
    days = _NEAR[word(match["near"]).removeprefix("the ")]
    return containing(Unit.DAY, shift(scope.now, Unit.DAY, days))


def _weekday(match: re.Match[str]) -> int:
    return english.WEEKDAYS[word(match["weekday"])]


def _plain_weekday(match: re.Match[str], scope: Scope) -> Span:
    towards = weekday_before if scope.direction is Direction.PAST else weekday_after
    return towards(scope.now, _weekday(match))


def _bare_weekday(match: re.Match[str], scope: Scope) -> Span | None:
    """A weekday in front of a capitalised word is a name or a title ("Sunday Times")."""
    weekday = english.WEEKDAYS[word(match["clear_weekday"])]
    if _NAME_GOES_ON.match(scope.text, match.end()):
        return None
    towards = weekday_before if scope.direction is Direction.PAST else weekday_after
    return towards(scope.now, weekday)


def _which_weekday(match: re.Match[str], scope: Scope) -> Span:
    which = english.WHICH[word(match["which"])]
    if which == english.LAST:
        return weekday_before(scope.now, _weekday(match))
    if which == english.NEXT:
        return weekday_after(scope.now, _weekday(match))
    return weekday_in(containing(Unit.WEEK, scope.now), _weekday(match))


def _weekday_of_week(match: re.Match[str], scope: Scope) -> Span:
    offset = english.WHICH[word(match["which"])]
    week = containing(Unit.WEEK, shift(scope.now, Unit.WEEK, offset))
    return weekday_in(week, _weekday(match))


def _iso_day(match: re.Match[str], _scope: Scope) -> Span:
    return day_span(int(match["year"]), int(match["m"]), int(match["day"]))


def _iso_month(match: re.Match[str], _scope: Scope) -> Span | None:
    month = int(match["m"])
    return month_span(int(match["year"]), month) if 1 <= month <= _MONTHS_IN_YEAR else None


def _dotted(match: re.Match[str], scope: Scope) -> Span:
    """Day.month.year as written in Europe."""
    return day_span(_written_year(match["y"], scope), int(match["m"]), int(match["day"]))


def _slashed(match: re.Match[str], scope: Scope) -> Span:
    """Month/day/year as written in America, unless the first number can only be a day."""
    first, second = int(match["m"]), int(match["day"])
    month, day = (second, first) if first > _MONTHS_IN_YEAR else (first, second)
    return day_span(_written_year(match["y"], scope), month, day)


def _written_year(digits: str, scope: Scope) -> int:
    return int(digits) if len(digits) == 4 else short_year(int(digits), scope)


def _day_of_month(match: re.Match[str], scope: Scope) -> Span:
    """As in "On the 5th": the latest one; looking ahead, the next."""
    day = int(match["day"])
    step = 1 if scope.direction is Direction.FUTURE else -1
    first = containing(Unit.MONTH, scope.now).start
    for month in (shift(first, Unit.MONTH, step * back) for back in range(3)):
        try:
            span = day_span(month.year, month.month, day)
        except ValueError:
            continue
        if (span.start <= scope.now) if step < 0 else (span.end > scope.now):
            return span
    raise ValueError(f"no day {day} near the reference")


def _month_day(match: re.Match[str], scope: Scope) -> Span:
    """Day of a month told relatively: "the 5th of last month"."""
    offset = english.WHICH[word(match["which"])]
    month = shift(containing(Unit.MONTH, scope.now).start, Unit.MONTH, offset)
    return day_span(month.year, month.month, int(match["day"]))


RULES: tuple[Rule, ...] = (
    rule(
        r"(?P<near>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday|today|tomorrow)", _near
    ),
    rule(r"(?:on |this |)(?:the )?{which} {weekday}", _which_weekday),
    rule(r"(?:on )?{weekday},?(?: of)? {which} week", _weekday_of_week),
    rule(r"on (?:the )?{weekday}(?!'s| off)", _plain_weekday),
    rule(r"{clear_weekday}(?!'s)", _bare_weekday),
    rule(r"{weekday}", _plain_weekday, weak=True),
    rule(
        r"(?:on )?{year}(?P<mark>[-/.])(?P<m>[01]?[0-9])(?P=mark){day}(?:(?:T| )[0-2]?[0-9]:[0-5][0-9](?::[0-9.]+)?Z?)?",
        _iso_day,
    ),
    rule(r"(?:in )?{year}-(?P<m>[0-9]{2})", _iso_month),
    rule(r"(?:on )?{day}\.(?P<m>[01]?[0-9])\.(?P<y>[0-9]{4})", _dotted),
    rule(r"(?:on )?(?P<m>[0-3]?[0-9])/{day}/(?P<y>[0-9]{4}|[0-9]{2})", _slashed),
    rule(r"on the {day}(?:st|nd|rd|th)(?= *(?:$|[?.!,;)]))", _day_of_month),
    rule(r"(?:(?:on )?the )?{day}(?:st|nd|rd|th) of {which} month", _month_day),
)
