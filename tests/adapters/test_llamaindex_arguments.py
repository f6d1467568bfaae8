"""Invalid messages given to a chat's memory are rejected before anything is stored; long ones are not counted completely."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory

BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """An empty bank."""
    return light.bank("ann")


@BOTH_FACES
@every_row("message", [None, 7, b"My kayak.", "My kayak.", {"role": "user"}, object()])
@every_row("verb", ["put", "put_messages", "set"])
def test_what_is_no_message_is_refused(bank: MemoryBank, face: str, verb: str, message: Any) -> None:
    """The error names the argument, and neither the chat nor the bank changes."""
    memory = HindsightMemory(bank)
    memory.put(ChatMessage("My tent is blue."))
    given = message if verb == "put" else [ChatMessage("My kayak is green."), message]
    with pytest.raises(InvalidRequest, match="message"):
        asyncio.run(getattr(memory, f"a{verb}")(given)) if face == "async" else getattr(memory, verb)(given)
    assert [m.content for m in memory.get_all()] == ["My tent is blue."]
    assert list(bank.iterate_units()) == []


@BOTH_FACES
@every_row("given", [None, 7, "My kayak is green.", {"role": "user"}])
@every_row("verb", ["put_messages", "set"])
def test_what_is_no_list_of_messages_is_refused(bank: MemoryBank, face: str, verb: str, given: Any) -> None:
    """A text instead of a list is not read as a list of characters."""
    memory = HindsightMemory(bank)
    with pytest.raises(InvalidRequest, match="messages"):
        asyncio.run(getattr(memory, f"a{verb}")(given)) if face == "async" else getattr(memory, verb)(given)
    assert memory.get_all() == []


def test_a_single_role_may_be_named_by_itself(bank: MemoryBank) -> None:
    """A single role is accepted as a string, as everywhere in the package."""
    assert HindsightMemory(bank, roles="user").roles == ("user",)


def test_megabytes_of_a_tool_do_not_keep_the_agent_waiting(bank: MemoryBank) -> None:
    """A message is counted only until it is clear that it does not fit."""
    memory = HindsightMemory(bank)
    memory.put_messages([ChatMessage("x" * 5_000_000), ChatMessage("It is.", role="assistant")])
    began = time.monotonic()
    for _ in range(3):
        memory.get()
    assert time.monotonic() - began < 5
