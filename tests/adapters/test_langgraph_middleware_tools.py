"""The memory tools of an agent, in addition to automatic recall and retain."""

import asyncio
import re
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from table import every_row
from tool_calling import GOLDEN_TOOLS

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "My kayak is called Thunder."
ALL_BUT_RETAIN = [name for name in GOLDEN_TOOLS["langgraph"] if name != "retain_memory"]
ASKED = "What is my kayak called?"
BOARDS = "My kayak is called Thunder 4711 by the board."


def names(middleware: HindsightMiddleware) -> list[str]:
    return [each.name for each in middleware.tools]


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def turn(memory: Any, way: str, reply: AIMessage, **options: Any) -> ToolMessage:
    """The result of the agent's only tool call."""
    agent: Any = create_agent(
        ScriptedModel([reply, "Done."]),
        middleware=[HindsightMiddleware(memory, **options)],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
    given: Any = {"messages": [HumanMessage("My tent is green.")]}
    out = agent.invoke(given, config) if way == "invoke" else asyncio.run(agent.ainvoke(given, config))
    (answer,) = [message for message in out["messages"] if isinstance(message, ToolMessage)]
    return answer


@every_row(
    ("options", "expected"),
    [
        ({}, []),
        ({"tools": False}, []),
        ({"tools": True}, ALL_BUT_RETAIN),
        ({"tools": ["retain", "recall"]}, ["retain_memory", "recall_memories"]),
        ({"tools": True, "tags": ("public",)}, ["recall_memories", "reflect_on_memories"]),
        ({"tools": True, "metadata": {"team": "red"}}, ["recall_memories"]),
        ({"tools": True, "k": 3}, ALL_BUT_RETAIN),
    ],
)
def test_an_agent_has_the_tools_it_was_given(light: Hindsight, options: Any, expected: list[str]) -> None:
    """Without options, all tools but retain; with conditions on recall, those that can enforce them."""
    assert names(HindsightMiddleware(light, **options)) == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"tools": ["erase"]}, "erase"),
        ({"tools": ["forget"], "tags": ("public",)}, "'forget' cannot enforce tags="),
        ({"tools": ["reflect"], "metadata": {"team": "red"}}, "'reflect' cannot enforce metadata="),
    ],
)
def test_a_tool_that_is_none_or_would_see_more_than_recall_is_refused(
    light: Hindsight, options: Any, problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        HindsightMiddleware(light, **options)


@every_row("way", ["invoke", "ainvoke"])
@every_row("call", [calling("recall_memories", query=ASKED), calling("reflect_on_memories", question=ASKED)])
def test_a_tool_sees_the_runs_user_and_what_recall_may_see(
    light: Hindsight, way: str, call: AIMessage
) -> None:
    """The tool returns Ann's public memories, and neither Bob's nor those without the tag, whatever is requested."""
    light.bank("ann").retain(KAYAK, tags=["public"])
    light.bank("ann").retain(BOARDS, tags=["board"])
    light.bank("bob").retain("The kayak of Bob is called Storm.", tags=["public"])
    answer = turn(light, way, call, tools=True, tags=("public",), tags_match="any_strict")
    assert "Thunder" in str(answer.text)
    seen = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "", repr(answer))  # ids contain any digits
    assert "4711" not in seen
    assert "Storm" not in seen


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_what_the_retain_tool_keeps_has_the_tags_of_what_is_retained(light: Hindsight, way: str) -> None:
    turn(
        light,
        way,
        calling("retain_memory", content=KAYAK),
        tools=["retain"],
        retain_tags=("trip",),
        roles=("user",),
    )
    found = {unit.text.removeprefix("user: "): unit.tags for unit in light.bank("ann").iterate_units()}
    assert found == {KAYAK: ("trip",), "My tent is green.": ("trip",)}


@tool
def depth(lake: str) -> str:
    """How deep a lake is."""
    return f"The lake {lake} is 40 m deep."


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_what_a_tool_of_the_memory_showed_is_not_remembered_again(light: Hindsight, way: str) -> None:
    """With tools among the roles, only results of other tools are new."""
    light.bank("ann").retain(KAYAK)
    replies: list[Any] = [calling("recall_memories", query=ASKED), calling("depth", lake="Mara"), "Done."]
    agent: Any = create_agent(
        ScriptedModel(replies),
        [depth],
        middleware=[HindsightMiddleware(light, tools=True, roles=("user", "tool"))],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
    given: Any = {"messages": [HumanMessage("My tent is green.")]}
    out = agent.invoke(given, config) if way == "invoke" else asyncio.run(agent.ainvoke(given, config))
    assert "Thunder" in str(next(each for each in out["messages"] if isinstance(each, ToolMessage)).text)
    texts = [unit.text for unit in light.bank("ann").iterate_units()]
    assert len([text for text in texts if "Thunder" in text]) == 1
    assert [text for text in texts if "40 m deep" in text]
