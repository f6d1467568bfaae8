"""Grounds of a text: cited memories, uncited sources, and cutting of long answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.reflect.answer import shortened
from hindsight_integrations.reflect.citations import (
    CitationIndex,
    Ground,
    completed_grounds,
    reference_faults,
    references,
)

KNOWN_LANGUAGES = tuple(LANGUAGES.values())
MOMENT = datetime(2024, 6, 12, tzinfo=UTC)

COMMUTE = Ground("Remote work removes the commute of the whole team.", ("commute",))
SURVEY = Ground("In the survey 65% of the team liked remote work.", ("survey",))
QUILLON = Ground("Quillon left the team over remote work.", ("quillon",))
LONELY = Ground("Many feel isolated in remote work.", ("lonely-1", "lonely-2"))
SHOWN = (COMMUTE, SURVEY, QUILLON, LONELY)


@every_row(
    ("text", "expected"),
    [
        ("I think remote work is good because it removes the commute.", {"commute"}),
        ("I think remote work is good because 65% of the team say so.", {"commute", "survey"}),
        ("I think remote work is bad because Quillon left.", {"commute", "quillon"}),
        ("I think remote work is bad because people are isolated.", {"commute", "lonely-1", "lonely-2"}),
        ("I think remote work suits a team because it is quiet.", {"commute"}),
    ],
)
def test_what_a_text_takes_from_a_memory_it_does_not_cite_makes_it_a_ground(
    text: str, expected: set[str]
) -> None:
    """A number, name or rare word found in one uncited memory only makes it a ground."""
    assert set(completed_grounds(text, [COMMUTE], SHOWN, KNOWN_LANGUAGES)) == expected


def test_what_the_question_says_is_taken_from_the_question() -> None:
    """Words of the question do not make memories grounds."""
    text = "I think remote work removes too much commute for Quillon."
    asked = Ground("What would Quillon say about remote work?")
    assert set(completed_grounds(text, [COMMUTE, asked], SHOWN, KNOWN_LANGUAGES)) == {"commute"}


def test_a_name_is_taken_from_every_memory_that_has_it() -> None:
    """Every memory with the name is a ground, so that forgetting any of them reaches the text."""
    named = [Ground(f"Quillon went to place number {place}.", (f"q{place}",)) for place in range(8)]
    found = completed_grounds(
        "I trust Quillon because of all that.", [COMMUTE], [COMMUTE, *named], KNOWN_LANGUAGES
    )
    assert set(found) == {"commute", *(f"q{place}" for place in range(8))}


@given(text=st.text(max_size=200), cited=st.sets(st.sampled_from(SHOWN)))
def test_what_is_cited_is_always_a_ground_and_nothing_else_than_what_was_shown(
    text: str, cited: set[Ground]
) -> None:
    """Every cited memory is a ground, and only shown memories are."""
    found = set(completed_grounds(text, list(cited), SHOWN, KNOWN_LANGUAGES))
    assert {each for ground in cited for each in ground.unit_ids} <= found
    assert found <= {each for ground in SHOWN for each in ground.unit_ids}


def item(name: str, kind: FactType = FactType.WORLD) -> RecalledUnit:
    return RecalledUnit(MemoryUnit(name, "b", f"Text of {name}.", kind, MOMENT), 1.0)


TIERS = MemoryTiers(
    RecallResult((), 0),
    observations=(item("seen", FactType.OBSERVATION),),
    facts=(item("first"), item("second")),
    beliefs=(item("held", FactType.OPINION),),
)


@every_row(
    ("given", "units", "beliefs", "unknown"),
    [
        (["1", "3"], ["seen", "second"], [], []),
        (["[2]", " 2 ", "first", "#2"], ["first"], [], []),
        (["1, 2; [3]"], ["seen", "first", "second"], [], []),
        (["Memory 2"], ["first"], [], []),
        (["B1", "b1", "held"], [], ["B1", "b1", "held"], []),
        (["4", "0", "made-up", "M1", "-1", "2.5"], [], [], ["4", "0", "made-up", "M1", "-1", "2.5"]),
        (["", "  ", "[]"], [], [], []),
    ],
)
def test_references_are_read_as_models_write_them(
    given: list[str], units: list[str], beliefs: list[str], unknown: list[str]
) -> None:
    """Citations are read as numbers, in brackets, in lists, or as full ids; opinions and inventions are told apart."""
    found = references(given, CitationIndex.of(TIERS))
    assert [each.unit.id for each in found.units] == units
    assert (list(found.beliefs), list(found.unknown)) == (beliefs, unknown)


def test_a_model_is_told_what_there_is_to_cite() -> None:
    """The message contains the range of the numbers, and says that opinions cannot be cited."""
    faults = list(reference_faults(references(["9", "B1"], CitationIndex.of(TIERS)), CitationIndex.of(TIERS)))
    assert faults == [
        "based_on names 9, and there are memories 1 to 3",
        "based_on names B1: beliefs are no evidence, name the memories",
    ]


class Words:
    """Counts words."""

    name = "words"

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@every_row(
    ("most", "kept"),
    [
        (9, "One two three. Four five! Six seven eight nine."),
        (8, "One two three. Four five!"),
        (5, "One two three. Four five!"),
        (4, "One two three."),
        (3, "One two three."),
        (2, "One two"),
        (1, "One"),
    ],
)
def test_an_answer_that_is_too_long_ends_with_a_sentence(most: int, kept: str) -> None:
    """A long answer is cut after its last fitting sentence, else a word, with a note."""
    text, notes = shortened("One two three. Four five! Six seven eight nine.", most, Words())
    assert text == kept
    assert bool(notes) == (most < 9)
