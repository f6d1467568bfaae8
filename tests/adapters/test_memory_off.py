"""`use_memory=False`: a run without memory recalls and stores nothing, and no later run stores its messages."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the contexts defined here.

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from llama_index.core.llms import ChatMessage

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import (
    HindsightMiddleware,
    MemoryState,
    create_memory_tools,
    create_recall_node,
    create_retain_node,
)
from hindsight_integrations.llamaindex import HindsightMemory
from hindsight_integrations.testing.scripted_model import ScriptedModel


def off(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread, "user_id": "ann", "use_memory": False}}


def on(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread, "user_id": "ann"}}


def texts(hindsight: Hindsight) -> list[str]:
    return [unit.text for unit in hindsight.bank("ann").iterate_units()]


def test_a_graph_forgets_a_run_without_memory(light: Hindsight) -> None:
    """The thread's next run, with memory, still has these messages in its state and skips them."""
    graph: Any = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(light))
    graph.add_node("retain", create_retain_node(light))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "retain")
    chat = graph.compile(checkpointer=InMemorySaver())
    chat.invoke({"messages": [HumanMessage("I keep bees in Porto.")]}, on())
    given = chat.invoke({"messages": [HumanMessage("I keep bees and a secret.")]}, off())
    assert given["memories"] == []
    chat.invoke({"messages": [HumanMessage("I sold the honey.")]}, on())
    assert texts(light) == ["user: I keep bees in Porto.", "user: I sold the honey."]
    found = light.bank("ann").recall("What is the secret?", include_chunks=True)
    assert "secret" not in f"{found.units}{found.chunks}"


def test_an_agent_without_memory_neither_shows_nor_keeps_any(light: Hindsight) -> None:
    model = ScriptedModel(script=[AIMessage("Fine."), AIMessage("Fine.")])
    agent: Any = create_agent(model, middleware=[HindsightMiddleware(light)])
    agent.invoke({"messages": [HumanMessage("I keep bees in Porto.")]}, on())
    agent.invoke({"messages": [HumanMessage("Where are my bees?")]}, off("u"))
    assert "Porto" not in str(model.prompts[1])
    assert [text for text in texts(light) if text.startswith("user")] == ["user: I keep bees in Porto."]


def test_a_sub_agent_recalls_and_retains_nothing(light: Hindsight) -> None:
    """A supervisor's message to it is not the user's."""
    light.bank("ann").retain("I keep bees in Porto.")
    model = ScriptedModel(script=[AIMessage("Fine.")])
    agent: Any = create_agent(model, middleware=[HindsightMiddleware(light, roles=())])
    agent.invoke({"messages": [HumanMessage("Find the bees; the user hates trains.")]}, on())
    assert "Porto" in str(model.prompts[0])
    assert texts(light) == ["I keep bees in Porto."]


def test_tools_say_that_memory_is_off(light: Hindsight) -> None:
    light.bank("ann").retain("I keep bees in Porto.")
    for tool in create_memory_tools(light, names=["recall", "retain"]):
        said = tool.invoke({"query": "bees"} if "recall" in tool.name else {"content": "I sing."}, off())
        assert "turned off" in str(said)
    assert len(texts(light)) == 1


def test_what_is_no_truth_value_is_refused(light: Hindsight) -> None:
    """The text "false" would otherwise turn memory on."""
    node = create_recall_node(light, bank="ann")
    with pytest.raises(InvalidRequest, match="use_memory"):
        node.invoke({"messages": [HumanMessage("Hi!")]}, {"configurable": {"use_memory": "false"}})


def test_a_llamaindex_chat_turns_memory_off_and_on(light: Hindsight) -> None:
    """Messages put meanwhile are in the chat's history but not in the bank."""
    memory = HindsightMemory(light.bank("ann"), session_id="s")

    def turn(said: str) -> None:
        memory.put_messages(
            [ChatMessage(role="user", content=said), ChatMessage(role="assistant", content="Fine.")]
        )

    turn("I keep bees in Porto.")
    memory.use_memory = False
    turn("I have a secret.")
    assert "Porto" not in str(memory.get("Where are my bees?")[-1])
    memory.use_memory = True
    turn("I sold the honey.")
    assert [text for text in texts(light) if text.startswith("user")] == [
        "user: I keep bees in Porto.",
        "user: I sold the honey.",
    ]
    assert "I have a secret." in str(memory.get_all())
