"""Failures around a memory block: the chat continues, and missed messages are retained once by a later call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy.ext.asyncio import create_async_engine

from hindsight_integrations import (
    BankForgotten,
    BankNotFound,
    Hindsight,
    HindsightError,
    MemoryBank,
    ModelUnavailable,
    StorageError,
)
from hindsight_integrations.llamaindex import HindsightMemoryBlock
from hindsight_integrations.llamaindex.bank import MemoryWarning

TREES = ("an oak", "a birch", "a maple", "a willow", "a cedar", "a walnut")


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


def chat(*blocks: BaseMemoryBlock[Any], **options: Any) -> Memory:
    options = {"session_id": "chat", "token_limit": 40, "token_flush_size": 8, **options}
    return Memory.from_defaults(memory_blocks=list(blocks), tokenizer_fn=str.split, **options)


def planted(tree: str) -> str:
    return f"I planted {tree} in the garden."


EXPECTED = sorted(f"user: {planted(tree)}" for tree in TREES)


class Outage:
    """Makes a method of the bank fail while it is on."""

    def __init__(self, patches: pytest.MonkeyPatch, kind: type, verb: str) -> None:
        self.on = False
        self.error: HindsightError = StorageError("the disk is full")
        works = getattr(kind, verb)

        async def fails(itself: Any, *args: Any, **options: Any) -> Any:
            if self.on:
                raise self.error
            return await works(itself, *args, **options)

        patches.setattr(kind, verb, fails)


@pytest.fixture
def retains(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> Outage:
    return Outage(monkeypatch, type(bank.asynchronous.threads), "follow")


@pytest.fixture
def recalls(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> Outage:
    return Outage(monkeypatch, type(bank.asynchronous), "recall")


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[MemoryWarning]:
    """The warnings in LlamaIndex's instrumentation."""
    seen: list[MemoryWarning] = []

    class Watcher(BaseEventHandler):  # type: ignore[misc] # mypy is told to skip LlamaIndex
        def handle(self, event: Any, **kwargs: Any) -> None:
            if isinstance(event, MemoryWarning):
                seen.append(event)

    root = get_dispatcher()
    monkeypatch.setattr(root, "event_handlers", [*root.event_handlers, Watcher()])
    return seen


@pytest.mark.parametrize(
    "error",
    [StorageError("the disk is full"), ModelUnavailable("a model", "no answer")],
    ids=lambda e: type(e).__name__,
)
def test_what_was_flushed_while_the_bank_failed_is_retained_by_the_next_call(
    bank: MemoryBank,
    retains: Outage,
    warnings: list[MemoryWarning],
    caplog: pytest.LogCaptureFixture,
    error: HindsightError,
) -> None:
    """LlamaIndex has archived them by then, and does not pass them again."""
    memory = chat(HindsightMemoryBlock(bank))
    retains.error = error
    with caplog.at_level(logging.WARNING):
        for number, tree in enumerate(TREES):
            retains.on = number < len(TREES) - 1
            memory.put(user(planted(tree)))
            memory.put(assistant("Okay."))
    assert warnings
    assert {each.bank for each in warnings} == {"alice"}
    assert not any("planted" in str(each) for each in warnings)
    assert "planted" not in caplog.text
    memory.get()
    assert texts(bank) == EXPECTED
    assert [str(each.content) for each in memory.get_all() if each.role == "user"] == [
        planted(each) for each in TREES
    ]


def test_an_error_that_must_be_seen_costs_no_memory_either(bank: MemoryBank, retains: Outage) -> None:
    """With on_error="raise", the put fails after the message is in the chat; the next call retains it."""
    memory = chat(HindsightMemoryBlock(bank, on_error="raise"))
    failed = 0
    for number, tree in enumerate(TREES):
        retains.on = number % 2 == 1
        for message in (user(planted(tree)), assistant("Okay.")):
            try:
                memory.put(message)
            except StorageError:
                failed += 1
    retains.on = False
    memory.get()
    assert failed
    assert texts(bank) == EXPECTED


