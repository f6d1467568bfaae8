"""Faults around a chat's memory that lose neither a message nor a memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from table import every_row
from workflows.context.serializers import JsonSerializer

from hindsight_integrations import BankNotFound, BankNotOpen, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory, chat_store
from hindsight_integrations.model.turns import CHATS_FILE


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Hindsight]:
    with Hindsight.open(tmp_path / "memory", reranker=None) as opened:
        yield opened


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return engine.bank("alice")


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def weather(city: str, degrees: int) -> list[ChatMessage]:
    """A call and its result, from a service whose calls have no ids."""
    made = ToolCallBlock(tool_call_id="weather", tool_name="weather", tool_kwargs={"city": city})
    result = ChatMessage(f"{degrees} degrees", role="tool", additional_kwargs={"tool_call_id": "weather"})
    return [ChatMessage(role="assistant", blocks=[made]), result]


def copy_of(memory: HindsightMemory) -> HindsightMemory:
    copied: HindsightMemory = loads(dumps(memory))  # noqa: S301 - written one line before
    return copied


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def put_turns(memory: HindsightMemory, *names: str) -> None:
    for name in names:
        memory.put_messages([user(f"I have a dog called {name}."), assistant(f"Hello {name}!")])


def test_two_calls_of_one_id_are_two(bank: MemoryBank) -> None:
    """If a service gives no ids to calls, each result is retained with its own call, and later ones change no earlier one."""
    memory = HindsightMemory(bank, roles=["user", "assistant", "tool"])
    memory.put_messages([user("I moved to Porto."), *weather("Porto", 25), assistant("It is warm there.")])
    memory.put_messages([user("I moved to Evora."), *weather("Evora", 31), assistant("It is hot there.")])
    results = [text for text in texts(bank) if "degrees" in text]
    assert results == [
        'tool weather: weather(city="Evora") returned: 31 degrees',
        'tool weather: weather(city="Porto") returned: 25 degrees',
    ]


def test_what_get_gave_may_be_put_back(bank: MemoryBank) -> None:
    """With `agent.run(chat_history=memory.get())`, memories shown in one turn do not become part of the chat."""
    bank.retain("Alice keeps bees in Porto.")
    for method in ("user", "system"):
        memory = HindsightMemory(bank, insert_method=method, session_id=method)
        memory.put_messages([user("I like my bees."), assistant("So do I.")])
        before, known = memory.get_all(), texts(bank)
        shown = memory.get()
        assert "Porto" in str(shown[0].content)
        memory.set(shown)
        assert memory.get_all() == before
        assert texts(bank) == known


def test_a_question_without_its_answer_waits(bank: MemoryBank) -> None:
    """`set` before a run ends with the question: it is retained together with its answer; `flush` does not wait."""
    memory = HindsightMemory(bank)
    memory.set([user("I keep bees."), assistant("Good."), user("I keep goats.")])
    assert texts(bank) == ["assistant: Good.", "user: I keep bees."]
    memory.flush()
    assert "user: I keep goats." in texts(bank)


def test_a_chat_engines_question_is_one_turn(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines read the history before they put the question, agents after it and after its answer: memory is recalled once."""
    queries: list[str] = []
    recall = type(bank.asynchronous).recall

    async def counted(self: Any, query: str, **options: Any) -> Any:
        queries.append(query)
        return await recall(self, query, **options)

    monkeypatch.setattr(type(bank.asynchronous), "recall", counted)
    memory = HindsightMemory(bank)
    for _ in range(2):
        memory.get(input="Where are my bees?")
        memory.put(user("Where are my bees?"))
        memory.get(input="Where are my bees?")
        memory.get()
        memory.put(assistant("In Porto."))
        memory.get(input="Where are my bees?")
    assert queries == ["Where are my bees?"] * 2


