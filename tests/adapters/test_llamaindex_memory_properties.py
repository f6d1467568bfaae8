"""HindsightMemory over many turns: nothing is lost or duplicated by puts, sets, regenerated answers and reopening."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    with Hindsight.open(":memory:", reranker=None) as opened:
        yield opened


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def called(text: str) -> list[ChatMessage]:
    """A tool call and its result; the client gives all calls the tool's name as id."""
    made = ToolCallBlock(tool_call_id="stock", tool_name="stock", tool_kwargs={"of": text})
    return [
        ChatMessage(role="assistant", blocks=[made]),
        ChatMessage(f"{text} is in stock.", role="tool", additional_kwargs={"tool_call_id": "stock"}),
    ]


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def said(messages: list[ChatMessage]) -> set[str]:
    """The texts that the bank should contain for a chat whose turns have all ended."""
    return {f"{each.role.value}: {each.content}" for each in messages if each.content and each.role != "tool"}


class Chat:
    """A chat that is changed at random, and its expected content."""

    def __init__(self, bank: MemoryBank) -> None:
        self.bank, self.memory = bank, HindsightMemory(bank, session_id="chat")
        self.messages: list[ChatMessage] = []
        self.number = 0

    def thing(self) -> str:
        self.number += 1
        return f"lamp number {self.number}"

    def turn(self, tools: int) -> list[ChatMessage]:
        thing = self.thing()
        calls = [each for _ in range(tools) for each in called(thing)]
        return [user(f"I bought {thing} in Porto."), *calls, assistant(f"{thing} suits the hall.")]

    def step(self, kind: str, size: int) -> None:
        new = self.turn(size % 3)
        if kind == "put":
            for message in new:
                self.memory.put(message)
            self.messages += new
        elif kind == "put together":
            new = [each for _ in range(1 + size % 3) for each in self.turn(1)]
            self.memory.put_messages(new)
            self.messages += new
        elif kind == "reopen":
            self.memory = HindsightMemory.from_json(self.memory.to_json())
        elif kind == "get":
            self.memory.set(self.memory.get("lamps?"))  # includes memories, which are not part of the chat
        else:
            self._set(kind, size)

    def _set(self, kind: str, size: int) -> None:
        starts = [at for at, each in enumerate(self.messages) if each.role == "user"]
        if not starts:
            return
        if kind == "trim":
            self.messages = self.messages[starts[size % len(starts)] :]
        elif kind == "regenerate":
            self.messages = [*self.messages[:-1], assistant(f"{self.thing()} suits the hall.")]
        elif kind == "edit the last question":
            self.messages = [*self.messages[: starts[-1]], *self.turn(size % 3)]
        elif kind == "append":
            self.messages = [*self.messages, *self.turn(size % 3)]
        elif kind == "other":
            self.messages = [each for _ in starts for each in self.turn(1)]
        self.memory.set(list(self.messages))


KINDS = [
    "put",
    "put together",
    "reopen",
    "get",
    "trim",
    "regenerate",
    "edit the last question",
    "append",
    "other",
    "same",
]


@settings(max_examples=12, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 5)), min_size=2, max_size=8))
def test_a_chat_changed_at_random_is_neither_lost_nor_doubled(
    engine: Hindsight, steps: list[tuple[str, int]]
) -> None:
    """The history is what was set and put; the bank contains each of its messages once, and nothing else."""
    name = f"bank {steps}"[:500]
    chat, ever = Chat(engine.bank(name)), set[str]()
    try:
        for kind, size in steps:
            before = list(chat.messages)
            chat.step(kind, size)
            ever |= said(chat.messages)
            known = texts(chat.bank)
            assert chat.memory.get_all() == chat.messages
            assert said(chat.messages) <= set(known)
            assert max(Counter(known).values(), default=1) == 1
            assert set(known) <= ever
            # If a chat begins differently, it cannot be determined whether it was trimmed or edited.
            goes_on = before[:1] == chat.messages[:1]
            if goes_on and kind in ("regenerate", "edit the last question"):
                dropped = said(before) - said(chat.messages)
                assert not dropped & set(known)
    finally:
        chat.memory.reset()
        engine.forget_bank(name)
