"""Roles in a followed conversation: tool results if requested, and dicts like messages."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank

CALL = {"name": "look_up", "args": {"topic": "bees"}, "id": "c1"}
TURN = [
    SystemMessage("Be kind.", id="s1"),
    HumanMessage("My bees are ill.", id="h1"),
    AIMessage("", tool_calls=[CALL], id="a1"),
    ToolMessage("Varroa mites harm bees.", tool_call_id="c1", id="t1"),
    AIMessage("I treated them with acid.", id="a2"),
]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("ann")


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units if unit.closed_at is None)


def test_tools_are_retained_where_they_are_listened_to(bank: MemoryBank) -> None:
    """By default, messages of people and the agent are retained; a tool's result is retained with its call, once."""
    bank.threads.follow(TURN, thread="t")
    assert texts(bank) == ["assistant: I treated them with acid.", "user: My bees are ill."]
    for _ in range(2):
        bank.threads.follow(TURN, thread="u", roles=("tool",))
    shown = 'tool look_up: look_up(topic="bees") returned: Varroa mites harm bees.'
    assert texts(bank) == ["assistant: I treated them with acid.", shown, "user: My bees are ill."]


def test_a_result_that_comes_a_turn_after_its_call_is_retained_with_it(bank: MemoryBank) -> None:
    """A person approved the call in between, so the call is among the known messages."""
    bank.threads.follow(TURN[:3], thread="t", roles="tool")
    assert bank.threads.follow(TURN, thread="t", roles="tool").created == 1
    assert texts(bank) == ['tool look_up: look_up(topic="bees") returned: Varroa mites harm bees.']


def test_a_turn_in_which_nobody_says_anything_is_no_error(bank: MemoryBank) -> None:
    """A turn with no messages, only system messages or only tools stores nothing, and the next turn is retained."""
    for silent in ([], TURN[:1], [TURN[0], *TURN[2:4]]):
        assert bank.threads.follow(silent, thread="t").created == 0
    assert bank.threads.follow(TURN, thread="t").created == 2


def test_conversations_of_dicts_are_followed_like_those_of_messages(bank: MemoryBank) -> None:
    """In the next turn nothing is dropped or stored again, with ids and without."""
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "My bees are ill.", "id": 1},
        {"role": "assistant", "content": "I treated them with acid.", "id": "a2"},
        {"role": "user", "content": "They are well now."},
        {"role": "user", "content": "They are well now."},
    ]
    for end in range(1, 5):
        assert bank.threads.follow(given[:end], thread="t").created == 1
        assert bank.threads.follow(given[:end], thread="t").created == 0
    assert len(texts(bank)) == 4
    assert bank.threads.follow(given[1:], thread="t").superseded == ()


def test_messages_that_nobody_numbered_are_known_a_turn_later_whatever_is_in_them(bank: MemoryBank) -> None:
    """Without an id, with an empty one, a tool's result of an unknown call, half a character: each is stored once."""
    given: list[Any] = [
        HumanMessage("My bees are ill \ud83d."),
        HumanMessage("They are in a hive.", id=""),
        {"role": "tool", "content": "Mites harm bees.", "name": "read"},
        ToolMessage("Acid harms mites.", tool_call_id="", name="read"),
    ]
    for end in (1, 2, 3, 4, 4):
        bank.threads.follow(given[:end], thread="t", roles=("user", "tool"))
    assert len(texts(bank)) == 4


def test_a_message_that_is_too_long_is_cut_and_a_role_that_is_none_refused(bank: MemoryBank) -> None:
    """Five megabytes do not fail a turn; a typo in a role is an error at once."""
    bank.threads.follow([HumanMessage("bees " * 1_000_000, id="h1")], thread="t")
    assert any(unit.text.endswith("[cut: 5,000,000 characters]") for unit in bank.iterate_units())
    with pytest.raises(InvalidRequest, match="roles"):
        bank.threads.follow(TURN, thread="t", roles=("human",))
