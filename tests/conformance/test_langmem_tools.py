"""langmem's tools, unchanged, with HindsightStore."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, cast
from uuid import UUID, uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langmem import create_manage_memory_tool, create_search_memory_tool

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightStore

NAMESPACE = ("memories", "{langgraph_user_id}")
Call = Callable[..., Any]


class _Model(FakeMessagesListChatModel):
    """A scripted model that accepts tools, as agents bind them."""

    def bind_tools(self, tools: Any, **options: Any) -> Self:
        return self


def _user(name: str) -> RunnableConfig:
    return {"configurable": {"langgraph_user_id": name}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HindsightStore]:
    with Hindsight.open(tmp_path / "memory", reranker=None) as hindsight:
        yield HindsightStore(hindsight)


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Call:
    """A call of a tool for a user, sync or async."""

    def called(tool: BaseTool, arguments: dict[str, Any], user: str = "alice") -> Any:
        if request.param == "sync":
            return tool.invoke(arguments, _user(user))
        return asyncio.run(tool.ainvoke(arguments, _user(user)))

    return called


@pytest.fixture
def manage(store: HindsightStore) -> BaseTool:
    return cast("BaseTool", create_manage_memory_tool(NAMESPACE, store=store))


@pytest.fixture
def search(store: HindsightStore) -> BaseTool:
    return cast("BaseTool", create_search_memory_tool(NAMESPACE, store=store))


def _contents(found: str) -> list[str]:
    return [memory["value"]["content"] for memory in json.loads(found)]


def test_a_memory_is_made_found_changed_and_deleted(manage: BaseTool, search: BaseTool, call: Call) -> None:
    said = call(manage, {"content": "Alice paddles a blue kayak."})
    key = str(UUID(said.removeprefix("created memory ")))
    (found,) = json.loads(call(search, {"query": "What does Alice paddle?"}))
    assert (found["key"], found["namespace"], found["score"] > 0) == (key, ["memories", "alice"], True)

    call(manage, {"content": "Alice paddles a red canoe.", "action": "update", "id": key})
    (changed,) = json.loads(call(search, {"query": "What does Alice paddle?"}))
    assert (changed["key"], changed["value"]) == (key, {"content": "Alice paddles a red canoe."})
    assert changed["created_at"] == found["created_at"]
    assert changed["updated_at"] > found["updated_at"]

    call(manage, {"action": "delete", "id": key})
    assert call(search, {"query": "What does Alice paddle?"}) == "[]"


def test_the_namespace_comes_from_the_config_of_the_call(
    manage: BaseTool, search: BaseTool, call: Call
) -> None:
    call(manage, {"content": "Alice keeps bees."}, "alice")
    call(manage, {"content": "Bob keeps goats."}, "bob")
    assert _contents(call(search, {"query": "Who keeps bees?"}, "bob")) == ["Bob keeps goats."]
    assert _contents(call(search, {"query": "Who keeps goats?"}, "alice")) == ["Alice keeps bees."]
    assert call(search, {"query": "Who keeps bees?"}, "carol") == "[]"


def test_the_nearest_come_first_and_by_pages(manage: BaseTool, search: BaseTool, call: Call) -> None:
    for content in ("The kayak hangs in the shed.", "Lunch is at noon.", "The bank opens at nine."):
        call(manage, {"content": content})
    everything = _contents(call(search, {"query": "Where is the kayak?", "limit": 3}))
    assert everything[0] == "The kayak hangs in the shed."
    pages = [
        _contents(call(search, {"query": "Where is the kayak?", "limit": 1, "offset": n})) for n in range(4)
    ]
    assert pages == [*([content] for content in everything), []]


def test_a_filter_and_the_memories_themselves(store: HindsightStore, manage: BaseTool, call: Call) -> None:
    for content in ("The kayak hangs in the shed.", "Lunch is at noon."):
        call(manage, {"content": content})
    search = create_search_memory_tool(NAMESPACE, store=store, response_format="content_and_artifact")
    arguments = {"query": "kayak", "filter": {"content": "Lunch is at noon."}}
    message = call(search, {"type": "tool_call", "id": "1", "name": search.name, "args": arguments})
    assert [item.value for item in message.artifact] == [{"content": "Lunch is at noon."}]
    assert _contents(message.content) == ["Lunch is at noon."]


def test_memories_outlive_the_engine(tmp_path: Path, call: Call) -> None:
    for content in ("Alice paddles a blue kayak.", "Alice keeps bees."):
        with Hindsight.open(tmp_path / "kept", reranker=None) as hindsight:
            tool = create_manage_memory_tool(NAMESPACE, store=HindsightStore(hindsight))
            call(tool, {"content": content})
    with Hindsight.open(tmp_path / "kept", reranker=None) as hindsight:
        search = create_search_memory_tool(NAMESPACE, store=HindsightStore(hindsight))
        assert _contents(call(search, {"query": "kayak"}))[0] == "Alice paddles a blue kayak."
        assert len(_contents(call(search, {"query": "kayak"}))) == 2


@pytest.mark.parametrize("face", ["sync", "async"])
def test_an_agent_keeps_and_finds_with_the_store_of_its_graph(store: HindsightStore, face: str) -> None:
    tools = [create_manage_memory_tool(NAMESPACE), create_search_memory_tool(NAMESPACE)]

    def asks(name: str, arguments: dict[str, Any]) -> AIMessage:
        return AIMessage(
            "", tool_calls=[{"name": name, "args": arguments, "id": str(uuid4()), "type": "tool_call"}]
        )

    replies = [
        asks("manage_memory", {"content": "Alice paddles a blue kayak."}),
        AIMessage("I shall remember."),
        asks("search_memory", {"query": "What does Alice paddle?"}),
        AIMessage("A blue kayak."),
    ]
    agent: Any = create_agent(_Model(responses=[*replies]), tools, store=store)
    for said in ("I paddle a blue kayak.", "What do I paddle?"):
        asked = ({"messages": [HumanMessage(said)]}, _user("alice"))
        state = agent.invoke(*asked) if face == "sync" else asyncio.run(agent.ainvoke(*asked))
    (found,) = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert _contents(cast("str", found.content)) == ["Alice paddles a blue kayak."]
