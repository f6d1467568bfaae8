"""HindsightMemory in agents and chat engines: turns are retained once, recalled once, and kept over restarts."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.storage.chat_store import SimpleChatStore
from table import every_row

from hindsight_integrations import (
    BankForgotten,
    BankNotFound,
    BankNotOpen,
    EngineClosed,
    Hindsight,
    InvalidRequest,
    MemoryBank,
)
from hindsight_integrations.llamaindex import HindsightMemory


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


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def test_a_turn_is_retained_once_it_is_answered(bank: MemoryBank) -> None:
    """Messages are not retained one by one: the answer is processed together with its question."""
    memory = HindsightMemory(bank)
    memory.put(user("I keep bees in Porto."))
    assert texts(bank) == []
    memory.put(assistant("Bees like the lavender there."))
    assert texts(bank) == ["assistant: Bees like the lavender there.", "user: I keep bees in Porto."]


def test_five_turns_are_five_retains(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many messages there are, each turn costs one extraction."""
    calls: list[int] = []
    follow = type(bank.asynchronous.threads).follow

    async def counted(self: Any, messages: Any, **options: Any) -> Any:
        calls.append(len(messages))
        return await follow(self, messages, **options)

    monkeypatch.setattr(type(bank.asynchronous.threads), "follow", counted)
    memory = HindsightMemory(bank)
    for number in range(5):
        memory.put_messages(
            [user(f"My dog number {number} is called Rex{number}."), assistant(f"Hello Rex{number}!")]
        )
    assert calls == [2, 4, 6, 8, 10]
    assert len(texts(bank)) == 10


def test_set_of_the_same_length_neither_doubles_nor_loses(bank: MemoryBank) -> None:
    """The messages, not the number of messages, show what changed."""
    memory = HindsightMemory(bank)
    memory.put_messages([user("I keep bees in Porto."), assistant("Bees like lavender.")])
    memory.set([user("I keep goats in Evora."), assistant("Goats like thistles.")])
    assert {"assistant: Goats like thistles.", "user: I keep goats in Evora."} <= set(texts(bank))
    before = texts(bank)
    memory.set(memory.get_all())
    assert texts(bank) == before


def test_set_of_a_trimmed_chat_retains_nothing_again(bank: MemoryBank) -> None:
    """A chat without its first messages is the same chat."""
    memory = HindsightMemory(bank)
    for number in range(4):
        memory.put_messages(
            [user(f"My dog number {number} is called Rex{number}."), assistant(f"Hello Rex{number}!")]
        )
    before = texts(bank)
    memory.set(memory.get_all()[4:])
    assert texts(bank) == before


def test_a_regenerated_answer_replaces_the_first(bank: MemoryBank) -> None:
    """An answer that the user rejected is not recalled."""
    memory = HindsightMemory(bank)
    memory.put_messages([user("I keep bees in Porto."), assistant("Bees like concrete.")])
    memory.set([user("I keep bees in Porto."), assistant("Bees like lavender.")])
    assert texts(bank) == ["assistant: Bees like lavender.", "user: I keep bees in Porto."]


