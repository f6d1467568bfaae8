"""Repeated retains, tasks and reflections give the same confidence as a single delivery."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from fifty_wordings import FIFTY, OTHERWISE
from opinionated_banks import (
    BELIEF,
    GROUND,
    QUESTION,
    SORREL,
    Agent,
    always,
    answering,
    assessing,
    config,
    form,
    held,
    log_of,
    say,
)
from table import every_row

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.model.reflections import OpinionOutcome
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.turns import Role
from hindsight_integrations.testing.doubles import FrozenClock

Opened = Callable[..., Hindsight]
START, STEP = 0.6, 0.15

SAILED = "The Sorrel ferry sailed on time in the storm of 2 March."
STAYED = "The Sorrel ferry stayed in port on 9 March, when the wind was light."
LATE = "The Sorrel ferry was two hours late on 11 March."


def verdict(_: str, fact: str) -> tuple[str, str]:
    """The assessment of each fact of these tests."""
    if fact == STAYED:
        return "contradict", "strong"
    return ("weaken", "mild") if fact == LATE else ("reinforce", "strong")


@pytest.fixture
def agent() -> Agent:
    return Agent({"answer": answering(BELIEF, START), "assess_evidence": assessing(verdict)})


@pytest.fixture
def opened(opener: Opened, agent: Agent) -> Opened:
    """Opens engines with the agent's model."""

    def open_engine(path: str | Path = ":memory:", **options: Any) -> Hindsight:
        return opener(path, **{"model": agent, "config": config(), **options})

    return open_engine


def believing(engine: Hindsight, name: str = "harbour") -> MemoryBank:
    """A bank whose agent has formed its opinion of the ferry."""
    bank = engine.bank(name)
    form(bank)
    assert held(bank).confidence == START
    return bank


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
def test_the_same_retain_three_times(opened: Opened) -> None:
    """A message that is retained three times, with a settle after each, is one row of evidence."""
    bank = believing(opened())
    for _ in range(3):
        say(bank, SAILED, entities=SORREL)
        bank.tasks.settle()
        assert held(bank).confidence == START + STEP
    assert len(log_of(bank).evidence) == 1


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
def test_a_task_that_two_do_moves_nothing_twice(opened: Opened, agent: Agent, clock: FrozenClock) -> None:
    """A slow worker whose task was taken over by another writes nothing."""
    engine = opened()
    bank = believing(engine)
    assess, taken = agent.answers["assess_evidence"], list[str]()

    async def slowly(shown: str) -> object:
        if not taken:
            taken.append(shown)
            clock.advance(timedelta(minutes=5))  # longer than any lease that is not renewed
            assert (await bank.asynchronous.tasks.settle()).done
        return assess(shown)

    agent.answers = {**agent.answers, "assess_evidence": slowly}
    say(bank, SAILED, entities=SORREL)
    bank.tasks.settle()
    assert len(agent.shown("assess_evidence")) == 2
    assert (held(bank).confidence, len(log_of(bank).evidence)) == (START + STEP, 1)


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
def test_two_who_settle_and_the_worker_at_once(opened: Opened) -> None:
    """Whichever of them assesses a fact, it counts once, and none is left out."""
    engine = opened(worker=True, clock=SystemClock())
    banks = [believing(engine, f"harbour {number}") for number in range(4)]

    def deliver(bank: MemoryBank) -> None:
        for day, fact in enumerate([SAILED, STAYED, LATE], 1):
            say(bank, fact, by=f"guest {day}", day=day, entities=SORREL)
            bank.tasks.settle()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(deliver, [*banks, *banks]))
    for bank in banks:
        while any(task.state in (TaskState.PENDING, TaskState.LEASED) for task in bank.tasks.list()):
            bank.tasks.settle()
        assert len(log_of(bank).evidence) == 3
        assert held(bank).confidence == pytest.approx(START + STEP - 2 * STEP - STEP / 2)


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
@every_row("order", list(permutations(range(4))), ids=str)
def test_the_order_of_arrival_does_not_matter(opened: Opened, order: tuple[int, ...]) -> None:
    """Facts that arrive late, older than the assessed ones, count at their time, at 0 and 1 too."""
    bank = believing(opened())
    facts = [(SAILED, "Ann"), (STAYED, "Bob"), (STAYED, "Eve"), (LATE, "Eve")]
    for place in order:
        fact, speaker = facts[place]
        say(bank, fact, by=speaker, day=place + 2, entities=SORREL)
        bank.tasks.settle()
    assert len(log_of(bank).evidence) == 4
    assert held(bank).confidence == pytest.approx(0.075)  # 0.6, 0.75, 0.45, 0.15, 0.075
    say(bank, STAYED, by="Zoe", day=1, entities=SORREL)  # the oldest of all: 0.6, 0.3, 0.45, 0.15, 0, 0
    bank.tasks.settle()
    assert held(bank).confidence == 0.0


def test_a_restart_in_between_changes_nothing(opened: Opened, tmp_path: Path) -> None:
    """Facts retained before a restart and assessed after it, and repeated after it, count once."""
    with opened(tmp_path) as engine:
        bank = believing(engine)
        say(bank, SAILED, entities=SORREL)
    for _ in range(2):
        with opened(tmp_path) as engine:
            bank = engine.bank("harbour")
            bank.tasks.settle()
            say(bank, SAILED, entities=SORREL)
            form(bank)
    with opened(tmp_path) as engine:
        bank = engine.bank("harbour")
        bank.tasks.settle()
        assert (held(bank).confidence, len(log_of(bank).evidence)) == (START + STEP, 1)


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
@pytest.mark.parametrize("operation", ["the question of Monday", None], ids=["with a key", "without a key"])
def test_the_same_reflection_fifty_times(opened: Opened, operation: str | None) -> None:
    """It is one opinion with its initial confidence, and facts retained in between are assessed once."""
    bank = believing(opened())
    say(bank, SAILED, entities=SORREL)
    bank.tasks.settle()
    for _ in range(50):
        form(bank, operation=operation)
    assert held(bank).confidence == START + STEP
    assert len(log_of(bank).versions) == 1


