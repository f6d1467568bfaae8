"""LlamaIndex's chat messages in retain: roles, tool calls and results, and ids that survive trimming."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank

CHAT = [
    ChatMessage("You are helpful.", role="system"),
    ChatMessage("I keep bees in Porto.", role="user"),
    ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="the weather matters"),
            ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Porto"}),
        ],
    ),
    ChatMessage("Sunny, 25 degrees", role="tool", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage("Good flying weather for bees.", role=MessageRole.MODEL),
    ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/hive.png")]),
]


class OwnMessage(ChatMessage):  # type: ignore[misc] # see the retriever
    """A user's own message class."""


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with Hindsight.open(":memory:", reranker=None) as engine:
        yield engine.bank("alice")


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def test_a_chat_is_retained_as_it_is(bank: MemoryBank) -> None:
    """Messages of user and assistant are retained; reasoning, images, the system prompt and tool traffic are not."""
    bank.retain(CHAT, thread="t")
    assert texts(bank) == ["assistant: Good flying weather for bees.", "user: I keep bees in Porto."]


def test_a_tool_result_says_what_was_called(bank: MemoryBank) -> None:
    """With tools among the roles, the call's name and arguments come from the block that made it."""
    bank.threads.follow(CHAT, thread="t", roles=("user", "assistant", "tool"))
    assert 'tool weather: weather(city="Porto") returned: Sunny, 25 degrees' in texts(bank)


def test_calls_of_older_integrations_are_read_too(bank: MemoryBank) -> None:
    """Before there were blocks, calls were stored next to the text, in OpenAI's form."""
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}
    asked = ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": [call]})
    bank.threads.follow([asked, CHAT[3]], thread="t", roles=("tool",))
    assert texts(bank) == ['tool weather: weather({"city": "Porto"}) returned: Sunny, 25 degrees']


def test_the_same_chat_twice_is_one_memory(bank: MemoryBank) -> None:
    """Even after LlamaIndex's memory wrote its session id into each message, and after the front was trimmed."""
    messages = [message.model_copy(deep=True) for message in CHAT]
    bank.threads.follow(messages, thread="t")
    before = texts(bank)
    for message in messages:
        message.additional_kwargs["session_id"] = "s"
    bank.threads.follow(messages, thread="t")
    bank.threads.follow([*messages[4:], ChatMessage("My sister Ana sells honey.")], thread="t")
    assert texts(bank) == [*before, "user: My sister Ana sells honey."]


def test_a_class_of_the_users_own_is_a_message_too(bank: MemoryBank) -> None:
    """A subclass is recognised by its base class."""
    bank.retain([OwnMessage("I keep bees in Porto.")])
    assert texts(bank) == ["user: I keep bees in Porto."]


def test_several_texts_are_one_message(bank: MemoryBank) -> None:
    """A message may consist of blocks; its text is that of the blocks, in order."""
    bank.retain(
        [ChatMessage(role="user", blocks=[TextBlock(text="I keep bees."), TextBlock(text="I sell honey.")])]
    )
    assert texts(bank) == ["user: I keep bees.\nI sell honey."]


def test_an_id_beside_the_text_is_the_messages_id(bank: MemoryBank) -> None:
    """With an id, an edited message supersedes its earlier version."""
    for city in ("Porto", "Lisbon"):
        message = ChatMessage(f"I keep bees in {city}.", additional_kwargs={"id": "m1"})
        bank.threads.follow([message], thread="t")
    assert texts(bank) == ["user: I keep bees in Lisbon."]


@pytest.mark.parametrize("content", [None, "", "  \n"], ids=["none", "empty", "blank"])
def test_a_chat_that_says_nothing_is_refused_by_retain(bank: MemoryBank, content: str | None) -> None:
    """As with messages of any other kind; `follow` just has nothing to do."""
    with pytest.raises(InvalidRequest, match="no message has text to retain"):
        bank.retain([ChatMessage(content)])
    assert bank.threads.follow([ChatMessage(content)], thread="t").created == 0


@pytest.mark.parametrize("name", [5, ["a"], b"x"])
def test_a_name_that_is_no_text_costs_the_name(bank: MemoryBank, name: object) -> None:
    bank.threads.follow([ChatMessage("I row.", additional_kwargs={"name": name})], thread="t")
    assert [unit.text for unit in bank.iterate_units()] == ["user: I row."]