@pytest.mark.parametrize("kind", ["dict", "json", "pickle"])
def test_a_stored_memory_is_the_same_after_a_restart(tmp_path: Path, kind: str) -> None:
    """History and options are restored with the session; the bank is found by reference."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        memory = HindsightMemory(engine.bank("alice"), token_limit=500, tags=["private"])
        memory.put_messages([user("I keep bees in Porto."), assistant("Bees like lavender.")])
        said = memory.get_all()
        stored: Any = {
            "dict": memory.to_dict,
            "json": memory.to_json,
            "pickle": lambda: pickle.dumps(memory),
        }[kind]()
    load = {"dict": HindsightMemory.from_dict, "json": HindsightMemory.from_json, "pickle": pickle.loads}[
        kind
    ]
    with pytest.raises(BankNotOpen, match="Open the directory first"):
        load(stored)
    with Hindsight.open(tmp_path, reranker=None) as engine:
        again = load(stored)
        assert (again.get_all(), again.token_limit, again.tags) == (said, 500, ("private",))
        again.put_messages([user("I have a dog called Rex."), assistant("Hello Rex!")])
        assert len(texts(engine.bank("alice"))) == 4


def test_a_stored_memory_of_a_forgotten_bank_says_so(engine: Hindsight) -> None:
    """No empty bank of that name is created."""
    stored = HindsightMemory(engine.bank("alice")).to_json()
    engine.forget_bank("alice")
    with pytest.raises(BankNotFound, match="alice"):
        HindsightMemory.from_json(stored)


def test_what_a_killed_process_did_not_retain_the_next_turn_does(tmp_path: Path) -> None:
    """The history is written before the bank, so the next turn retains both turns."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        memory = HindsightMemory(engine.bank("alice"), session_id="chat")
        asyncio.run(memory._history.add([user("I keep bees in Porto."), assistant("Bees like lavender.")]))
    with Hindsight.open(tmp_path, reranker=None) as engine:
        bank = engine.bank("alice")
        memory = HindsightMemory(bank, session_id="chat")
        memory.put_messages([user("I have a dog called Rex."), assistant("Hello Rex!")])
        assert len(texts(bank)) == 4


def test_a_failing_bank_costs_neither_message_nor_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The chat continues with a warning and a complete history; with on_error="raise" the error is raised, and the message is stored nevertheless."""
    engine = Hindsight.open(tmp_path, reranker=None)
    memory = HindsightMemory(engine.bank("alice"))
    strict = HindsightMemory(engine.bank("alice"), on_error="raise")
    engine.close()
    memory.put_messages([user("I keep bees in Porto."), assistant("Bees like lavender.")])
    assert [message.content for message in memory.get("bees?")] == [
        "I keep bees in Porto.",
        "Bees like lavender.",
    ]
    assert len([line for line in caplog.records if "HindsightMemory on bank 'alice'" in line.message]) == 2
    assert "Porto" not in caplog.text
    with pytest.raises(EngineClosed):
        strict.put_messages([user("I have a dog."), assistant("Hello!")])
    assert len(strict.get_all()) == 2


def test_a_forgotten_bank_is_a_mistake(engine: Hindsight) -> None:
    """The error is raised instead of a warning, because every turn would meet it again."""
    memory = HindsightMemory(engine.bank("alice"))
    engine.forget_bank("alice")
    with pytest.raises(BankForgotten):
        memory.put_messages([user("I keep bees."), assistant("Good.")])


def test_one_recall_a_turn(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents read the messages before and after each tool call; the question is the same."""
    queries: list[str] = []
    recall = type(bank.asynchronous).recall

    async def counted(self: Any, query: str, **options: Any) -> Any:
        queries.append(query)
        return await recall(self, query, **options)

    bank.retain("Alice keeps bees in Porto.")
    monkeypatch.setattr(type(bank.asynchronous), "recall", counted)
    memory = HindsightMemory(bank)
    memory.put(user("Where are my bees?"))
    for _ in range(3):
        assert "Porto" in str(memory.get()[-1].content)
        assert "Porto" in str(memory.get(input="Where are my bees?")[-1].content)
    memory.put_messages([assistant("In Porto."), user("Where are my bees?")])
    memory.get()
    assert queries == ["Where are my bees?"] * 2


def test_memories_stand_where_they_were_asked_to(bank: MemoryBank) -> None:
    """Memories are inserted next to the question or into an existing or new system message; stored messages do not change."""
    bank.retain("Alice keeps bees in Porto.")
    asked = user("Where are my bees?")
    beside = HindsightMemory(bank)
    beside.put_messages([ChatMessage("Be brief.", role="system"), asked])
    assert [message.role.value for message in beside.get()] == ["system", "user"]
    assert str(beside.get()[1].content).endswith("Where are my bees?")
    assert "Porto" not in str(beside.get()[0].content)
    above = HindsightMemory(bank, insert_method="system")
    above.put_messages([ChatMessage("Be brief.", role="system"), asked])
    assert "Porto" in str(above.get()[0].content)
    assert str(above.get()[1].content) == "Where are my bees?"
    assert all("Porto" not in str(message.content) for message in [*above.get_all(), *beside.get_all()])


