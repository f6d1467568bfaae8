"""Seasons of the northern hemisphere, by whole months; a winter belongs to the year it begins in."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import Span, Unit, month_span
from hindsight_integrations.tempr.time_expressions.grammar import Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import YearlyTime, of_tail, relative
from hindsight_integrations.tempr.time_expressions.patterns import word

_NAME_GOES_ON = re.compile(r" [A-Z][a-z]")


def _yearly(match: re.Match[str]) -> YearlyTime:
    first = english.SEASONS[word(match["season"])]
    return lambda year: month_span(year, first, 3, Unit.QUARTER)


def _season(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In Spring Boot" is no season."""
    if match["season"].istitle() and not match["tail"] and _NAME_GOES_ON.match(scope.text, match.end()):
        return None
    return of_tail(scope, _yearly(match), match["tail"])


def _dated_season(match: re.Match[str], scope: Scope) -> Span | None:
    return _season(match, scope) if match["tail"] else None


def _which_season(match: re.Match[str], scope: Scope) -> Span:
    return relative(scope, _yearly(match), english.WHICH[word(match["which"])])


def _before_last(match: re.Match[str], scope: Scope) -> Span:
    last = relative(scope, _yearly(match), english.LAST)
    return _yearly(match)(last.start.year - 1)


def _split_winter(match: re.Match[str], _scope: Scope) -> Span:
    """As in "Winter 2022/23": the year it begins in is said."""
    return _yearly(match)(int(match["year"]))


_IN = "(?:in |during |over |throughout |for |from )?"
_SEASON = r"{season}(?:time)?(?: (?:break|vacation|holidays?|season))?"
RULES: tuple[Rule, ...] = (
    rule(r"(?:the )?{season}{tail}", _season, weak=True),
    rule(rf"(?:in|during|over|throughout)(?: the)? {_SEASON}{{tail}}", _season),
    rule(_IN + r"(?:the )?{season}{tail}", _dated_season),
    rule(_IN + rf"(?:the )?{{which}} {_SEASON}", _which_season),
    rule(_IN + r"the {season} before last", _before_last),
    rule(_IN + r"(?:the )?{season} (?:of )?{year}[/-](?:20)?[0-9]{2}", _split_winter),
)
