"""Simulated lives: a consistent trace, stated in conversations, with gold facts and questions derived from it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_evals.metrics.stating import says
from hindsight_evals.simulator.memories import ALLOWED, Change, Entry, MemoryKind, Operation
from hindsight_evals.simulator.schedule import PERIODS, day_plans
from hindsight_evals.simulator.simulate import Simulation, simulate
from hindsight_evals.simulator.statistics import statistics
from hindsight_evals.simulator.trace import ImpossibleChange, replay
from simulator_seeds import SEEDS


@pytest.fixture(scope="module")
def month() -> Simulation:
    return simulate("baker", period="month", seeds=SEEDS)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), days=st.integers(1, 20), mutation=st.floats(0.2, 4))
def test_every_trace_replays_to_its_final_state(seed: int, days: int, mutation: float) -> None:
    """Only existing items are changed; the state after the last session is that of all changes (Memora A.3)."""
    life = simulate("baker", days=days, seed=seed, mutation=mutation, seeds=SEEDS)
    steps = list(replay(step.changes for step in life.trace))
    assert steps == list(life.trace)
    final: dict[tuple[str, ...], str] = {}
    for step in life.trace:
        for change in step.changes:
            if change.before:
                assert final.pop(change.before.key) == change.before.text
            if change.after:
                final[change.after.key] = change.after.text
            assert change.operation in ALLOWED[change.kind]
    assert final == {key: entry.text for key, entry in life.trace[-1].after.items()}


def test_what_cannot_be_is_refused() -> None:
    """A purchase is never withdrawn, and an unknown item cannot be changed."""
    day = date(2018, 1, 1)
    bought = Entry(MemoryKind.FOOD_EXPENSE, ("food_expense", "1"), "3.10 coffee", day)
    task = Entry(MemoryKind.TODO, ("todo", "a"), "a", day)
    with pytest.raises(ImpossibleChange, match="no such memory is ever changed so"):
        list(replay([(Change(Operation.DELETE, bought),)]))
    with pytest.raises(ImpossibleChange, match="it does not hold"):
        list(replay([(Change(Operation.DELETE, task),)]))
    with pytest.raises(ImpossibleChange, match="it holds already"):
        list(replay([(Change(Operation.ADD, after=task),), (Change(Operation.ADD, after=task),)]))


def test_every_change_is_told_by_the_turns_its_fact_names(month: Simulation) -> None:
    """The turns that a gold fact cites contain its value; the assistant's lines do not."""
    for step, session in zip(month.trace, month.episode.sessions, strict=True):
        said = {message.id: message for message in session.messages}
        assert session.facts is not None
        assert len(session.facts) == len(step.changes)
        for change, fact in zip(step.changes, session.facts, strict=True):
            telling = " ".join(said[source].text for source in fact.sources)
            assert change.after is None or says(telling, change.after.text)
            assert {said[source].speaker for source in fact.sources} == {"user", "assistant"}
            assert bool(fact.changes) is (change.before is not None)


def test_neutral_sessions_leave_memory_as_it_is(month: Simulation) -> None:
    """No fact, no withdrawal, the same state before and after (Memora 3.2)."""
    neutral = [
        (step, session)
        for step, session in zip(month.trace, month.episode.sessions, strict=True)
        if not step.changes
    ]
    assert len(neutral) > 100
    assert all(
        step.before == step.after and not told.facts and not told.withdrawals for step, told in neutral
    )


def test_items_follow_from_the_trace(month: Simulation) -> None:
    """To-dos that are open at the end are valid items, finished ones are not, and their sources stated them."""
    [todos] = [question for question in month.episode.questions if question.id == "todos_0"]
    held = {entry.text for entry in month.trace[-1].after.values() if entry.kind is MemoryKind.TODO}
    assert {item.text for item in todos.items if item.valid} == held
    gone = [item for item in todos.items if not item.valid]
    assert gone
    assert not {item.text for item in gone} & held
    said = {message.id: message.text for told in month.episode.sessions for message in told.messages}
    assert all(says(" ".join(said[turn] for turn in sorted(item.sources)), item.text) for item in todos.items)


def test_sums_are_exact(month: Simulation) -> None:
    """The month's total is the sum of its purchases, which are not items, because a context could not contain them all."""
    spent = [
        Decimal(step.after[change.entry.key].values["amount"])
        for step in month.trace
        for change in step.changes
        if change.kind is MemoryKind.FOOD_EXPENSE
    ]
    totals = {
        question.answer: question.items for question in month.episode.questions if "food_total" in question.id
    }
    assert totals[f"{sum(spent):.2f}"] == ()
    assert len(totals) == 2


