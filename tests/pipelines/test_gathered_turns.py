"""Messages that wait for others of their conversation: found at once, extracted together, never lost or duplicated."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from stating_model import Stating, passage_of
from waiting_work import until

from hindsight_integrations import (
    AsyncHindsight,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
    Message,
)
from hindsight_integrations.config import ObservationConfig, RetainConfig
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]
QUIET, HOUR = timedelta(minutes=5), timedelta(hours=1)
UNOBSERVED = ObservationConfig("off")


@pytest.fixture
def model() -> Stating:
    return Stating()


@pytest.fixture
def engine(opener: Opener, model: Stating, light_config: HindsightConfig) -> Hindsight:
    return opener(model=model, config=HindsightConfig(storage=light_config.storage, observations=UNOBSERVED))


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return engine.bank("alice")


def message(number: int, text: str = "", minute: int | None = None) -> Message:
    """The message m<number> of Alice or, with an even number, of the assistant."""
    at = f"2024-06-12T09:{number if minute is None else minute:02}"
    if number % 2:
        return Message(text or f"I own kayak {number}.", "Alice", at, f"m{number}")
    return Message(text or f"Kayak {number} is a fine one.", "assistant", at, f"m{number}", Role.ASSISTANT)


def talk(last: int) -> list[Message]:
    return [message(number) for number in range(1, last + 1)]


def kinds(bank: MemoryBank, question: str = "kayak") -> dict[str, UnitKind]:
    """The kind of each recalled unit, by source message; fails if a message is found twice."""
    found = [(unit.unit.sources[0], unit.kind) for unit in bank.recall(question, max_tokens=100_000).units]
    assert len(found) == len(dict(found))
    return dict(found)


def waiting(bank: MemoryBank) -> list[str]:
    return sorted(source for source, kind in kinds(bank).items() if kind is UnitKind.TURN)


def extracted(bank: MemoryBank) -> list[str]:
    return sorted(source for source, kind in kinds(bank).items() if kind is UnitKind.MEMORY)


def test_on_real_indexes_a_turn_is_found_at_once_and_extracted_with_the_others(
    opener: Opener, tmp_path: Path, model: Stating, clock: FrozenClock
) -> None:
    """Three turns take one call, in order, after a pause; speakers, dates and sources are those of the messages."""
    config = HindsightConfig(observations=UNOBSERVED)
    bank = opener(tmp_path / "memory", model=model, config=config).bank("alice")
    for last in (2, 4, 6):
        result = bank.threads.follow(talk(last), thread="t", extract="idle")
        assert (result.calls, len(result.queued)) == (0, 1)
    assert waiting(bank) == ["m1", "m2", "m3", "m4", "m5", "m6"]
    clock.advance(QUIET)
    result = bank.threads.follow(talk(8), thread="t", extract="idle")
    assert model.passages == [["m1", "m2", "m3", "m4", "m5", "m6"]]
    assert (result.calls, result.settled.calls, result.settled.created) == (0, 1, 6)
    assert result.settled.tokens_in > 0
    assert (extracted(bank), waiting(bank)) == (["m1", "m2", "m3", "m4", "m5", "m6"], ["m7", "m8"])
    assert [speaker for _, speaker, _ in passage_of(model.prompts[0])][:2] == ["Alice", "assistant"]
    (memory,) = bank.units(limit=1).units
    assert (memory.thread, f"{memory.mentioned_at:%H:%M}") == ("t", "09:01")


def test_a_turn_that_comes_within_the_pause_prolongs_it(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    bank.threads.follow(talk(2), thread="t", extract="idle")
    clock.advance(QUIET - timedelta(seconds=1))
    bank.threads.follow(talk(4), thread="t", extract="idle")
    clock.advance(timedelta(seconds=1))
    assert bank.threads.follow(talk(4), thread="t", extract="idle").settled.calls == 0
    clock.advance(QUIET)
    assert bank.threads.follow(talk(4), thread="t", extract="idle").settled.created == 4
    assert len(model.passages) == 1


def test_messages_that_fill_a_passage_are_extracted_without_a_pause(
    opener: Opener, model: Stating, light_config: HindsightConfig
) -> None:
    """Messages beyond the size of a passage wait for the next one, so that each call is as full as possible."""
    config = HindsightConfig(
        storage=light_config.storage, observations=UNOBSERVED, retain=RetainConfig(chunk_characters=100)
    )
    bank = opener(model=model, config=config).bank("alice")
    results = [bank.threads.follow(talk(last), thread="t", extract="idle") for last in range(2, 13, 2)]
    assert [result.settled.calls for result in results] == [0, 0, 1, 0, 1, 0]
    assert model.passages == [["m1", "m2", "m3", "m4"], ["m5", "m6", "m7", "m8"]]
    assert all(sum(len(text) for *_, text in passage_of(each)) <= 100 for each in model.prompts)
    bank.tasks.settle()
    assert model.passages[2:] == [["m9", "m10", "m11", "m12"]]


def test_a_session_waits_for_settle(bank: MemoryBank, model: Stating, clock: FrozenClock) -> None:
    for last in (2, 4, 6):
        bank.threads.follow(talk(last), thread="t", extract="session")
        clock.advance(timedelta(minutes=30))
    assert model.passages == []
    settled = bank.tasks.settle()
    assert (settled.created, settled.calls, len(settled.done)) == (6, 1, 3)
    assert bank.tasks.settle().done == ()


def test_a_session_that_nobody_ends_is_extracted_after_an_hour(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    """The next turn of any thread causes its extraction."""
    bank.threads.follow(talk(4), thread="t", extract="session")
    clock.advance(HOUR)
    other = [Message("I also own a tent.", "Alice", "2024-06-12T10:00", "n1")]
    assert bank.threads.follow(other, thread="u", extract="session").settled.created == 4
    assert model.passages == [["m1", "m2", "m3", "m4"]]


def test_a_session_that_never_pauses_is_extracted_after_ten_passages(
    opener: Opener, model: Stating, light_config: HindsightConfig
) -> None:
    config = HindsightConfig(
        storage=light_config.storage, observations=UNOBSERVED, retain=RetainConfig(chunk_characters=100)
    )
    bank = opener(model=model, config=config).bank("alice")
    results = [bank.threads.follow(talk(last), thread="t", extract="session") for last in range(2, 59, 2)]
    (full,) = [result.settled for result in results if result.settled.calls]
    assert (full.calls, full.created) == (13, 52)  # two turns fit into a passage


def test_a_worker_extracts_after_the_pause_and_the_turn_does_not_wait(
    opener: Opener, model: Stating, light_config: HindsightConfig
) -> None:
    """With a worker a turn makes no call; a full passage is extracted in the background at once."""
    config = HindsightConfig(
        storage=light_config.storage, observations=UNOBSERVED, retain=RetainConfig(chunk_characters=100)
    )
    engine = opener(model=model, config=config, worker=True, clock=SystemClock())
    bank = engine.bank("alice")
    results = [bank.threads.follow(talk(last), thread="t", extract="idle") for last in (2, 4, 6)]
    assert [result.settled.calls for result in results] == [0, 0, 0]
    until(lambda: extracted(bank) == ["m1", "m2", "m3", "m4"])
    assert waiting(bank) == ["m5", "m6"]


def test_in_the_background_no_turn_extracts(bank: MemoryBank, model: Stating, clock: FrozenClock) -> None:
    bank.threads.follow(talk(2), thread="t", extract="idle", background=True)
    clock.advance(QUIET)
    bank.threads.follow(talk(4), thread="t", extract="idle", background=True)
    assert model.passages == []
    assert bank.tasks.settle().created == 4


def test_only_messages_of_one_conversation_with_the_same_tags_share_a_call(
    bank: MemoryBank, model: Stating
) -> None:
    bank.threads.follow(talk(2), thread="t", extract="idle")
    bank.threads.follow([message(5)], thread="u", extract="idle")
    bank.threads.follow([message(3)], thread="t", namespace="helper", extract="idle")
    bank.threads.follow([*talk(2), message(7)], thread="t", tags=["private"], extract="idle")
    bank.tasks.settle()
    assert sorted(model.passages) == [["m1", "m2"], ["m3"], ["m5"], ["m7"]]
    (private,) = [unit for unit in bank.units().units if unit.sources == ("m7",)]
    assert private.tags == ("private",)
    assert bank.recall("kayak 7", tags=["other"], tags_match="all_strict").units == ()


def test_each_memory_has_the_metadata_of_its_own_turn(bank: MemoryBank) -> None:
    """Turns of different runs share a call, and each memory names the run of its message."""
    bank.threads.follow(talk(2), thread="t", metadata={"run_id": "r1"}, extract="idle")
    bank.threads.follow(talk(4), thread="t", metadata={"run_id": "r2"}, extract="idle")
    bank.tasks.settle()
    runs = {unit.sources[0]: unit.metadata["run_id"] for unit in bank.units().units}
    assert runs == {"m1": "r1", "m2": "r1", "m3": "r2", "m4": "r2"}


def test_an_edited_message_is_extracted_in_its_latest_wording_only(bank: MemoryBank, model: Stating) -> None:
    bank.threads.follow(talk(2), thread="t", extract="idle")
    edited = [message(1, "I own no kayak at all."), message(2)]
    bank.threads.follow(edited, thread="t", extract="idle")
    assert sorted(unit.text for unit in bank.recall("kayak").units) == [
        "Alice: I own no kayak at all.",
        "assistant: Kayak 2 is a fine one.",
    ]
    bank.tasks.settle()
    assert [text for *_, text in passage_of(model.prompts[0])] == [
        "Kayak 2 is a fine one.",
        "I own no kayak at all.",
    ]
    assert [unit.text for unit in bank.units().units if unit.sources == ("m1",)] == ["I own no kayak at all."]


def test_a_discarded_answer_shares_no_call_and_its_memory_is_invalid(
    bank: MemoryBank, model: Stating
) -> None:
    """A regenerated answer waits next to the question; when the thread returns to the first branch, its memory is valid again."""
    anew = Message("Kayak two is heavy.", "assistant", "2024-06-12T09:03", "m2b", Role.ASSISTANT)
    bank.threads.follow(talk(2), thread="t", extract="idle")
    bank.threads.follow([message(1), anew], thread="t", extract="idle")
    assert waiting(bank) == ["m1", "m2b"]
    bank.tasks.settle()
    assert sorted(model.passages) == [["m1", "m2b"], ["m2"]]
    assert extracted(bank) == ["m1", "m2b"]
    bank.threads.follow(talk(2), thread="t", extract="idle")
    assert extracted(bank) == ["m1", "m2"]


@pytest.mark.parametrize("selection", [{"thread": "t", "message": "m3"}, {"entity": "kayak 3"}])
def test_a_forgotten_message_is_never_shown_to_the_model(
    bank: MemoryBank, model: Stating, selection: dict[str, str]
) -> None:
    for last in (2, 3, 5):
        bank.threads.follow(talk(last), thread="t", extract="idle")
    bank.forget(**selection)  # type: ignore[arg-type] # of one type here
    bank.tasks.settle()
    assert model.passages == [["m1", "m2", "m4", "m5"]]
    assert "m3" not in kinds(bank)


def test_a_message_is_not_extracted_if_memory_was_off(bank: MemoryBank, model: Stating) -> None:
    bank.threads.follow(talk(2), thread="t", extract="idle")
    bank.threads.follow(talk(4), thread="t", extract="idle", remember=False)
    bank.tasks.settle()
    assert model.passages == [["m1", "m2"]]


def test_a_passage_without_a_usable_answer_is_tried_turn_by_turn(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    """A message on which the model fails does not affect the others; it is found until the model answers."""
    model.poison = "kayak 3"
    for last in (2, 4, 6):
        bank.threads.follow(talk(last), thread="t", extract="idle")
    assert bank.tasks.settle().created == 0
    assert waiting(bank) == ["m1", "m2", "m3", "m4", "m5", "m6"]
    clock.advance(timedelta(minutes=2))
    assert bank.tasks.settle().created == 4
    assert (extracted(bank), waiting(bank)) == (["m1", "m2", "m5", "m6"], ["m3", "m4"])
    model.poison = ""
    bank.tasks.retry()
    bank.tasks.settle()
    assert waiting(bank) == []


def test_an_outage_loses_no_message_and_keeps_them_together(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    for last in (2, 4):
        bank.threads.follow(talk(last), thread="t", extract="idle")
    model.outage = True
    assert len(bank.tasks.settle().failed) == 2
    clock.advance(QUIET)
    result = bank.threads.follow(talk(6), thread="t", extract="idle")
    assert len(result.settled.failed) == 2
    model.outage = False
    clock.advance(HOUR)
    assert bank.tasks.settle().created == 6
    assert model.passages[-1] == ["m1", "m2", "m3", "m4", "m5", "m6"]


def test_two_settles_at_once_extract_each_message_once(
    opener: Opener, tmp_path: Path, model: Stating, light_config: HindsightConfig
) -> None:
    config = HindsightConfig(storage=light_config.storage, observations=UNOBSERVED)
    bank = opener(tmp_path / "memory", model=model, config=config).bank("alice")
    for last in range(2, 21, 2):
        bank.threads.follow(talk(last), thread="t", extract="idle")
    with ThreadPoolExecutor(4) as pool:
        settled = list(pool.map(lambda _: bank.tasks.settle(), range(4)))
    assert sum(each.created for each in settled) == 20
    assert [each.failed for each in settled] == [{}] * 4
    assert bank.count() == 20


def test_the_async_api_gathers_alike(model: Stating, clock: FrozenClock) -> None:
    async def turns() -> int:
        async with AsyncHindsight.open(
            ":memory:", model=model, embeddings=HashEmbedder(), reranker=None, clock=clock
        ) as engine:
            bank = await engine.bank("alice")
            for last in (2, 4):
                await bank.threads.follow(talk(last), thread="t", extract="idle")
            clock.advance(QUIET)
            return (await bank.threads.follow(talk(4), thread="t", extract="idle")).settled.created

    assert asyncio.run(turns()) == 4
    assert model.passages == [["m1", "m2", "m3", "m4"]]


def test_without_a_model_turns_are_memories_at_once(light: Hindsight) -> None:
    result = light.bank("alice").threads.follow(talk(2), thread="t", extract="idle")
    assert (result.created, result.queued) == (2, ())


def test_another_word_is_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidRequest, match="extract"):
        bank.threads.follow(talk(2), thread="t", extract="later")


def test_cached_prompt_tokens_are_reported(opener: Opener, light_config: HindsightConfig) -> None:
    """The results of retain and settle contain the tokens that the model read from its cache."""
    usage = {
        "input_tokens": 4000,
        "output_tokens": 10,
        "total_tokens": 4010,
        "input_token_details": {"cache_read": 3700},
    }
    answer = AIMessage('{"facts": [{"what": "Alice owns a kayak."}]}', usage_metadata=usage)
    bank = opener(model=ScriptedModel([answer] * 2), config=light_config).bank("alice")
    result = bank.threads.follow(talk(1), thread="t")
    assert (result.calls, result.tokens_in, result.tokens_cached) == (1, 4000, 3700)
    bank.threads.follow(talk(2), thread="t", extract="idle")
    settled = bank.tasks.settle()
    assert (settled.calls, settled.tokens_in, settled.tokens_cached) == (1, 4000, 3700)


def test_an_archive_carries_what_waits(
    opener: Opener, bank: MemoryBank, model: Stating, tmp_path: Path, clock: FrozenClock
) -> None:
    for last in (2, 4):
        bank.threads.follow(talk(last), thread="t", extract="idle")
    bank.archive.export(tmp_path / "alice.jsonl")
    other = opener(model=model).bank("alice")
    other.archive.load(tmp_path / "alice.jsonl")
    clock.advance(QUIET)
    assert other.tasks.settle().created == 4
    assert extracted(other) == ["m1", "m2", "m3", "m4"]


KILLED = """
import os, signal, sys
from stating_model import Stating
from hindsight_integrations import Hindsight, HindsightConfig, Message
from hindsight_integrations.config import KeywordBackend, ObservationConfig, StorageConfig, VectorBackend
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