@pytest.mark.parametrize("operation", ["the question of Monday", None], ids=["with a key", "without a key"])
def test_the_same_reflection_eight_times_at_once(opened: Opened, agent: Agent, operation: str | None) -> None:
    """The first of them forms the opinion, even if all had their answer before any was stored."""
    bank = opened().bank("harbour")
    say(bank, GROUND, by="the harbour master", entities=SORREL)
    answer, answered = agent.answers["answer"], asyncio.Event()

    async def together(shown: str) -> object:
        if len(agent.asked) == 8:
            answered.set()
        await answered.wait()
        return answer(shown)

    agent.answers = {**agent.answers, "answer": together}
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(bank.reflect, QUESTION, operation=operation) for _ in range(8)]
        changes = [change for each in asked for change in each.result(60).opinions]
    assert [change.opinion_id for change in changes] == [held(bank).id] * 8
    formed = [change for change in changes if change.outcome is OpinionOutcome.FORMED]
    assert len(formed) == (8 if operation else 1)  # a retry returns what its first attempt formed
    assert (held(bank).confidence, log_of(bank).evidence) == (START, ())


@pytest.mark.promise("An agent's own words are never evidence for its opinions.")
def test_an_agent_does_not_talk_itself_into_its_belief(opened: Opened, agent: Agent) -> None:
    """In fifty turns the agent repeats its opinion, extracted as opinion and as experience; the confidence does not change."""
    bank = believing(opened())
    agent.answers = {**agent.answers, "assess_evidence": always("reinforce", "strong")}
    for day in range(1, 51):
        options: dict[str, Any] = {"by": "assistant", "role": Role.ASSISTANT, "day": day, "entities": SORREL}
        say(bank, BELIEF, fact_type="opinion", **options)
        say(bank, f"The assistant told the user on day {day}: {BELIEF}", fact_type="experience", **options)
        say(bank, SAILED, fact_type="world", **options)
        bank.tasks.settle()
    assert held(bank).confidence == START
    assert log_of(bank).evidence == ()


def fifty_from(bank: MemoryBank, wordings: Iterator[str], speaker: Callable[[int], str]) -> None:
    """Each wording is on a separate day, assessed in groups of five."""
    for day, wording in enumerate(wordings, 1):
        say(bank, wording, by=speaker(day), day=day, entities=SORREL)
        if day % 5 == 0:
            bank.tasks.settle()
    bank.tasks.settle()


@pytest.mark.promise(
    "If one person repeats a statement, it counts once, provided that the rules or the model recognise the repetition."
)
@pytest.mark.parametrize("seed", range(3))
def test_one_user_in_fifty_wordings_counts_once(opened: Opened, agent: Agent, seed: int) -> None:
    """The assessor counts every wording and recognises no repetition; any order, real embedder. All wordings name the day; without one, the rules recognise most repetitions and the model the others."""
    agent.answers = {**agent.answers, "assess_evidence": always("reinforce", "strong")}
    bank = believing(opened(embeddings=None, config=config(rule="multiplicative")))
    wordings = [FIFTY[0], *random.Random(seed).sample(FIFTY[1:], 49)]
    fifty_from(bank, iter(wordings), lambda _: "Ann")
    assert held(bank).confidence == pytest.approx(START + 0.2 * (1 - START))
    for day, other in enumerate(OTHERWISE, 60):
        say(bank, other, day=day, entities=SORREL)
    bank.tasks.settle()
    expected = 1 - (1 - START) * 0.8 ** (1 + len(OTHERWISE))
    assert held(bank).confidence == pytest.approx(expected), "what else she says counts by itself"


def test_fifty_users_who_say_the_same_count_fifty_times(opened: Opened, agent: Agent) -> None:
    """The same words by different speakers are evidence: one row for each that counts."""
    agent.answers = {**agent.answers, "assess_evidence": always("reinforce", "mild")}
    bank = believing(opened(config=config(rule="multiplicative")))
    fifty_from(bank, iter([SAILED] * 50), "guest {}".format)
    assert len(log_of(bank).evidence) == 50
    assert held(bank).confidence == pytest.approx(1 - (1 - START) * 0.95**50)


def test_invented_friends_of_one_user_are_one_source(opened: Opened, agent: Agent) -> None:
    """A quoted person is not a source: fifty friends of Ann that she quotes are Ann."""
    bank = believing(opened())
    for day in range(1, 51):
        said = f"Ann's friend number {day} says: {SAILED}"
        say(bank, said, day=day, entities=SORREL)
        bank.tasks.settle()
    assert {row.sources for row in log_of(bank).evidence} == {("ann",)}


def test_tasks_leave_nothing_behind(opened: Opened) -> None:
    """After a settle nothing is waiting, and another settle makes no call."""
    bank = believing(opened())
    say(bank, SAILED, entities=SORREL)
    bank.tasks.settle()
    assert bank.tasks.settle().done == ()
    assert {task.state for task in bank.tasks.list() if task.kind is TaskKind.REINFORCE} == {TaskState.DONE}