def test_withdrawals_name_the_turns_that_had_said_it(month: Simulation) -> None:
    """What a session withdraws was stated before, by the named turns."""
    said = {message.id: message.text for told in month.episode.sessions for message in told.messages}
    order = {turn: place for place, turn in enumerate(said)}
    withdrawn = 0
    for step, session in zip(month.trace, month.episode.sessions, strict=True):
        assert [gone.text for gone in session.withdrawals] == [
            c.before.text for c in step.changes if c.before
        ]
        for gone in session.withdrawals:
            withdrawn += 1
            assert all(order[turn] < order[session.messages[0].id] for turn in gone.sources)
            assert says(" ".join(said[turn] for turn in sorted(gone.sources)), gone.text)
    assert withdrawn > 50


@every_row("name", PERIODS)
def test_rates_are_those_of_memora(name: str) -> None:
    """Sessions, operations and their shares are within 3 % of Table 2 and two points of the shares."""
    period = PERIODS[name]
    plans = list(day_plans(period.days, period.pressure, Random(7)))
    operations = sum(1 + plan.expenses + len(plan.operations) for plan in plans)
    sessions = operations + sum(plan.neutral for plan in plans)
    assert sessions == pytest.approx(period.pressure.sessions * period.days, rel=0.03)
    assert operations == pytest.approx(sessions * period.pressure.grounded, rel=0.03)
    updates = sum(plan.operations.count(Operation.UPDATE) for plan in plans)
    assert updates / operations == pytest.approx(period.pressure.update, abs=0.02)


def test_pressure_scales() -> None:
    """More updates and deletions, and more purchases, can be set separately."""
    usual = PERIODS["month"].pressure
    assert usual.scaled(mutation=2).update == pytest.approx(2 * usual.update)
    assert usual.scaled(mutation=2).expenses == usual.expenses
    busy = usual.scaled(consolidation=5)
    assert busy.expenses == 5 * usual.expenses
    assert busy.sessions * busy.grounded - busy.expenses == pytest.approx(
        usual.sessions * usual.grounded - usual.expenses
    )
    assert usual.scaled(mutation=100).update + usual.scaled(mutation=100).delete == pytest.approx(0.9)


def test_the_same_seed_is_the_same_life_in_every_process() -> None:
    """Hashes differ between processes; lives do not."""
    code = (
        "from simulator_seeds import SEEDS; from hindsight_evals.simulator.simulate import simulate;"
        "from hashlib import sha256; import sys;"
        "life = simulate('baker', days=3, seed=4, seeds=SEEDS).episode;"
        "sys.stdout.write(sha256(repr([(s.id, s.moment, s.messages, s.facts) for s in life.sessions]).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", code]
    made = {
        subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": h},
        ).stdout
        for h in ("1", "2")
    }
    assert len(made) == 1
    assert made != {""}
    assert simulate("baker", days=3, seed=5, seeds=SEEDS) != simulate("baker", days=3, seed=4, seeds=SEEDS)


def test_held_out_manners_are_never_mixed_in() -> None:
    """Development and reports share no phrasing."""
    for held_out in (True, False):
        life = simulate("baker", days=2, held_out=held_out, seeds=SEEDS).episode
        told = {message.text for session in life.sessions for message in session.messages}
        assert any(text.startswith("Aside:") for text in told) is held_out
        assert any(text.startswith("By the way:") for text in told) is not held_out


def test_without_extraction_each_turn_stands_for_itself() -> None:
    """The same life, verbatim."""
    given = simulate("baker", days=2, seeds=SEEDS).episode
    verbatim = simulate("baker", days=2, extracted=False, seeds=SEEDS).episode
    assert all(session.facts is None for session in verbatim.sessions)
    assert [replace(one, facts=None) for one in given.sessions] == list(verbatim.sessions)
    assert given.questions == verbatim.questions


def test_statistics_count_as_memora_does(month: Simulation) -> None:
    """The rows of Table 2."""
    counted = statistics(month.episode, month.trace)
    assert counted.sessions == len(month.episode.sessions)
    assert 14 <= counted.turns <= 18
    assert sum(counted.shares.values()) == pytest.approx(1)
    assert counted.shares[Operation.ADD] == pytest.approx(0.63, abs=0.05)
    assert 0 < counted.overlap[3] < counted.overlap[2] < counted.overlap[1] < 1