folder, moment, last = sys.argv[1], sys.argv[2], int(sys.argv[3])

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Killing(Stating):
    def _facts(self, messages):
        if moment == "during the call":
            killed()
        return super()._facts(messages)

talk = [Message(f"I own kayak {n}.", "Alice", f"2024-06-12T09:{n:02}", f"m{n}") for n in range(1, last + 1)]
storage = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
config = HindsightConfig(storage=storage, observations=ObservationConfig("off"))
clock = FrozenClock()
engine = Hindsight.open(folder, model=Killing(), embeddings=HashEmbedder(), reranker=None, config=config, clock=clock)
bank = engine.bank("alice")
bank.threads.follow(talk, thread="t", extract="idle")
if moment == "after keeping":
    killed()
if moment == "after the commit":
    BankProjection.catch_up = killed
bank.tasks.settle()
"""


@pytest.mark.slow  # starts a process for each kill
@pytest.mark.directory
@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_killed_between_keeping_and_extracting_nothing_is_lost_or_doubled(
    opener: Opener, tmp_path: Path, model: Stating, light_config: HindsightConfig
) -> None:
    """Nine processes in a row are killed at three moments; each message becomes one memory."""
    moments = ["after keeping", "during the call", "after the commit"] * 3
    folder = tmp_path / "memory"
    for kill, moment in enumerate(moments, 1):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), moment, str(2 * kill)],
            check=False,
            env=dict(os.environ),
            timeout=120,
        )
        assert done.returncode == -signal.SIGKILL
    config = HindsightConfig(storage=light_config.storage, observations=UNOBSERVED)
    bank = opener(folder, model=model, config=config, clock=SystemClock()).bank("alice")
    assert len(kinds(bank)) == 18
    bank.tasks.retry()
    bank.tasks.settle()
    assert len(extracted(bank)) == 18
    assert bank.count() == 18
    assert {task.state for task in bank.tasks.list()} == {TaskState.DONE}
    assert {task.kind for task in bank.tasks.list()} == {TaskKind.EXTRACT_WAITING}
