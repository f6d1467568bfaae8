"""Selecting facts of an entity for a prompt, choosing representatives without a model, and their text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.model.embedder import REFERENCE
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.reflect.observations import (
    CANDIDATES,
    LONGEST_RETOLD,
    candidates,
    choose_representatives,
    choose_within,
    retell,
    weight,
)

ALL = tuple(LANGUAGES.values())
FRIDAY = datetime(2024, 5, 3, 10, tzinfo=UTC)


def directions(*angles: float) -> Matrix:
    """Unit vectors at these angles, in degrees: the cosine of two is that of their difference."""
    turns = np.radians(np.array(angles))
    return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)


def unit(text: str, speaker: str = "", fact_type: FactType = FactType.WORLD) -> MemoryUnit:
    return MemoryUnit("f", "bank", text, fact_type, FRIDAY, speaker=speaker)


def test_all_facts_are_shown_while_they_fit() -> None:
    """If all facts fit the budget, none is left out."""
    assert choose_within([10, 10, 10], directions(0, 0, 0), budget=30, duplicate=0.92) == [0, 1, 2]


def test_the_newest_and_the_most_distinct_are_shown() -> None:
    """Half of the budget is for the newest facts, without duplicates; half for the most dissimilar others."""
    vectors = directions(90, 80, 40, 2, 1, 0)
    assert choose_within([10] * 6, vectors, budget=20, duplicate=0.92) == [0, 5]
    assert choose_within([10] * 6, vectors, budget=40, duplicate=0.92) == [0, 1, 2, 5]


def test_a_fact_over_the_budget_is_passed_over() -> None:
    """A fact that exceeds the budget is skipped, and the others are selected."""
    assert choose_within([10, 999, 10, 10], directions(0, 30, 60, 90), budget=30, duplicate=0.92) == [0, 2, 3]
    assert choose_within([999, 999], directions(0, 30), budget=30, duplicate=0.92) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_a_choice_fits_its_budget_and_is_the_same_each_time(costs: list[int], budget: int, seed: int) -> None:
    """Never more than the budget, in order, and no fact is left out that would still fit."""
    vectors = np.random.default_rng(seed).normal(size=(len(costs), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    places = choose_within(costs, vectors, budget=budget, duplicate=0.92)
    assert places == sorted(set(places)) == choose_within(costs, vectors, budget=budget, duplicate=0.92)
    spent = sum(costs[place] for place in places)
    assert spent <= budget
    assert all(costs[place] > budget - spent for place in set(range(len(costs))) - set(places))


def test_each_theme_is_represented_by_its_newest_of_equals() -> None:
    """Three groups of near duplicates give three facts, each representing its group; of equal ones the newest is chosen."""
    vectors = directions(0, 1, 0.5, 90, 91, 90.5, 200, 200, 200)
    under = choose_representatives(vectors, [1.0] * 9, REFERENCE, most=7)
    assert sorted(map(sorted, under.values())) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert {2, 5, 8} == set(under)
    assert all(others[0] == place for place, others in under.items())


def test_what_is_near_no_chosen_fact_stands_under_none() -> None:
    """If no more choices are allowed, a fact dissimilar from all chosen ones is left out."""
    under = choose_representatives(directions(0, 1, 2, 3, 90), [1.0] * 5, REFERENCE, most=1)
    assert sorted(place for others in under.values() for place in others) == [0, 1, 2, 3]


def test_what_is_about_the_entity_represents_it() -> None:
    """A fact that begins with another name does not represent one that begins with the entity's name."""
    vectors = directions(0, 30, 60)
    assert next(iter(choose_representatives(vectors, [0.5, 0.5, 1.0], REFERENCE, most=1))) == 2
    assert next(iter(choose_representatives(vectors, [1.0, 1.0, 1.0], REFERENCE, most=1))) == 1


