"""A language whose rules cannot work is refused when it is loaded, not at the first question they match."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.time_expressions.calendar import Span, Unit, containing
from hindsight_integrations.text.time_expressions.grammar import (
    Build,
    Continuation,
    Level,
    Rule,
    Scope,
    TimeRules,
)
from hindsight_integrations.text.time_expressions.meanings import calendar_units, days, months, offsets, parts
from hindsight_integrations.text.time_expressions.needs import InvalidRule, needs
from hindsight_integrations.text.time_expressions.words import Which, Words

WORDS = Words(
    months={"mayo": 5}, units={"semana": Unit.WEEK}, which={"pasada": Which.LAST}, weekdays={"lunes": 0}
)


def language(pattern: str, build: Build) -> TimeRules:
    return TimeRules("xx", WORDS, (Rule(pattern, build),), ())


@pytest.mark.parametrize(
    ("pattern", "build", "meaning", "group"),
    [
        (r"en {month}", months.month, "month", "tail"),
        (r"la {unit}", calendar_units.which_unit, "which_unit", "which"),
        (r"hace {unit}", offsets.ago, "ago", "amount"),
        (r"hace {amount}", offsets.ago, "ago", "unit or short_unit"),
        (r"(?P<d>[0-9]+)/(?P<m>[0-9]+)", days.day_first, "day_first", "y"),
        (r"trimestre {ordinal}", calendar_units.quarter, "quarter", "tail or year"),
    ],
)
def test_a_rule_without_a_group_its_meaning_reads_is_refused(
    pattern: str, build: Build, meaning: str, group: str
) -> None:
    """The error names the language, the rule, the meaning and the group, so that its author finds it at once."""
    with pytest.raises(InvalidRule) as refused:
        language(pattern, build)
    message = str(refused.value)
    assert all(
        part in message for part in ("'xx'", repr(pattern), f"meaning {meaning} ", f"the group {group}")
    )


def test_a_group_that_is_optional_may_be_missing() -> None:
    """A date without a year is one meaning with the date that has one."""
    language(r"(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})", days.month_first)


def test_a_continuation_is_checked_too() -> None:
    """What may follow a phrase is a rule as well."""
    with pytest.raises(InvalidRule, match="weekday"):
        TimeRules("xx", WORDS, (), (Continuation(r", lunes", days.weekday_behind_week, Level.PART),))


def test_words_spelled_out_in_a_rule_must_have_a_value() -> None:
    """A rule that takes a word no table knows would look it up in vain."""
    with pytest.raises(InvalidRule, match=r"'quincena'.*table units"):
        language(r"la (?P<unit>semana|quincena) de {time}", parts.unit_of_day)


def test_a_misspelt_fragment_is_named() -> None:
    """A placeholder that stands for nothing is an error of its author, named with its rule."""
    with pytest.raises(InvalidRule, match=r"\{mnth\} is no fragment"):
        language(r"en {mnth}", months.month)


def test_tables_must_fit_together() -> None:
    """A month that needs no preposition is a month."""
    with pytest.raises(InvalidRule, match="'junio' is not in the table months"):
        TimeRules("xx", replace(WORDS, clear_months=frozenset({"junio"})), (), ())


def test_a_meaning_of_ones_own_declares_its_groups() -> None:
    """A language may bring a meaning of its own, and it is checked as ours are."""

    @needs("unit")
    def whole(match: re.Match[str], scope: Scope) -> Span:
        return containing(scope.words.units[match["unit"]], scope.now)

    language(r"toda la {unit}", whole)
    with pytest.raises(InvalidRule, match="needs the group unit"):
        language(r"toda la semana", whole)
    with pytest.raises(InvalidRule, match="does not declare"):
        language(r"toda la {unit}", lambda match, scope: None)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_is_loaded_whole(code: str) -> None:
    """Our own languages pass, and say which they are."""
    assert LANGUAGES[code].times.code == code
