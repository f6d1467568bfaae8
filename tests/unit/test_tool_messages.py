"""Which messages of a conversation are retained, and how a tool's result is rendered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from table import every_row

from hindsight_integrations import InvalidRequest, Message
from hindsight_integrations.model.turns import Role
from hindsight_integrations.validation.messages import (
    MAX_ARGUMENTS,
    MAX_TOOL_RESULT,
    checked_roles,
    heard,
)

ALL = frozenset(Role)
SPEAKERS = frozenset({Role.USER, Role.ASSISTANT})
CALL = {"name": "weather", "args": {"city": "Tromsø", "days": 2}, "id": "c1"}


def turn(result: ToolMessage | dict[str, Any]) -> list[Any]:
    """Build a question, a tool call, its result, and the answer."""
    return [
        SystemMessage("Be kind."),
        HumanMessage("How is the weather?", id="h1"),
        AIMessage("", tool_calls=[CALL], id="a1"),
        result,
        AIMessage("It snows.", id="a2"),
    ]


def said(messages: Sequence[Message]) -> list[tuple[str | None, str]]:
    return [(message.id, message.spoken) for message in messages]


def test_a_tools_result_is_heard_with_its_call_where_tools_are_listened_to() -> None:
    """With role "tool", a result is retained together with its call; the message that only calls is not."""
    result = ToolMessage("-4 degrees", tool_call_id="c1", id="t1")
    question, answer = ("h1", "user: How is the weather?"), ("a2", "assistant: It snows.")
    shown = ("t1", 'tool weather: weather(city="Tromsø", days=2) returned: -4 degrees')
    assert said(heard(turn(result), ALL)) == [question, shown, answer]
    assert said(heard(turn(result), SPEAKERS)) == [question, answer]
    assert said(heard(turn(result), frozenset({Role.TOOL}))) == [shown]
    assert heard(turn(result), ALL)[1].role is Role.TOOL


@every_row(
    ("result", "text"),
    [
        (
            ToolMessage([{"type": "text", "text": "-4"}, {"type": "image"}], tool_call_id="c1"),
            'weather(city="Tromsø", days=2) returned: -4',
        ),
        (
            ToolMessage("no such city", tool_call_id="c1", status="error"),
            'weather(city="Tromsø", days=2) failed: no such city',
        ),
        (ToolMessage("-4", tool_call_id="gone", name="sky"), "sky() returned: -4"),
        (ToolMessage("-4", tool_call_id="gone"), "unnamed() returned: -4"),
        (
            {"role": "tool", "content": "-4", "tool_call_id": "c1"},
            'weather(city="Tromsø", days=2) returned: -4',
        ),
    ],
)
def test_results_of_every_shape_are_read(result: Any, text: str) -> None:
    """Content blocks, failures, results without calls, and dicts are supported."""
    (message,) = heard(turn(result), frozenset({Role.TOOL}))
    assert (message.text, message.id) == (text, message.id)
    assert message.id in ("c1", "gone")


def test_calls_as_openai_writes_them_are_understood() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    items = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "-4", "tool_call_id": "c1"},
    ]
    assert [m.text for m in heard(items, ALL)] == ['weather({"city": "Oslo"}) returned: -4']


def test_a_result_that_says_nothing_is_not_heard() -> None:
    assert heard([ToolMessage("", tool_call_id="c1")], ALL) == []


def test_what_is_too_long_is_cut_with_a_mark_and_never_refused() -> None:
    """A result of five megabytes is cut to a few thousand characters with its original length."""
    call = {**CALL, "args": {"city": "x" * 50_000}}
    items = [
        AIMessage("", tool_calls=[call]),
        ToolMessage("y" * 5_000_000, tool_call_id="c1"),
        HumanMessage("z" * 1_200_000),
    ]
    result, spoken = heard(items, ALL)
    assert len(result.text) == MAX_TOOL_RESULT
    assert result.text.count("x") < MAX_ARGUMENTS
    assert result.text.startswith('weather(city="xxx')
    assert result.text.endswith("characters]")
    assert len(spoken.text) == 1_000_000
    assert spoken.text.endswith(" ... [cut: 1,200,000 characters]")


@every_row("roles", [(), ("user", "human"), ("system",), 3, {"user": 1}])
def test_roles_that_are_none_are_refused(roles: Any) -> None:
    with pytest.raises(InvalidRequest, match="roles"):
        checked_roles(roles)


def test_one_role_may_be_named_without_a_list() -> None:
    assert checked_roles("tool") == {Role.TOOL}
    assert checked_roles(["user", Role.TOOL]) == {Role.USER, Role.TOOL}