def test_a_question_that_is_not_in_the_chat_yet_gets_a_message_of_its_own(bank: MemoryBank) -> None:
    """Chat engines pass the question before they put it: its memories are not inserted into an earlier message."""
    bank.retain("Alice keeps bees in Porto.")
    memory = HindsightMemory(bank)
    memory.put_messages([user("Hello there, my friend."), assistant("Hello!")])
    given = memory.get(input="Where are my bees?")
    assert [message.role.value for message in given] == ["system", "user", "assistant"]
    assert "Porto" in str(given[0].content)


def test_a_react_trace_is_remembered_by_its_answer(bank: MemoryBank) -> None:
    """ReActAgent puts thoughts, actions and observations into the chat; the history keeps them, the bank does not."""
    trace = "Thought: I need a tool.\nAction: weather\nAction Input: {}\nObservation: 25\nThought: I can answer.\nAnswer: Porto is warm."
    memory = HindsightMemory(bank)
    memory.put_messages([user("I keep bees in Porto."), assistant(trace)])
    assert texts(bank) == ["assistant: Porto is warm.", "user: I keep bees in Porto."]
    assert memory.get_all()[1].content == trace


def test_braces_in_a_system_message_are_text(bank: MemoryBank) -> None:
    """Messages are not format strings."""
    bank.retain("Alice keeps bees in Porto.")
    memory = HindsightMemory(bank, insert_method="system")
    memory.put_messages([ChatMessage('Answer as {"city": "..."}', role="system"), user("Where are my bees?")])
    assert '{"city": "..."}' in str(memory.get()[0].content)


def test_reset_clears_the_chat_and_keeps_the_memories(bank: MemoryBank) -> None:
    """A new chat of the same person recalls the last one."""
    memory = HindsightMemory(bank)
    memory.put_messages([user("I keep bees in Porto."), assistant("Bees like lavender.")])
    memory.reset()
    assert memory.get_all() == []
    memory.put(user("Where are my bees?"))
    assert "I keep bees in Porto." in str(memory.get()[0].content)


def test_a_store_of_the_users_own_holds_the_history(bank: MemoryBank) -> None:
    """The application chooses where chats are stored; stored messages cannot be changed from outside."""
    store = SimpleChatStore()
    memory = HindsightMemory(bank, chat_store=store, session_id="chat")
    message = user("I keep bees in Porto.")
    memory.put(message)
    message.blocks[0].text = "changed"
    assert [each.content for each in memory.get_all()] == ["I keep bees in Porto."]
    assert len(store.get_keys()) == 1


def test_async_is_the_same(engine: Hindsight) -> None:
    """The async methods do the same, concurrently and in any loop."""
    bank = engine.bank("bob")

    async def run() -> None:
        memory = HindsightMemory(bank, session_id="chat")
        await asyncio.gather(
            *(memory.aput(user(f"My dog number {number} is Rex{number}.")) for number in range(8))
        )
        await memory.aput(assistant("So many dogs!"))

    asyncio.run(run())
    asyncio.run(run())
    assert len(HindsightMemory(bank, session_id="chat").get_all()) == 9 * 2
    assert len([text for text in texts(bank) if "Rex" in text]) == 8 * 2


@every_row(
    "options",
    [
        {"token_limit": 0},
        {"token_limit": "many"},
        {"token_limit": True},
        {"memory_tokens": -1},
        {"memory_tokens": 40_000},
        {"insert_method": "assistant"},
        {"on_error": "ignore"},
        {"session_id": " "},
        {"session_id": 7},
    ],
    ids=str,
)
def test_arguments_of_no_use_are_refused(bank: MemoryBank, options: dict[str, Any]) -> None:
    """The error is raised at construction and says what to pass."""
    with pytest.raises(InvalidRequest, match=next(iter(options))):
        HindsightMemory(bank, **options)


def test_what_is_no_bank_is_refused() -> None:
    """An engine is a likely mistake."""
    with pytest.raises(InvalidRequest, match=r"engine\.bank"):
        HindsightMemory(MockLLM())
