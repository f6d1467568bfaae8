"""FAMA, context FAMA, leak rate, evidence recall and nDCG, computed by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context, ServedText
from hindsight_evals.metrics.context_fama import context_fama
from hindsight_evals.metrics.evidence_recall import evidence_recall
from hindsight_evals.metrics.exact_answer import gives_number
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.metrics.leak_rate import leak_rate
from hindsight_evals.metrics.ndcg import ndcg


@st.composite
def criteria(draw: st.DrawFn) -> Fama:
    presence, absence = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any))
    return Fama(draw(st.integers(0, presence)), presence, draw(st.integers(0, absence)), absence)


@every_row(
    ("counts", "expected"),
    [
        ((4, 4, 2, 2), 1.0),
        ((3, 4, 2, 2), 0.75),  # nothing leaked: MPA
        ((4, 4, 1, 2), 1 - 2 / 6 / 2),  # lambda 1/3, half of the withdrawn items leaked
        ((2, 4, 0, 4), 0.0),  # 0.5 - 0.5
        ((1, 4, 0, 4), 0.0),  # 0.25 - 0.5, bounded
        ((3, 4, 0, 0), 0.75),  # nothing to forget
        ((0, 0, 3, 4), 0.75),  # nothing to remember
    ],
)
def test_fama_by_hand(counts: tuple[int, int, int, int], expected: float) -> None:
    """MPA - lambda (1 - FAA), where lambda is the share of forgetting criteria (Memora 4.2)."""
    assert Fama(*counts).fama == pytest.approx(expected)


@given(criteria())
def test_fama_is_bounded_and_never_above_presence(counted: Fama) -> None:
    """It is in [0, 1], and the penalty only lowers it."""
    assert 0 <= counted.fama <= counted.mpa <= 1


@given(criteria())
def test_leaking_more_never_helps(counted: Fama) -> None:
    """One more leak never raises it, one more present item never lowers it."""
    if counted.absent:
        worse = Fama(counted.present, counted.presence, counted.absent - 1, counted.absence)
        assert worse.fama <= counted.fama
    if counted.present < counted.presence:
        better = Fama(counted.present + 1, counted.presence, counted.absent, counted.absence)
        assert better.fama >= counted.fama


def text(said: str, *sources: str, withdrawn: tuple[str, ...] = ()) -> ServedText:
    return ServedText(said, frozenset(sources), 5, withdrawn)


ITEMS = (
    Item("likes Nina Example", frozenset({"4"}), valid=False),
    Item("likes Otto Muster", frozenset({"5"}), valid=True),
    Item("coffee 4.10", frozenset({"6"}), valid=True),
)


def test_context_fama_counts_items() -> None:
    """One of two valid items there and the invalidated one too: 1/2 - 1/3 * 1."""
    leaking = Context((text("User likes Nina Example.", "4"), text("User likes Otto Muster.", "5")))
    counted = context_fama(leaking, ITEMS)
    assert counted == Fama(1, 2, 0, 1)
    assert counted is not None
    assert counted.fama == pytest.approx(1 / 2 - 1 / 3)
    assert leak_rate(leaking, ITEMS) == 1.0


def test_a_marked_text_leaks_nothing() -> None:
    """An explicitly marked item counts as absent."""
    marked = text("User likes Nina Example and tea.", "4", withdrawn=("User likes Nina Example",))
    assert context_fama(Context((marked,)), ITEMS) == Fama(0, 2, 1, 1)
    assert leak_rate(Context((marked,)), ITEMS) == 0.0


def test_without_items_there_is_nothing_to_measure() -> None:
    """Without items, invalidated items or evidence the value is None, not a perfect score."""
    assert context_fama(Context(()), ()) is None
    assert leak_rate(Context(()), ITEMS[1:]) is None
    assert evidence_recall(Context(()), frozenset()) is None
    assert ndcg(Context(()), frozenset()) is None


def test_evidence_recall_counts_turns() -> None:
    """Two of three turns, however many texts are based on them."""
    context = Context((text("a", "1", "2"), text("b", "2"), text("c", "9")))
    assert evidence_recall(context, frozenset({"1", "2", "3"})) == pytest.approx(2 / 3)


def test_ndcg_by_hand() -> None:
    """Evidence at ranks 2 and 3 instead of 1 and 2; the repetition at rank 4 adds nothing."""
    context = Context((text("x", "9"), text("a", "1"), text("b", "2"), text("again", "1")))
    expected = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert ndcg(context, frozenset({"1", "2"})) == pytest.approx(expected)
    assert ndcg(Context((text("both", "1", "2"),)), frozenset({"1", "2"})) == 1.0
    assert ndcg(Context((text("one", "1"),)), frozenset({"1", "2"})) == pytest.approx(
        1 / (1 + 1 / math.log2(3))
    )
    assert ndcg(Context((text("x", "9"),)), frozenset({"1"})) == 0.0


@every_row(
    ("met", "expected"),
    [
        # D.1: one task is left, two were removed from the list. The answer of the appendix; one that also
        # names a finished task;
        ((1, 1, 2, 2), 1.0),
        ((1, 1, 1, 2), 1 - 2 / 3 * 1 / 2),
        ((0, 1, 0, 2), 0.0),
        # D.2: one actor is liked now, a director and another actor no longer. A film with the previous actor.
        ((0, 1, 1, 2), 0.0),
        # D.3: three criteria of presence, none of absence: goal, average and whether it was met; vague words
        # meet the last.
        ((3, 3, 0, 0), 1.0),
        ((1, 3, 0, 0), 1 / 3),
    ],
)
def test_the_examples_of_memoras_appendix_d(met: tuple[int, int, int, int], expected: float) -> None:
    """Its criteria, with the answers shown there and with worse ones."""
    assert Fama(*met).fama == pytest.approx(expected)


def test_appendix_d1_by_what_a_context_states() -> None:
    """Three tasks added (sessions 18, 23, 25), two removed (29, 31): the session that removes one does not leak it."""
    added = {"18": "plan the conference trip", "23": "visit the library", "25": "prepare lecture slides"}
    items = tuple(Item(words, frozenset({number}), valid=number == "25") for number, words in added.items())
    told = {number: text(f"User has to {words}.", number) for number, words in added.items()}
    done = (
        text("User did visit the library.", "29"),
        text("User was able to plan the conference trip.", "31"),
    )
    assert context_fama(Context((told["25"], *done)), items) == Fama(1, 1, 2, 2)
    everything = context_fama(Context((*told.values(), *done)), items)
    assert everything is not None
    assert everything.fama == pytest.approx(1 - 2 / 3)


def test_the_average_of_appendix_d3_is_the_papers() -> None:
    """Seven days of steps give 10,321 a day."""
    days = (10_254, 12_301, 9_612, 7_916, 8_578, 13_143, 10_441)
    average = round(sum(days) / len(days))
    assert gives_number("You averaged approximately 10,321 steps against 7,500.", str(average))
    assert not gives_number("You are well above 7,500.", str(average))
