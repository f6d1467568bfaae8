"""Details of a replaced memory that a fact must repeat: everything exact, unless it lists it as removed."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.model.entities import Entity, EntityMention, EntityRole, EntityType
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.retain.replacing import (
    LISTED_CHARACTERS,
    listed,
    names_of_entities,
    names_of_mentions,
    problem_of_replacing,
    told_texts,
    untold,
)

NOW = datetime(2024, 5, 5, tzinfo=UTC)


def item(value: Decimal | str) -> Record:
    return Record(RecordKind.DOCUMENT_ITEM, value)


def missing(
    old: str, new: str, removed: tuple[str, ...] = (), *, names: Any = (), records: Any = (), more: Any = ()
) -> list[str]:
    """The details of `old` that `new` omits; `more` are texts that count in addition to the narrative."""
    memory = MemoryUnit("u", "b", old, FactType.WORLD, NOW, records=tuple(records))
    return untold(memory, names, told_texts(new, more, (), removed))


@every_row(
    ("old", "new", "expected"),
    [
        # numbers
        ("Two cats and 3 dogs.", "A parrot.", ["3"]),
        ("3 dogs.", "30 dogs.", ["3"]),
        ("3 dogs.", "Dogs: 3.", []),
        ("1,200 steps.", "1200 steps.", []),
        ("1200 steps.", "1,200 steps.", []),
        ("1,200 steps.", "1.2 steps.", ["1,200"]),
        ("It cost 12.50.", "It cost 12,5 EUR.", []),
        ("It cost 12.50 at 9:30.", "It cost 12.05 at 09:30.", ["12.50"]),
        ("5km in 007.", "5 km in 7.", []),
        ("Room 101, flight UA123.", "Room 102, flight UA123.", ["101"]),
        ("9 of " + "1" * 40, "9 of " + "1" * 39 + "2", ["1" * 40]),
        ("Scored \uff11\uff12.", "Scored 12.", []),
        # dates
        ("On May 7, 2024.", "On 2024-05-07.", []),
        ("On 2024-05-07.", "On the 7th of May 2024.", []),
        ("On 2024-05-07.", "On May 8, 2024.", ["2024-05-07"]),
        ("On May 7.", "On June 7.", ["May 7"]),
        ("On May 7.", "5 times on the 7.", ["May 7"]),
        ("On 07.05.2024.", "On May 7, 2024.", []),
        ("On 5/7/2024.", "On May 7, 2024.", []),
        ("On 5/7/2024.", "On June 7, 2024.", ["5/7/2024"]),
        ("Am 7. M\u00e4rz 2024.", "On March 7, 2024.", []),
        ("El 7 de mayo de 2024.", "Am 7. Mai 2024.", []),
        ("Goes. | When: Tuesday, May 7, 2024", "Goes on Friday.", ["May 7, 2024"]),
        ("The user may take 2.", "The user takes 2.", []),
        ("In 2019-20 and 2010-13.", "In 2019, 20, 2010, 13.", []),
        # titles
        ("Read 'The Alchemist'.", "Finished \u201cThe alchemist,\u201d at last.", []),
        ("Read 'The Alchemist'.", "Read 'The Alchemists'.", ["The Alchemist"]),
        ("It's the user's.", "Nothing.", []),
        ("Plays \u201cUno\u201d with 4.", "Plays with 4.", ["Uno"]),
    ],
)
def test_what_the_text_pins_down_is_told(old: str, new: str, expected: list[str]) -> None:
    assert missing(old, new) == expected


ANNA = ("Anna Bell", "anna bell", "anna")
MAY = ("May",)


@every_row(
    ("old", "new", "more", "names", "expected"),
    [
        ("Anna Bell cooks.", "The user cooks.", [], [ANNA], ["Anna Bell"]),
        ("Anna Bell cooks.", "ANNA cooks.", [], [ANNA], []),
        ("Anna Bell cooks.", "Annabell cooks.", [], [ANNA], ["Anna Bell"]),
        ("Anna Bell cooks.", "She cooks.", ["Anna Bell"], [ANNA], []),
        ("Anna Bell cooks.", "Anna's soup.", [], [ANNA], []),
        ("Anna cooks.", "The user cooks.", [], [ANNA], ["anna"]),
        ("May cooks.", "She may cook.", [], [MAY], ["May"]),
        ("Somebody cooks.", "Nobody does.", [], [ANNA], []),
        ("Anna and Bell.", "Anna.", ["Bell"], [("Anna Bell",), ("Anna",), ("Bell",)], []),
        ("Anna Bell.", "Anna.", ["Bell"], [("Anna Bell",)], ["Anna Bell"]),
    ],
)
def test_entities_are_named_by_one_of_their_names(
    old: str, new: str, more: list[str], names: Any, expected: list[str]
) -> None:
    """A whole name; only names in the memory's own text are required."""
    assert missing(old, new, names=names, more=more) == expected