@every_row("method", ["user", "system"])
@every_row("limit", [20, 90, 400])
def test_memories_and_history_are_under_the_limit_together(bank: MemoryBank, method: str, limit: int) -> None:
    """The newest turn comes first, then memories, then older turns."""
    for number in range(20):
        bank.retain(f"Alice keeps bees in garden number {number}.")
    memory = HindsightMemory(
        bank, token_limit=limit, memory_tokens=limit, insert_method=method, tokenizer_fn=str.split
    )
    put_turns(memory, "Rex", "Bo", "Tom", "Max", "Ben", "Sam")
    memory.put(user("Where are my bees?"))
    given = memory.get()
    assert sum(len(str(message.content).split()) for message in given) <= limit
    assert str(given[-1].content).endswith("Where are my bees?")
    if limit >= 60:
        assert "garden" in "".join(str(message.content) for message in given)


def test_a_memory_with_its_own_chat_store_is_stored(bank: MemoryBank) -> None:
    """A store that consists only of messages is included; another one must be passed again, as the error says."""
    memory = HindsightMemory(bank, chat_store=SimpleChatStore())
    put_turns(memory, "Rex")
    assert HindsightMemory.from_json(memory.to_json()).get_all() == memory.get_all()
    assert copy_of(memory).get_all() == memory.get_all()
    store = SQLAlchemyChatStore("chats", async_database_uri="sqlite+aiosqlite:///:memory:")
    stored = HindsightMemory(bank, chat_store=store).to_dict()
    with pytest.raises(InvalidRequest, match=r"from_dict\(stored, chat_store=\.\.\.\)"):
        HindsightMemory.from_dict(stored)
    assert HindsightMemory.from_dict(stored, chat_store=store).get_all() == []


def test_a_chat_of_a_bank_in_memory_lasts_as_long_as_the_engine() -> None:
    """The chat exists neither only as long as its memory object nor longer than the engine."""
    with Hindsight.open(":memory:", reranker=None) as engine:
        put_turns(HindsightMemory(engine.bank("alice"), session_id="chat"), "Rex")
        assert len(HindsightMemory(engine.bank("alice"), session_id="chat").get_all()) == 2
        place = engine.bank("alice").reference.place
    with Hindsight.open(":memory:", reranker=None) as engine:
        assert HindsightMemory(engine.bank("alice"), session_id="chat").get_all() == []
    assert place not in chat_store._in_memory


