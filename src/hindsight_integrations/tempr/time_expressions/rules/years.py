"""Years, decades and centuries."""

from __future__ import annotations

import re

from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.calendar import Span, Unit, years_span
from hindsight_integrations.tempr.time_expressions.grammar import Rule, Scope, rule
from hindsight_integrations.tempr.time_expressions.nearest import short_year
from hindsight_integrations.tempr.time_expressions.patterns import word

# A lone number is a year only this far from the reference [notes/upstream 2.6, with slack for biographies].
_BACK, _AHEAD = 130, 30
_QUANTITY = re.compile(rf"\s+(?:\w+\s+)?{english.QUANTITIES}\b", re.IGNORECASE)


def _near(year: int, scope: Scope) -> bool:
    return scope.now.year - _BACK <= year <= scope.now.year + _AHEAD


def _year(match: re.Match[str], scope: Scope) -> Span | None:
    year = int(match["year"])
    if not _near(year, scope) or _QUANTITY.match(scope.text, match.end()):
        return None
    return years_span(year)


def _named_year(match: re.Match[str], _scope: Scope) -> Span:
    return years_span(int(match["year"]))


def _years(match: re.Match[str], scope: Scope) -> Span | None:
    first, last = int(match["year"]), int(match["year2"])
    if (
        first > last
        or not (_near(first, scope) and _near(last, scope))
        or _QUANTITY.match(scope.text, match.end())
    ):
        return None
    return years_span(first, last - first + 1)


def _short_year(match: re.Match[str], scope: Scope) -> Span:
    return years_span(short_year(int(match["digits"]), scope))


def _decade(match: re.Match[str], _scope: Scope) -> Span:
    return years_span(int(match["decade"]), 10, Unit.DECADE)


def _short_decade(match: re.Match[str], scope: Scope) -> Span:
    return years_span(short_year(int(match["digits"]), scope), 10, Unit.DECADE)


def _word_decade(match: re.Match[str], _scope: Scope) -> Span:
    return years_span(english.DECADE_WORDS[word(match["decade_word"])], 10, Unit.DECADE)


def _century(match: re.Match[str], _scope: Scope) -> Span:
    number = int(match["number"])
    return years_span(max(100 * (number - 1), 1), 100 if number > 1 else 99, Unit.CENTURY)


_THE = "(?:in |during |throughout |over |from |of )?(?:the )?"
RULES: tuple[Rule, ...] = (
    rule(r"{year}", _year, weak=True),
    rule(r"(?:back in|in|during|throughout|over|through|for|from|of|around|circa|within) {year}", _year),
    rule(r"(?:in |during |for )?(?:the )?(?:calendar |fiscal )?year {year}", _named_year),
    rule(r"(?:in )?FY ?{year}", _named_year),
    rule(rf"(?:the|my|our|his|her|their|your) {{year}}(?= (?:\w+ )?{english.DATED_NOUNS}\b)", _year),
    rule(
        r"(?:in|from|between|during|over|for|of) {year}(?: ?- ?| to | and | through | until ){year2}", _years
    ),
    rule(r"{year}(?: ?- ?| to ){year2}", _years, weak=True),
    rule(r"'(?P<digits>[0-9]{2})", _short_year, weak=True),
    rule(r"(?:back in|in|during|throughout|of) '(?P<digits>[0-9]{2})", _short_year),
    rule(_THE + r"(?P<decade>(?:1[5-9]|20)[0-9]0)'?s", _decade),
    rule(_THE + r"'(?P<digits>[0-9]0)'?s", _short_decade),
    rule(r"(?:in |during )?the (?P<digits>[0-9]0)s", _short_decade),
    rule(r"(?P<digits>[0-9]0)s", _short_decade, weak=True),
    rule(r"(?:in |during )?the {decade_word}", _word_decade),
    rule(_THE + r"(?P<number>[0-9]{1,2})(?:st|nd|rd|th) century", _century),
)