def test_a_value_in_words_that_nobody_was_shown_is_not_looked_for() -> None:
    """A textual value may differ from the memory's text, and a model that sees only the text cannot repeat it."""
    flight = Record(RecordKind.OTHER, "Flight LH100: 9:00")
    new = "Flight LH100 leaves at 10:00."
    assert missing("Flight LH100 leaves at 9:00.", new, ("9:00",), records=[flight]) == []
    task = Record(RecordKind.TASK, "call Ana")
    assert missing("The user has to call Ana.", "Nothing is left.", records=[task]) == ["call Ana"]


@every_row(
    ("records", "new", "more", "expected"),
    [
        ([item("watering plan")], "The plan.", [], ["watering plan"]),
        ([item("watering plan")], "The Watering  Plan!", [], []),
        ([item("watering plan.")], "The plan.", ["watering plan"], []),
        ([item("plan")], "Planning.", [], ["plan"]),
        ([item("plan"), item("plan")], "Planning.", [], ["plan"]),
        ([item(Decimal("12.50"))], "Nothing.", ["12.5"], []),
        ([item(Decimal(1200))], "1,200 of them.", [], []),
        ([item(Decimal(-5))], "It was -5.", [], []),
        ([item(Decimal(1200))], "1,300 of them.", [], ["1200"]),
        ([item("Ana (chair)"), item("...")], "Ana (Chair) comes.", [], []),
    ],
)
def test_values_of_records_that_hold_are_told(
    records: list[Record], new: str, more: list[str], expected: list[str]
) -> None:
    assert missing("The invitation.", new, records=records, more=more) == expected


@every_row(
    ("removed", "expected"),
    [
        ([], ["3 dogs", "May 7, 2024", "Dune", "Anna"]),
        (["3 dogs"], ["May 7, 2024", "Dune", "Anna"]),
        (["the 3 dogs of Anna", "'Dune'"], ["May 7, 2024"]),
        (["2024-05-07", "Dune", "Anna", "3 DOGS"], []),
        (["dogs", "May 2024"], ["3 dogs", "May 7, 2024", "Dune", "Anna"]),
    ],
)
def test_what_was_removed_need_not_be_told(removed: list[str], expected: list[str]) -> None:
    """A missing detail is listed once, and not if it is part of a longer one."""
    old = "Anna got 3 dogs on May 7, 2024 and read 'Dune'."
    got = missing(old, "She moved.", tuple(removed), names=[("Anna",)], records=[item("3 dogs")])
    assert sorted(got) == sorted(expected)


@given(
    st.text(alphabet=st.one_of(st.sampled_from("17.,:/-' May\u201c\u201d|"), st.characters(codec="utf-8")))
)
def test_any_text_tells_all_of_itself(text: str) -> None:
    """Alone and among others, whatever the text consists of."""
    assert missing(text, text, records=[item(text)]) == []
    assert missing(text, "", (text,), records=[item(text)]) == []


def test_a_text_of_many_forms_tells_all_of_itself() -> None:
    old = "On 7/5/24, May 5-7, 2010-12: 1.200,50 x 3 'a 'b' at 10:30, v1.2.3, 'The 39 Steps' | When: 12. Mai"
    assert missing(old, old, records=[item("v1.2.3"), item(Decimal("1200.50"))]) == []


def test_the_user_the_agent_and_speakers_are_not_asked_for() -> None:
    entities = [
        Entity(role.value or "none", role.value or "Anna", EntityType.PERSON, role, (role.value or "anna",))
        for role in EntityRole
    ]
    assert names_of_entities(entities) == [("Anna", "anna")]
    mentions = [EntityMention(name) for name in ("The user", "Assistant", "Anna")]
    assert names_of_mentions(mentions) == [("Anna",)]


def test_a_message_lists_the_first_and_counts_the_rest() -> None:
    assert problem_of_replacing([]) == ""
    assert listed(["1", "two"]) == "'1', 'two'"
    many = listed([f"item number {n}" for n in range(100)])
    assert len(many) < 2 * LISTED_CHARACTERS
    assert many.endswith("more")
    assert len(listed(["x" * 10_000])) < 2 * LISTED_CHARACTERS