def test_a_clock_put_back_changes_no_order(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """LlamaIndex's store orders messages by the clock."""
    memory = HindsightMemory(bank)
    put_turns(memory, "Rex")
    monkeypatch.setattr(chat_store, "time_ns", lambda: 1_000)
    put_turns(memory, "Bo")
    assert [str(each.content) for each in memory.get_all()][2:] == ["I have a dog called Bo.", "Hello Bo!"]
    assert len(texts(bank)) == 4


def test_a_set_that_fails_leaves_the_chat(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """All messages are replaced or none, although LlamaIndex's store deletes first."""
    memory = HindsightMemory(bank)
    put_turns(memory, "Rex")
    before = memory.get_all()
    broken = [user("I have a cat."), user("I have a fish.")]
    made = chat_store._appended
    monkeypatch.setattr(
        chat_store,
        "_appended",
        lambda table, key, message, status: (
            1 / 0 if message == broken[1] else made(table, key, message, status)
        ),
    )
    with pytest.raises(ZeroDivisionError):
        memory.set(broken)
    assert memory.get_all() == before


def test_threads_and_loops_at_once_lose_nothing(engine: Hindsight) -> None:
    """Sync callers in threads and async ones in separate loops use one chat: every message is stored once."""
    bank = engine.bank("bob")

    def sync(name: str) -> None:
        put_turns(HindsightMemory(bank, session_id="chat"), *(f"{name}{number}" for number in range(3)))

    def looped(name: str) -> None:
        async def run() -> None:
            memory = HindsightMemory(bank, session_id="chat")
            for number in range(3):
                await memory.aput_messages(
                    [user(f"I have a dog called {name}{number}."), assistant(f"Hello {name}{number}!")]
                )
                await memory.aget()

        asyncio.run(run())

    threads = [threading.Thread(target=sync, args=(name,)) for name in ("Rex", "Bo")]
    threads += [threading.Thread(target=looped, args=(name,)) for name in ("Tom", "Max")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    put_turns(HindsightMemory(bank, session_id="chat"), "Sam")
    assert len(HindsightMemory(bank, session_id="chat").get_all()) == 26
    known = texts(bank)
    assert len(known) == len(set(known)) == 26


def test_sync_calls_inside_a_running_loop(engine: Hindsight) -> None:
    """In notebooks a loop is running, and the caller does not await."""
    bank = engine.bank("bob")

    async def run() -> int:
        memory = HindsightMemory(bank)
        put_turns(memory, "Rex")
        await memory.aput(user("I have a dog called Bo."))
        return len(memory.get())

    assert asyncio.run(run()) == 3


CHILD = """
import json, os, sys
from hindsight_integrations import Hindsight
from hindsight_integrations.llamaindex import HindsightMemory
from llama_index.core.llms import ChatMessage
from workflows.context.serializers import JsonSerializer
place, stored, kill = sys.argv[1:]
with Hindsight.open(place, reranker=None) as engine:
    memory = JsonSerializer().deserialize(stored) if stored else HindsightMemory(engine.bank("alice"), session_id="chat")
    if kill:
        async def killed(*given, **options):
            os._exit(9)
        type(memory.bank.threads).follow = killed
    memory.put_messages([ChatMessage("I have a dog called Bo.", role="user"), ChatMessage("Hello Bo!", role="assistant")])
    print(json.dumps([sorted(unit.text for unit in engine.bank("alice").units().units), len(memory.get_all())]))
"""


def in_a_new_process(place: Path, stored: str = "", kill: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(place), stored, kill], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_new_process_goes_on_with_the_chat(tmp_path: Path) -> None:
    """A workflow's context is stored and loaded: the memory by its bank, the chat by its session."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        memory = HindsightMemory(engine.bank("alice"))
        put_turns(memory, "Rex")
        stored = JsonSerializer().serialize(memory)
        assert "Rex" not in stored
    ended = in_a_new_process(tmp_path, stored)
    known, length = json.loads(ended.stdout or ended.stderr)
    assert (len(known), length) == (4, 4)


def test_killed_between_the_chat_and_the_bank(tmp_path: Path) -> None:
    """The chat contains the turn, the bank does not; the next turn of the next process retains it."""
    assert in_a_new_process(tmp_path, kill="yes").returncode == 9
    with Hindsight.open(tmp_path, reranker=None) as engine:
        bank = engine.bank("alice")
        memory = HindsightMemory(bank, session_id="chat")
        assert (len(memory.get_all()), texts(bank)) == (2, [])
        put_turns(memory, "Rex")
        assert len(texts(bank)) == 4


def test_another_engine_is_not_this_one(tmp_path: Path) -> None:
    """A bank with the same name in another engine is not used, and a missing bank is an error."""
    with Hindsight.open(tmp_path / "one", reranker=None) as engine:
        stored = HindsightMemory(engine.bank("alice")).to_json()
    with Hindsight.open(tmp_path / "other", reranker=None) as engine:
        engine.bank("alice")
        with pytest.raises(BankNotOpen, match="Open the directory first"):
            HindsightMemory.from_json(stored)
    with Hindsight.open(tmp_path / "one", reranker=None) as engine:
        engine.forget_bank("alice")
        with pytest.raises(BankNotFound):
            HindsightMemory.from_json(stored)


def test_a_misspelt_option_of_recall_is_refused(bank: MemoryBank) -> None:
    """The error is raised at construction, because in the first turn it would be treated as a failure."""
    with pytest.raises(InvalidRequest, match="'bugdet' is an unknown option"):
        HindsightMemory(bank, recall_options={"bugdet": "low"})  # type: ignore[arg-type] # the mistake


def test_its_words_hold_no_message() -> None:
    """Logs and tracebacks show a description of the memory, never messages."""
    with Hindsight.open(":memory:", reranker=None) as engine:
        memory = HindsightMemory(engine.bank("alice"))
        put_turns(memory, "Rex")
        assert "Rex" not in repr(memory)


def test_a_reset_chat_is_in_no_file(tmp_path: Path) -> None:
    """SQLite keeps deleted content in its file unless it is configured otherwise."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        memory = HindsightMemory(engine.bank("alice"))
        memory.put(user("My dog is called Rumpelstilz."))
        assert b"Rumpelstilz" in (tmp_path / CHATS_FILE).read_bytes()
        memory.reset()
    assert all(b"Rumpelstilz" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
