"""Specifics of statements, and when one statement repeats another."""

from __future__ import annotations

import numpy as np
from builders import make_unit
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts
from table import every_row

from hindsight_integrations.language.language import Language
from hindsight_integrations.language.packs import ENGLISH, LANGUAGES
from hindsight_integrations.language.specifics import pinned_alike, specifics, told_apart
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.reflect.opinions.evidence import Fact, restates

SPANISH = LANGUAGES["es"]
GERMAN = LANGUAGES["de"]

THRESHOLDS = Thresholds(semantic_link=0.6, channel_floor=0.2, duplicate=0.9)


def fact(text: str, cosine: float, language: Language = ENGLISH) -> Fact:
    """A fact whose vector has this cosine with that of a fact of cosine 1."""
    vector = np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)
    return Fact(make_unit("u", text), vector, ("ada",), specifics(text, language))


@every_row(
    ("one", "other", "language"),
    [
        ("The boat leaks after three hours.", "The boat leaks after five hours.", ENGLISH),
        ("The boat leaked on Tuesday.", "The boat leaked on Friday.", ENGLISH),
        ("The bill for March was late.", "The bill for June was late.", ENGLISH),
        ("We asked Hugo about the boat.", "We asked Petra about the boat.", ENGLISH),
        ("Lunch was 12.50 euros.", "Lunch was 14.50 euros.", ENGLISH),
        ("The tide turns at 10:30.", "The tide turns at 11:15.", ENGLISH),
        ("Das Boot war zw\u00f6lf Tage in der Werft.", "Das Boot war zwanzig Tage in der Werft.", GERMAN),
        ("Am Montag war das Boot dicht.", "Am Freitag war das Boot dicht.", GERMAN),
        ("El barco tard\u00f3 tres horas.", "El barco tard\u00f3 cinco horas.", SPANISH),
    ],
)
def test_other_numbers_days_and_names_are_told_apart(one: str, other: str, language: Language) -> None:
    """However similar the words and vectors are."""
    assert told_apart(specifics(one, language), specifics(other, language))
    assert not restates(fact(one, 1.0, language), fact(other, 1.0, language), THRESHOLDS)


@every_row(
    ("one", "other", "language"),
    [
        ("The repair took two weeks.", "It was fourteen days until it was repaired.", ENGLISH),
        ("The repair took two weeks.", "A fortnight passed until it was repaired.", ENGLISH),
        ("Two hours we waited.", "We waited for 120 minutes.", ENGLISH),
        ("It cost 1,200 crowns.", "1200 crowns it cost.", ENGLISH),
        ("Die Reparatur dauerte zwei Wochen.", "14 Tage dauerte die Reparatur.", GERMAN),
        ("Es kostete 1.200 Kronen.", "1200 Kronen hat es gekostet.", GERMAN),
    ],
)
def test_the_same_number_otherwise_written(one: str, other: str, language: Language) -> None:
    """In words or digits, or in another unit, it connects the statements."""
    first, second = specifics(one, language), specifics(other, language)
    assert not told_apart(first, second)
    assert pinned_alike(first, second)


def test_one_more_detail_does_not_tell_apart() -> None:
    """A detail of only one statement is ignored; articles are not numbers, and first words of sentences are not names."""
    short, long = (
        "The boat leaks.",
        "Again and again the boat leaks a bit, on Tuesday for three hours, says Hugo.",
    )
    assert not told_apart(specifics(short, ENGLISH), specifics(long, ENGLISH))
    assert specifics("A boat. One boat. Hugo left.", ENGLISH).numbers == frozenset()
    assert specifics("A boat. Hugo left.", ENGLISH).names == frozenset()


def test_how_alike_facts_must_be() -> None:
    """A quarter of the way from link to duplicate; as a link if they share a number; not at all if they are equal."""
    plain, counted = "The boat leaks badly.", "The boat leaked three times."
    assert restates(fact(plain, 1.0), fact("It leaks a lot, the boat.", 0.68), THRESHOLDS)
    assert not restates(fact(plain, 1.0), fact("It leaks a lot, the boat.", 0.67), THRESHOLDS)
    assert restates(fact(counted, 1.0), fact("Three times the boat had a leak.", 0.61), THRESHOLDS)
    assert not restates(fact(counted, 1.0), fact("Three times the boat had a leak.", 0.59), THRESHOLDS)
    assert restates(fact(plain, 1.0), fact("the boat  leaks BADLY.", 0.0), THRESHOLDS)


@given(texts(), texts(), st.floats(-1.0, 1.0))
def test_restating_goes_both_ways(one: str, other: str, cosine: float) -> None:
    """For any texts, and every text restates itself."""
    first, second = fact(one, 1.0), fact(other, cosine)
    assert restates(first, second, THRESHOLDS) == restates(second, first, THRESHOLDS)
    assert restates(first, fact(one, 0.0), THRESHOLDS)
