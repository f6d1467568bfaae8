"""A new user's first steps with a real small model: a chat of six turns, a question, observations and the background.

Only the pipeline is asserted: something is found, nothing is lost, and the time limit is kept. The model's
output is printed for people.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from watched_model import Watched

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import ObservationConfig, RetainConfig
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.reflect.observations import TRIES_OF_MODEL
from hindsight_integrations.testing.doubles import FrozenClock

CALL_S, RETAIN_S = 600.0, 900.0
MOST_SECONDS = 3600.0  # for everything, on two busy cores

CHAT = [
    ("user", "Hi! I moved from Porto to Lisbon last week, into a flat near the river."),
    ("assistant", "Congratulations on the move! How is the new place?"),
    ("user", "Small but bright. My sister Inês helped me carry the piano; having it tuned cost 180 euros."),
    ("assistant", "Lovely that Inês helped. I suggest to wait two weeks before the next tuning."),
    (
        "user",
        "Good idea. I start as a nurse at the Santa Maria hospital next Monday, and have to buy a bicycle.",
    ),
    ("assistant", "Good luck with the new job on Monday!"),
]
QUESTIONS = ["Where does the user live?", "Who helped to carry the piano?", "What must the user buy?"]
BACKGROUND = [
    "You help people who have just moved to a new city.",
    "You were made in Lisbon and like short answers.",
]
KNOWN = [
    "Inês is a carpenter in Porto.",
    "Inês repairs old boats at weekends.",
    "Inês has two dogs, Pico and Faial.",
    "Inês wants to sail to the Azores next summer.",
]
KNOWN_FACTS = [{"what": text, "sources": [text], "entities": [{"text": "Inês"}]} for text in KNOWN]


@dataclass(frozen=True)
class Told:
    """The chat, retained."""

    bank: MemoryBank
    model: Watched
    result: RetainResult
    seconds: float
    clock: FrozenClock


@pytest.fixture(scope="module")
def told(model: Watched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A bank on disk that contains the chat, extracted with `extraction="concise"`."""
    config = HindsightConfig(
        model_timeout_s=CALL_S,
        retain=RetainConfig(extraction="concise", extraction_timeout_s=RETAIN_S, concurrent_extractions=1),
        observations=ObservationConfig(delay_s=0),
    )
    folder: Path = tmp_path_factory.mktemp("memory")
    clock = FrozenClock(datetime(2025, 3, 7, tzinfo=UTC))
    with Hindsight.open(folder, model=model, config=config, clock=clock) as hindsight:
        bank = hindsight.bank("newcomer")
        messages = [
            Message(text, speaker, f"2025-03-05T09:0{place}", id=f"turn-{place}")
            for place, (speaker, text) in enumerate(CHAT)
        ]
        began = time.monotonic()
        result = bank.retain(messages)
        yield Told(bank, model, result, time.monotonic() - began, clock)


@pytest.mark.timeout(MOST_SECONDS)
def test_a_chat_becomes_memories_or_waits(told: Told) -> None:
    """There are facts, every message is in one or waits, and the time limit was kept."""
    result = told.result
    print(f"\nretain: {told.seconds:.1f} s, {result.tokens_in} tokens in, {result.tokens_out} out")
    print(f"  {result.created} facts, {len(result.parked)} parked, {len(result.queued)} queued")
    for unit in told.bank.units().units:
        records = [
            f"{record.kind}: {record.category} {record.value} {record.unit}" for record in unit.records
        ]
        print(f"  - ({unit.fact_type}) {unit.text} {list(unit.sources)} {records or ''}")
    for dropped in result.dropped:
        print(f"  dropped: {dropped.what!r}: {dropped.reason}")
    assert result.created + len(result.parked) + len(result.queued) > 0
    assert result.created > 0, "the model gave no fact at all"
    assert told.seconds < RETAIN_S + CALL_S
    again = told.bank.retain([Message(CHAT[0][1], CHAT[0][0], "2025-03-05T09:00", id="turn-0")])
    assert again.skipped_messages == 1


@pytest.mark.timeout(MOST_SECONDS)
def test_a_question_finds_something(told: Told) -> None:
    """Recall answers from the memories of the chat."""
    found = {question: told.bank.recall(question) for question in QUESTIONS}
    for question, result in found.items():
        print(f"\nrecall: {question} (confidence {result.confidence:.2f})")
        for item in result.units[:3]:
            print(f"  - {item.text}")
    assert any(result.units for result in found.values())


@pytest.mark.timeout(MOST_SECONDS)
def test_observations_are_made(told: Told) -> None:
    """An entity is summarised by the model or, after it has failed three times, by selected facts."""
    told.bank.retain([Message(text, "user", "2025-03-06", id=text) for text in KNOWN], facts=KNOWN_FACTS)
    for tried in range(1, 1 + TRIES_OF_MODEL):
        began = time.monotonic()
        settled = told.bank.tasks.settle()
        seconds = time.monotonic() - began
        print(f"\nsettle {tried}: {seconds:.1f} s, {len(settled.done)} done, {settled.observed} observed")
        print(f"  failed: {dict(settled.failed)}")
        told.clock.advance(timedelta(hours=1))
    for entity in told.bank.entities.list():
        summary = told.bank.entities.observations(entity.name)
        print(f"  {entity.name} ({len(summary.left_out)} facts left out):")
        for observation in summary.observations:
            print(f"    - {observation.text}")
    assert {task.state for task in told.bank.tasks.list()} == {TaskState.DONE}
    assert told.model.calls.get("observe", 0) > 0
    assert any(told.bank.entities.observations(one.name).observations for one in told.bank.entities.list())


@pytest.mark.timeout(MOST_SECONDS)
def test_who_the_agent_is_is_merged(told: Told) -> None:
    """Two texts of the program become one background, in the first person and within its limit."""
    for text in BACKGROUND:
        began = time.monotonic()
        told.bank.profile.merge_background(text)
        background = told.bank.profile.get().background
        print(f"\nbackground after {text!r}: {time.monotonic() - began:.1f} s\n  {background}")
        assert 0 < len(background) < 500
