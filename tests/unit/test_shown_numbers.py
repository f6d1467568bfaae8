"""Citation numbers of a reflection: one numbering over all results, and only shown memories can be cited."""

from __future__ import annotations

import pytest
from builders import at, make_unit
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.reflect.citations import CitationIndex, references
from hindsight_integrations.reflect.toolbox import Numbering


def item(name: str) -> RecalledUnit:
    return RecalledUnit(make_unit(name), 0.0)


def turn(message: str) -> SourceTurn:
    return SourceTurn("t", message, "Hello.", "Ann", Role.USER, at(0))


def nothing() -> Numbering:
    return Numbering(CitationIndex({}, {}, {}))


def test_what_is_shown_again_keeps_its_number() -> None:
    """A memory keeps its number, whichever tool shows it."""
    numbers = Numbering(CitationIndex({"1": item("x")}, {}, {"B1": item("held")}))
    assert [numbers.memory(item(name)) for name in ("a", "b", "a", "x", "c")] == ["2", "3", "2", "1", "4"]
    assert [numbers.belief(item(name)) for name in ("held", "new", "held")] == ["B1", "B2", "B1"]


def test_a_turn_is_cited_by_the_memories_made_from_it() -> None:
    """A turn is cited by its memories' numbers, or by its own if it has none."""
    numbers = nothing()
    numbers.memory(item("a"))
    assert numbers.turn(turn("m1"), [item("a"), item("b")]) == ("1", "2")
    assert numbers.turn(turn("m2"), []) == ("3",)
    assert numbers.memory(item("c")) == "4"
    found = references(["2", "[3]", "4"], numbers.shown)
    assert [each.unit.id for each in found.units] == ["b", "c"]
    assert found.turns == (turn("m2"),)
    assert (found.none, found.unknown) == (False, ())


@pytest.mark.promise("An answer cites only what the model was shown.")
def test_what_was_not_shown_cannot_be_cited() -> None:
    """Unknown numbers, opinions, invented ids and prose are ignored; valid numbers are kept."""
    numbers = nothing()
    numbers.memory(item("a"))
    numbers.belief(item("belief"))
    found = references(["0", "2", "B1", "M1", "belief", "first", "1", "[1]", "a"], numbers.shown)
    assert [each.unit.id for each in found.units] == ["a"]
    assert found.unknown == ("0", "2", "M1", "first")
    assert found.beliefs == ("B1", "belief")


@given(st.lists(st.sampled_from("abcdef"), max_size=30))
def test_every_number_resolves_to_what_it_was_given_for(names: list[str]) -> None:
    """However often and in whatever order memories are shown, a number never changes its meaning."""
    numbers = nothing()
    known = {name: numbers.memory(item(name)) for name in names}
    assert sorted(known.values(), key=int) == [str(place + 1) for place in range(len(set(names)))]
    for name, number in known.items():
        assert references([number], numbers.shown).units == (item(name),)
