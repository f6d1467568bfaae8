"""Random chats through LlamaIndex's Memory with our block: nothing is lost or duplicated by flushes, reads, sets and failures."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine

from hindsight_integrations import Hindsight, MemoryBank, StorageError
from hindsight_integrations.llamaindex import HindsightMemoryBlock
from hindsight_integrations.llamaindex.memory_block import ChatWindow, settled

SAID = ("I ran five kilometres.", "I own a boat.", "I keep bees.", "I had popcorn.")
ANSWERS = ("Okay.", "Sure.")
SESSION = "chat"

turns = st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from(ANSWERS)), min_size=1, max_size=12)


def messages_of(some: list[tuple[str, str]]) -> list[ChatMessage]:
    return [
        ChatMessage(text, role=role)
        for turn in some
        for text, role in zip(turn, ("user", "assistant"), strict=True)
    ]


def waited(window: ChatWindow) -> dict[str, str]:
    """The waiting messages by id, with their texts."""
    return {identity: each.item["content"][0]["text"] for identity, each in window.waiting.items()}


@settings(max_examples=40, deadline=None)
@given(turns=turns, data=st.data())
def test_a_sliding_window_never_counts_a_message_twice(
    turns: list[tuple[str, str]], data: st.DataObject
) -> None:
    """However often turns are repeated, flushed and read, no message is counted twice and none is lost."""
    messages = messages_of(turns)
    window, found = ChatWindow(), dict[str, str]()
    flushed = 0
    for end in range(2, len(messages) + 1, 2):
        drop = data.draw(st.integers(0, (end - flushed) // 2 - 1), "turns flushed") * 2
        if drop:
            window.take_flushed(messages[flushed : flushed + drop])
            flushed += drop
        if data.draw(st.booleans(), "read"):
            window.take_window(messages[flushed:end])
        if data.draw(st.booleans(), "retained"):
            found |= waited(window)
            window.retained()
    window.take_window(messages[flushed:])
    found |= waited(window)
    said = Counter(str(message.content) for message in messages)
    known = Counter(found.values())
    assert known.keys() == said.keys()
    assert all(known[text] <= said[text] for text in said)


@settings(max_examples=40, deadline=None)
@given(turns=turns, data=st.data())
def test_a_chat_that_does_not_repeat_itself_throughout_is_counted_exactly(
    turns: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Equal messages are distinguished by their neighbours, even if a read follows a later flush."""
    marked = [(f"This is day {number}.", answer, text, answer) for number, (text, answer) in enumerate(turns)]
    messages = [
        ChatMessage(text, role=role)
        for day in marked
        for text, role in zip(day, ("user", "assistant") * 2, strict=True)
    ]
    window, flushed, late = ChatWindow(), 0, 0
    for end in range(4, len(messages) + 1, 4):
        if drop := data.draw(st.integers(0, (end - flushed) // 4 - 1), "days flushed") * 4:
            window.take_flushed(messages[flushed : flushed + drop])
            late, flushed = flushed, flushed + drop
        if data.draw(st.booleans(), "read"):
            window.take_window(messages[flushed:end])
        if data.draw(st.booleans(), "read before, told late"):
            window.take_window(messages[late : end - 4])
    window.take_window(messages[flushed:])
    assert Counter(waited(window).values()) == Counter(str(message.content) for message in messages)


@settings(max_examples=40, deadline=None)
@given(turns=turns, cuts=st.lists(st.integers(0, 12), max_size=6))
def test_a_chat_read_from_its_store_is_counted_exactly(turns: list[tuple[str, str]], cuts: list[int]) -> None:
    """Read up to any message, at any time and in any order, each message counts once."""
    messages = messages_of(turns)
    window = ChatWindow()
    for cut in (*cuts, len(turns)):
        window.take_chat(messages[: cut * 2])
    said = Counter(str(message.content) for message in settled(messages))
    assert Counter(waited(window).values()) == said


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hindsight]:
    place: Path = tmp_path_factory.mktemp("memory")
    with Hindsight.open(place / "data", reranker=None) as opened:
        yield opened


class Failing:
    """A bank that fails on demand, before or after its write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bank: MemoryBank) -> None:
        self.next: list[str] = []
        threads = type(bank.asynchronous.threads)
        follow = threads.follow

        async def follows(asked: Any, *args: Any, **options: Any) -> Any:
            when = self.next.pop() if self.next else ""
            if when == "before":
                raise StorageError("the disk is full")
            result = await follow(asked, *args, **options)
            if when == "after":
                raise StorageError("the connection is gone")
            return result

        monkeypatch.setattr(threads, "follow", follows)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("agent turn"), st.sampled_from(SAID)),
        st.tuples(st.just("engine turn"), st.sampled_from(SAID)),
        st.tuples(st.just("many at once"), st.sampled_from(SAID)),
        st.tuples(st.sampled_from(["get", "gets at once", "restart", "before", "after", "set"]), st.just("")),
    ),
    min_size=3,
    max_size=10,
)
numbers = itertools.count()


async def play(step: str, text: str, memory: Memory, chat: list[ChatMessage]) -> None:
    """One step of a chat as agents, chat engines and programs make it; `chat` is the expected content."""
    number = len(chat)
    said, answer = ChatMessage(text, role="user"), ChatMessage(f"Fact {number} is noted.", role="assistant")
    if step == "agent turn":
        await memory.aput(said)
        await memory.aget(input=text)
        await memory.aget(input=text)
        await memory.aput(answer)
        await asyncio.gather(memory.aget(), memory.aget())
        chat += [said, answer]
    elif step == "engine turn":
        await memory.aget(input=text)
        await memory.aput(said)
        await memory.aput(answer)
        chat += [said, answer]
    elif step == "many at once":
        more = messages_of([(text, f"Fact {number}.{each} is noted.") for each in range(4)])
        await memory.aput_messages(more)
        chat += more
    elif step == "set":
        await memory.aset([each.model_copy(deep=True) for each in chat])
    else:
        await asyncio.gather(*(memory.aget() for _ in range(1 if step == "get" else 4)))


async def played(
    bank: MemoryBank, script: list[tuple[str, str]], failing: Failing, *, stored: bool
) -> list[ChatMessage]:
    """A whole chat; without the Memory's store, a process ends only after a read that succeeded."""
    database = create_async_engine("sqlite+aiosqlite://")
    store = SQLAlchemyChatStore(table_name="chats", async_engine=database)
    await store.get_messages(SESSION)  # two concurrent creations of its table fail
    chat: list[ChatMessage] = []

    def begun() -> Memory:
        block = HindsightMemoryBlock(bank, chat_store=store if stored else None)
        return Memory.from_defaults(
            session_id=SESSION,
            chat_store=store,
            memory_blocks=[block],
            token_limit=30,
            token_flush_size=10,
            tokenizer_fn=str.split,
        )

    memory = begun()
    for step, text in script:
        if step in ("before", "after"):
            failing.next.append(step)
        elif step == "restart":
            if not stored:
                failing.next.clear()
                await memory.aget()
            memory = begun()
        else:
            await play(step, text, memory, chat)
    failing.next.clear()
    await memory.aget()
    await database.dispose()
    return chat


@pytest.mark.parametrize(
    "stored", [pytest.param(False, id="window", marks=pytest.mark.slow), pytest.param(True, id="store")]
)
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=steps)
def test_every_message_is_one_memory(engine: Hindsight, stored: bool, script: list[tuple[str, str]]) -> None:
    """With the chat's store exactly; without it, no answer is lost or duplicated, and no text is stored more often than it was sent."""
    bank = engine.bank(f"chat {next(numbers)}")
    with pytest.MonkeyPatch.context() as patches:
        chat = asyncio.run(played(bank, script, Failing(patches, bank), stored=stored))
    said = Counter(f"{message.role.value}: {message.content}" for message in chat)
    known = Counter(unit.text for unit in bank.units(limit=1_000).units)
    assert known.keys() == said.keys()
    assert all(known[text] <= said[text] for text in said)
    if stored:
        assert known == said
