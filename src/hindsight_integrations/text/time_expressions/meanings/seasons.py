"""Seasons of the northern hemisphere, by whole months; a winter belongs to the year it begins in."""

from __future__ import annotations

import re

from hindsight_integrations.text.time_expressions.calendar import Span, Unit, month_span
from hindsight_integrations.text.time_expressions.grammar import Scope
from hindsight_integrations.text.time_expressions.meanings.days import which_of
from hindsight_integrations.text.time_expressions.nearest import of_tail, relative, short_year
from hindsight_integrations.text.time_expressions.needs import needs
from hindsight_integrations.text.time_expressions.patterns import regex, word
from hindsight_integrations.text.time_expressions.words import Which, YearlyTime


def yearly(match: re.Match[str], scope: Scope) -> YearlyTime:
    """The season that a match names."""
    first = scope.words.seasons[word(match["season"])]
    return lambda year: month_span(year, first, 3, Unit.QUARTER)


@needs("season", "tail")
def season(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "In spring"; "in Spring Boot" and "in the fall of Rome" are no season."""
    if not match["tail"]:
        goes_on = regex(scope.words.name_goes_on, exact=True).match(scope.text, match.end())
        if match["season"].istitle() and goes_on:
            return None
        if regex(scope.words.season_things).match(scope.text, match.end()):
            return None
    return of_tail(scope, yearly(match, scope), match["tail"])


@needs("season", "tail")
def dated_season(match: re.Match[str], scope: Scope) -> Span | None:
    """As in "Spring 2023"; with a year it needs no preposition."""
    return season(match, scope) if match["tail"] else None


@needs("season", "which")
def which_season(match: re.Match[str], scope: Scope) -> Span:
    """As in "Last spring"."""
    return relative(scope, yearly(match, scope), which_of(match, scope))


@needs("season")
def season_before_last(match: re.Match[str], scope: Scope) -> Span:
    """As in "The summer before last"."""
    last = relative(scope, yearly(match, scope), Which.LAST)
    return yearly(match, scope)(last.start.year - 1)


@needs("season", "year|y")
def split_winter(match: re.Match[str], scope: Scope) -> Span:
    """As in "Winter 2022/23": the year it begins in goes first."""
    year = match["year"] if "year" in match.re.groupindex else match["y"]
    return yearly(match, scope)(int(year) if len(year) > 2 else short_year(int(year), scope))