def test_a_put_that_is_tried_again_doubles_nothing(bank: MemoryBank, retains: Outage) -> None:
    """The chat then contains the message twice in a row, although it was sent once."""
    memory = chat(HindsightMemoryBlock(bank, on_error="raise"))
    twice = 0
    for tree in TREES:
        for message in (user(planted(tree)), assistant("Okay.")):
            retains.on = True
            try:
                memory.put(message)
            except StorageError:
                retains.on = False
                memory.put(message)
                twice += 1
    retains.on = False
    memory.get()
    assert twice
    assert texts(bank) == EXPECTED


class Broken(BaseMemoryBlock[str]):  # type: ignore[misc] # mypy is told to skip LlamaIndex
    """A failing block of another author."""

    name: str = "broken"

    async def _aget(self, messages: Any = None, **kwargs: Any) -> str:
        return ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        raise OSError("no room")


def test_a_failing_block_beside_ours_costs_no_memory_and_doubles_none(bank: MemoryBank) -> None:
    """LlamaIndex archives flushed messages before its blocks get them, and the put fails; a repeated put adds the message again."""
    memory = chat(Broken(), HindsightMemoryBlock(bank))
    failed = 0
    for tree in TREES:
        for message in (user(planted(tree)), assistant("Okay.")):
            for _again in range(2):
                try:
                    memory.put(message)
                except OSError:
                    failed += 1
                else:
                    break
    memory.get()
    assert failed
    assert texts(bank) == EXPECTED


def test_what_a_killed_process_had_not_retained_the_chats_store_still_has(
    bank: MemoryBank, retains: Outage, tmp_path: Path
) -> None:
    """A new process with the same store retains everything in the first call."""

    async def process(*, fails: bool, trees: tuple[str, ...]) -> None:
        database = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'chats.sqlite'}")
        store = SQLAlchemyChatStore(table_name="chats", async_engine=database)
        memory = chat(HindsightMemoryBlock(bank, chat_store=store), chat_store=store)
        retains.on = fails
        for tree in trees:
            await memory.aput(user(planted(tree)))
            await memory.aput(assistant("Okay."))
        await memory.aget()
        await database.dispose()

    asyncio.run(process(fails=True, trees=TREES[:-1]))
    assert texts(bank) == []
    asyncio.run(process(fails=False, trees=TREES[-1:]))
    assert texts(bank) == EXPECTED
    asyncio.run(process(fails=False, trees=()))
    assert texts(bank) == EXPECTED


def test_an_answer_is_given_without_memories_when_recall_fails(
    bank: MemoryBank, recalls: Outage, warnings: list[MemoryWarning]
) -> None:
    """The turn's next read tries again."""
    bank.retain([{"role": "user", "content": planted("an oak")}])
    memory = chat(HindsightMemoryBlock(bank), token_limit=400)
    memory.put(user("What did I plant in the garden?"))
    recalls.on = True
    assert len(memory.get()) == 1
    assert [each.missing for each in warnings] == ["the answer is given without memories"]
    recalls.on = False
    assert "oak" in str(memory.get()[0].content)


def test_recall_that_must_fail_loudly_loses_nothing(bank: MemoryBank, recalls: Outage) -> None:
    """With on_error="raise", a read fails in the middle; the next read retains what was missed."""
    memory = chat(HindsightMemoryBlock(bank, on_error="raise"), token_limit=400)
    memory.put_messages([user(planted("an oak")), assistant("Okay.")])
    recalls.on = True
    with pytest.raises(StorageError):
        memory.get()
    recalls.on = False
    memory.get()
    assert texts(bank) == [f"user: {planted('an oak')}"]


def test_a_bank_that_is_gone_is_an_error_of_the_program(bank: MemoryBank, engine: Hindsight) -> None:
    """It is raised whatever on_error says, because every turn would meet it; the chat contains the message."""
    memory = chat(HindsightMemoryBlock(bank))
    engine.forget_bank("alice")
    memory.put(user(planted("an oak")))
    with pytest.raises((BankNotFound, BankForgotten)):
        memory.get()
    assert [each.content for each in memory.get_all()] == [planted("an oak")]


def test_a_closed_engine_does_not_stop_the_chat(
    bank: MemoryBank, engine: Hindsight, warnings: list[MemoryWarning]
) -> None:
    """The chat reports it and continues."""
    memory = chat(HindsightMemoryBlock(bank))
    engine.close()
    for tree in TREES:
        memory.put(user(planted(tree)))
        memory.put(assistant("Okay."))
    assert memory.get()
    assert {each.error for each in warnings} == {"EngineClosed"}