@given(st.integers(1, 40), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_every_fact_stands_under_at_most_one(count: int, most: int, seed: int) -> None:
    """No fact is counted twice; at least three are chosen, unless fewer exist or are allowed."""
    vectors = np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    under = choose_representatives(vectors, [1.0] * count, REFERENCE, most=most)
    places = [place for others in under.values() for place in others]
    assert len(places) == len(set(places))
    assert min(3, count, most) <= len(under) <= most


def test_of_very_many_facts_the_newest_and_an_even_choice_may_represent_the_rest() -> None:
    """5,000 facts cost at most a few hundred comparisons each, and the oldest can still be chosen."""
    places = candidates(5000)
    assert len(places) == len(set(places.tolist())) == CANDIDATES
    assert places[0] == 0
    assert places[-CANDIDATES // 2 :].tolist() == list(range(5000 - CANDIDATES // 2, 5000))


def test_a_fact_without_vector_is_left_out_or_stands_for_itself() -> None:
    """A damaged vector, zeros here, is similar to nothing and breaks nothing."""
    vectors = np.concatenate([directions(0, 1, 2), np.zeros((1, 2), np.float32)])
    under = choose_representatives(vectors, [1.0] * 4, REFERENCE, most=7)
    assert all(others == [3] for place, others in under.items() if place == 3)
    assert sum(3 in others for others in under.values()) <= 1


def test_what_is_in_the_third_person_is_told_as_it_is() -> None:
    """A narrative fact is not changed."""
    assert retell(unit("Ana sold her boat. | When: 2023"), ["Ana"], ALL) == "Ana sold her boat. | When: 2023"


@every_row(
    ("fact", "expected"),
    [
        (unit("Ana: Yesterday I sold my boat.", "Ana"), 'Ana (mentioned on Friday, May 3, 2024): "Yesterday I sold my boat."'),
        (unit("Ana: Rui moved to Porto.", "Ana"), 'Ana (mentioned on Friday, May 3, 2024): "Rui moved to Porto."'),
        (unit("Asked for a fish, I suggested sardines.", "", FactType.EXPERIENCE), 'assistant (mentioned on Friday, May 3, 2024): "Asked for a fish, I suggested sardines."'),
        (unit("You find the keys under our mat."), '"You find the keys under our mat." (mentioned on Friday, May 3, 2024)'),
        (unit("Ana: Gestern habe ich mein Boot verkauft.", "Ana"), 'Ana (mentioned on Friday, May 3, 2024): "Gestern habe ich mein Boot verkauft."'),
    ],
    ids=["speaker", "speaker-of-others", "assistant", "document", "german"],
)  # fmt: skip
def test_what_speaks_of_itself_is_quoted(fact: MemoryUnit, expected: str) -> None:
    """Text in the first person is not rewritten: the speaker, and the date for "yesterday", are added."""
    assert retell(fact, ["Ana"], ALL) == expected


def test_of_a_long_fact_whole_sentences_are_told() -> None:
    """Sentences that name the entity are kept first, in their order, with a mark for omissions."""
    filler = "The tide rose slowly over the long grey wall of the harbour that morning. " * 12
    text = f"It rained. {filler}Ana sold her boat to Rui. {filler}The buyer paid Ana in cash."
    short = retell(unit(text), ["Ana"], ALL)
    assert len(short) <= LONGEST_RETOLD
    assert short.index("Ana sold her boat to Rui.") < short.index("The buyer paid Ana in cash.")
    assert all(piece.strip() in text for piece in short.split("\u2026"))
    assert len(retell(unit("boat " * 500), ["Ana"], ALL)) <= LONGEST_RETOLD
    assert retell(replace(unit("x" * 5000), speaker=""), ["Ana"], ALL)


def test_who_a_fact_begins_with_is_what_it_is_about() -> None:
    """A name among the first words is the subject; a name inside another word is not."""
    assert weight("Ana Silva sold her boat", ["Ana Silva", "ana"]) == 1.0
    assert weight("For Ana it was a long day", ["Ana"]) == 1.0
    assert weight("Rui bought the old boat that belonged to Ana", ["Ana"]) == 0.25
    assert weight("Anabel rowed", ["Ana"]) == 0.25
