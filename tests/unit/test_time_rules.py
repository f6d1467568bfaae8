"""A language with invalid rules is rejected when it is loaded."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.times import meanings
from hindsight_integrations.language.times.calendar import Span, Unit, containing
from hindsight_integrations.language.times.finding import find_event_time, find_window
from hindsight_integrations.language.times.grammar import (
    Build,
    Continuation,
    InvalidRule,
    Level,
    Rule,
    Scope,
    TimeRules,
    Which,
    Words,
    needs,
)

WORDS = Words(
    months={"mayo": 5}, units={"semana": Unit.WEEK}, which={"pasada": Which.LAST}, weekdays={"lunes": 0}
)


def language(pattern: str, build: Build) -> TimeRules:
    return TimeRules("xx", WORDS, (Rule(pattern, build),), ())


@every_row(
    ("pattern", "build", "meaning", "group"),
    [
        (r"en {month}", meanings.month, "month", "tail"),
        (r"la {unit}", meanings.which_unit, "which_unit", "which"),
        (r"hace {unit}", meanings.ago, "ago", "amount"),
        (r"hace {amount}", meanings.ago, "ago", "unit or short_unit"),
        (r"(?P<m>[0-9]+)/(?P<d>[0-9]+)", meanings.iso_day, "iso_day", "year"),
        (r"trimestre {ordinal}", meanings.quarter, "quarter", "tail or year"),
    ],
)
def test_a_rule_without_a_group_its_meaning_reads_is_refused(
    pattern: str, build: Build, meaning: str, group: str
) -> None:
    """The error names the language, the rule, the meaning and the group."""
    with pytest.raises(InvalidRule) as refused:
        language(pattern, build)
    message = str(refused.value)
    assert all(
        part in message for part in ("'xx'", repr(pattern), f"meaning {meaning} ", f"the group {group}")
    )


def test_a_group_that_is_optional_may_be_missing() -> None:
    """A rule may lack an optional group."""
    language(r"(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})", meanings.in_figures)


def test_a_continuation_is_checked_too() -> None:
    """Continuations are validated like rules."""
    with pytest.raises(InvalidRule, match="weekday"):
        TimeRules("xx", WORDS, (), (Continuation(r", lunes", meanings.weekday_behind_week, Level.PART),))


def test_words_spelled_out_in_a_rule_must_have_a_value() -> None:
    """A word spelled out in a rule must be in its table."""
    with pytest.raises(InvalidRule, match=r"'quincena'.*table units"):
        language(r"la (?P<unit>semana|quincena) de {time}", meanings.unit_of_day)


def test_a_misspelt_fragment_is_named() -> None:
    """An unknown placeholder raises an error that names its rule."""
    with pytest.raises(InvalidRule, match=r"\{mnth\} is not a fragment"):
        language(r"en {mnth}", meanings.month)


def test_tables_must_fit_together() -> None:
    """Subset tables must be part of their table."""
    with pytest.raises(InvalidRule, match="'junio' is not in the table months"):
        TimeRules("xx", replace(WORDS, clear_months=frozenset({"junio"})), (), ())


def test_a_meaning_of_ones_own_declares_its_groups() -> None:
    """A language's own meanings are validated too."""

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
    """The built-in languages are valid and have their codes."""
    times = LANGUAGES[code].times
    assert times is not None
    assert times.code == code


@pytest.mark.parametrize("code", LANGUAGES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_words_of_a_language_in_any_order_never_fail(code: str, data: st.DataObject) -> None:
    """Arbitrary sequences of time words never raise."""
    times = LANGUAGES[code].times
    assert times is not None
    words = times.words
    tables = (
        words.months, words.weekdays, words.units, words.numbers, words.ordinals, words.day_numbers, words.seasons,
        words.portions, words.day_parts, words.which, words.near, words.pieces, words.holidays, words.part_names,
        words.tail_years, words.before, words.behind, words.earlier, words.decades,
    )  # fmt: skip
    names = [name for table in tables for name in table]
    rules = [re.sub(r"\(\?[^)]*\)|[^\w ']", " ", rule.pattern) for rule in times.rules]
    figures = st.sampled_from(
        ["1", "2.", "31", "2023", "99", "0", "3/5", "8.5.", "2023-02-30", "'90s", "20/21", "Q3"]
    )
    parts = data.draw(st.lists(st.sampled_from(names) | st.sampled_from(rules) | figures, max_size=7))
    find_window(" ".join(parts), datetime(2024, 2, 29, 12, tzinfo=UTC), rules=times)
    find_event_time("".join(parts), datetime(2024, 2, 29, 12, tzinfo=UTC), rules=times)


def test_a_table_is_spelled_as_texts_are_read() -> None:
    """Table words must be lower case and without full stops, as texts are matched."""
    with pytest.raises(InvalidRule, match="ordinals"):
        TimeRules("xx", replace(WORDS, ordinals={"1.": 1}), (), ())
    with pytest.raises(InvalidRule, match="near"):
        TimeRules("xx", replace(WORDS, near={"Mañana": 1}), (), ())
