"""The bank of a LangGraph node: from the node's argument, the run's context or its configurable."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node

STATEMENT = {"messages": [HumanMessage("I own a kayak.")]}


Graph = CompiledStateGraph[Any, Any, Any, Any]


class State(MessagesState):
    memories: list[Memory]


@dataclass
class Context:
    user_id: str | None = None
    bank: str | None = None


def both(memory: Any, context: Any, **options: Any) -> Graph:
    """recall -> retain, with a schema of the run's context; options are passed to both nodes."""
    graph = StateGraph(State, context_schema=context)
    recall, retain = create_recall_node(memory, **options), create_retain_node(memory, **options)
    graph.add_sequence([("recall", recall), ("retain", retain)])
    graph.add_edge(START, "recall")
    return graph.compile()


@pytest.mark.parametrize(
    ("options", "run", "bank"),
    [
        ({}, {"config": {"configurable": {"user_id": "ann"}}}, "ann"),
        ({}, {"config": {"configurable": {"user_id": 42}}}, "42"),
        ({}, {"config": {"configurable": {"user_id": "ann", "bank": "team"}}}, "team"),
        ({}, {"context": Context(user_id="ann")}, "ann"),
        ({}, {"context": Context(user_id="ann", bank="team")}, "team"),
        ({}, {"context": Context(user_id="ann"), "config": {"configurable": {"user_id": "bob"}}}, "ann"),
        ({}, {"context": Context(), "config": {"configurable": {"user_id": "bob"}}}, "bob"),
        ({"bank": "fixed"}, {"context": Context(user_id="ann")}, "fixed"),
        (
            {"bank": lambda state, runtime: f"{runtime.context.user_id}/7"},
            {"context": Context(user_id="ann")},
            "ann/7",
        ),
        ({"bank": lambda state, runtime: state["messages"][0].text}, {}, "I own a kayak."),
    ],
)
def test_the_run_says_whose_memory_it_needs(
    light: Hindsight, options: Any, run: dict[str, Any], bank: str
) -> None:
    """The bank comes from the node's argument, else the run's context, else its configurable, in both nodes."""
    both(light, Context, **options).invoke(STATEMENT, **run)
    assert light.banks() == [bank]
    assert light.bank(bank).count() == 1


def test_a_context_that_is_a_dict_names_the_bank(light: Hindsight) -> None:
    """Contexts declared as a TypedDict work like dataclasses."""
    both(light, dict).invoke(STATEMENT, context={"user_id": "ann"})
    assert light.banks() == ["ann"]


@every_row("given", [{}, {"user_id": None}, {"user_id": "  "}, {"user_id": True}, {"user_id": object()}])
def test_a_run_without_a_bank_fails_early_and_says_what_to_set(
    light: Hindsight, given: dict[str, Any]
) -> None:
    """A missing or invalid user id is an error in both nodes; nothing is stored in a default bank."""
    config: RunnableConfig = {"configurable": {"thread_id": "t", **given}}
    for create in (create_recall_node, create_retain_node):
        with pytest.raises(InvalidRequest, match=r"user_id|non-empty str"):
            create(light).invoke(STATEMENT, config)
        with pytest.raises(InvalidRequest, match=r"user_id|non-empty str"):
            asyncio.run(create(light).ainvoke(STATEMENT, config))
    assert light.banks() == []


def test_wrong_arguments_fail_when_the_node_is_made(light: Hindsight) -> None:
    """A typo is reported at start-up, not in the middle of a conversation."""
    with pytest.raises(InvalidRequest, match="memory: str"):
        create_recall_node("alice")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="already a bank"):
        create_retain_node(light.bank("alice"), bank="bob")
    with pytest.raises(InvalidRequest, match="roles"):
        create_retain_node(light, roles=("user", "human"))
    with pytest.raises(InvalidRequest, match="messages_key"):
        create_recall_node(light, messages_key="history").invoke(
            STATEMENT, {"configurable": {"user_id": "ann"}}
        )
