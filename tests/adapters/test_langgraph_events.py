"""Events of a run's memory in the stream mode "custom"."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node

BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])
ANN: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


class State(MessagesState):
    memories: list[Memory]


def chat(memory: Any, **options: Any) -> Any:
    graph = StateGraph(State)

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted, Quasimodo.")]}

    steps: list[Any] = [
        ("recall", create_recall_node(memory, relevance="all", **options)),
        ("answer", answer),
        ("retain", create_retain_node(memory, roles="user", **options)),
    ]
    graph.add_sequence(steps)
    graph.add_edge(START, "recall")
    return graph.compile(checkpointer=InMemorySaver())


def events(graph: Any, face: str, *messages: Any) -> list[dict[str, Any]]:
    given: Any = {"messages": list(messages)}

    async def over() -> list[Any]:
        return [event async for event in graph.astream(given, ANN, stream_mode="custom")]

    return asyncio.run(over()) if face == "async" else list(graph.stream(given, ANN, stream_mode="custom"))


TURNS: list[Any] = [
    # expected (kind, number of units) of the second turn, its messages
    ([("recalled", 1), ("retained", 1)], [HumanMessage("The kayak is red.", id="m2")]),
    ([("recalled", 1), ("retained", 0)], [HumanMessage("My kayak is called Thunder.", id="m1")]),
]


@BOTH_FACES
@pytest.mark.parametrize(("expected", "messages"), TURNS)
def test_a_turn_tells_what_was_recalled_and_retained(
    light: Hindsight, face: str, expected: list[tuple[str, int]], messages: list[Any]
) -> None:
    """Events come in the order of the nodes, with the bank and the ids of memories, but no text."""
    graph = chat(light)
    first = events(graph, face, HumanMessage("My kayak is called Thunder.", id="m1"))
    second = events(graph, face, *messages)
    told = [
        event
        for event in second
        if event["kind"] != "retained" or event["units"] or dict(expected)["retained"] == 0
    ]
    assert [(event["kind"], len(event["units"])) for event in told] == expected
    for event in (*first, *second):
        assert (event["type"], event["bank"]) == ("hindsight", "ann")
        assert json.loads(json.dumps(event)) == event
        assert not {"Thunder", "kayak", "Quasimodo"} & set(json.dumps(event).replace('"', " ").split())
        assert "Thunder" not in str(event)


@BOTH_FACES
def test_a_recall_that_finds_nothing_is_told_too(light: Hindsight, face: str) -> None:
    """A stream shows that memory was searched without a result."""
    told = events(chat(light), face, HumanMessage("Whose kayak?", id="m1"))
    assert [list(event["units"]) for event in told if event["kind"] == "recalled"] == [[]]


@BOTH_FACES
def test_the_units_told_are_those_of_the_bank(light: Hindsight, face: str) -> None:
    """The ids of an event can be looked up: retained ones first, recalled ones in the next turn, with scores and channels."""
    graph = chat(light)
    retained = events(graph, face, HumanMessage("My kayak is red.", id="m1"))
    (unit,) = light.bank("ann").iterate_units()
    recalled = events(graph, face, HumanMessage("Whose kayak?", id="m2"))
    assert [list(e["units"]) for e in retained if e["kind"] == "retained"] == [[unit.id]]
    (found,) = [event for event in recalled if event["kind"] == "recalled"]
    assert list(found["units"]) == [unit.id]
    assert found["scores"][0] > 0
    assert "semantic" in found["channels"][0]


@BOTH_FACES
def test_a_fork_tells_what_it_superseded_and_restored(light: Hindsight, face: str) -> None:
    """A regenerated turn names the memories that it closed."""
    graph = chat(light)
    events(graph, face, HumanMessage("I own a kayak.", id="m1"))
    events(graph, face, HumanMessage("My sister is Ines.", id="m1b"))
    events(graph, face, HumanMessage("My canoe is green.", id="m2"))
    (canoe,) = [unit for unit in light.bank("ann").iterate_units() if "canoe" in unit.text]
    told = events(graph, face, RemoveMessage(id="m2"), HumanMessage("My canoe is blue.", id="m3"))
    (retained,) = [event for event in told if event["kind"] == "retained"]
    assert list(retained["superseded"]) == [canoe.id]
    assert list(retained["restored"]) == []
