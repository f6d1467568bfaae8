"""The bank of a run, for both nodes and both ways of running: the authenticated user takes precedence over the client's data."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node

BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])


class State(MessagesState):
    memories: list[Memory]


class Context(TypedDict, total=False):
    user_id: str
    bank: str


def graph_of(node: Any) -> Any:
    graph: Any = StateGraph(State, context_schema=Context)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver())


def run(
    graph: Any, face: str, context: Any, configurable: Any, text: str = "What colour is my kayak?"
) -> Any:
    given: Any = {"messages": [HumanMessage(text)]}
    config: Any = {"configurable": {"thread_id": "t1", **configurable}}
    if face == "async":
        return asyncio.run(graph.ainvoke(given, config, context=context))
    return graph.invoke(given, config, context=context)


AUTH = {"langgraph_auth_user_id": "ann"}

WHO: list[Any] = [
    # expected bank, context, configurable
    ("ann", {}, {**AUTH}),
    ("ann", {}, {**AUTH, "user_id": "eve"}),
    ("ann", {}, {**AUTH, "bank": "eve"}),
    ("ann", {"user_id": "eve"}, {**AUTH}),
    ("ann", {"bank": "eve"}, {**AUTH, "user_id": "eve", "bank": "eve"}),
    ("bob", {"user_id": "bob"}, {"user_id": "eve"}),
    ("bob", {"user_id": "bob"}, {"bank": "eve"}),
    ("bob", {}, {"user_id": "bob"}),
    ("bob", {}, {"user_id": "eve", "bank": "bob"}),
    ("bob", {}, {"user_id": "bob", "langgraph_auth_user_id": None}),
]
BANKS = ("ann", "bob", "eve")


@BOTH_FACES
@pytest.mark.parametrize(("bank", "context", "configurable"), WHO)
def test_a_node_remembers_for_the_one_who_signed_in(
    light: Hindsight, face: str, bank: str, context: Any, configurable: Any
) -> None:
    """Authenticated user, then context, then configurable: a client that names somebody else still gets its own memory."""
    run(graph_of(create_retain_node(light)), face, context, configurable, "My kayak is red.")
    assert light.banks() == [bank]
    assert light.bank(bank).count() == 1


@BOTH_FACES
@every_row(("bank", "context", "configurable"), WHO)
def test_a_node_recalls_for_the_one_who_signed_in(
    light: Hindsight, face: str, bank: str, context: Any, configurable: Any
) -> None:
    """A user id in a request gives nobody access to another's memory."""
    for name in BANKS:
        light.bank(name).retain(f"The kayak of {name}.")
    found = run(graph_of(create_recall_node(light)), face, context, configurable)["memories"]
    assert [memory["text"] for memory in found] == [f"The kayak of {bank}."]


@BOTH_FACES
@every_row("create", [create_recall_node, create_retain_node])
@every_row("nothing", [None, "", "  ", False, [], {}, object()])
def test_a_resolver_that_returns_nothing_is_an_error_of_both_nodes(
    light: Hindsight, face: str, create: Any, nothing: Any
) -> None:
    """A function that finds no user is an error, and no bank is created."""
    graph = graph_of(create(light, bank=lambda state, runtime: nothing))
    with pytest.raises(InvalidRequest, match="bank"):
        run(graph, face, {"user_id": "bob"}, {"user_id": "bob"})
    assert light.banks() == []


@BOTH_FACES
@every_row("create", [create_recall_node, create_retain_node])
def test_an_error_of_the_users_own_resolver_is_the_runs(light: Hindsight, face: str, create: Any) -> None:
    """A bug in the program's function is not treated as a memory failure."""
    graph = graph_of(create(light, bank=lambda state, runtime: 1 // 0))
    with pytest.raises(ZeroDivisionError):
        run(graph, face, {}, {})


@BOTH_FACES
@every_row("create", [create_recall_node, create_retain_node])
def test_the_way_out_of_time_travel_that_the_error_names_works(
    light: Hindsight, face: str, create: Any
) -> None:
    """`invoke(None, snapshot.config)` fails with the advice to merge the user id into snapshot.config; merged, the run continues."""
    graph = graph_of(create(light))
    run(graph, face, {}, {"user_id": "ann"}, "My kayak is red.")
    config: Any = {"configurable": {"thread_id": "t1"}}
    snapshot = next(s for s in graph.get_state_history(config) if s.next == ("node",))

    def go_on(config: Any) -> Any:
        return asyncio.run(graph.ainvoke(None, config)) if face == "async" else graph.invoke(None, config)

    with pytest.raises(InvalidRequest, match="Add it") as caught:
        go_on(snapshot.config)
    assert "snapshot.config" in str(caught.value)
    assert "user_id" in str(caught.value)
    go_on({"configurable": {**snapshot.config["configurable"], "user_id": "ann"}})
    assert light.banks() in ([], ["ann"])
    if create is create_retain_node:
        assert light.bank("ann").count() == 1
