"""A retain node under retry, resume, replay and fork: every message is remembered once."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import create_retain_node

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t1"}}
TURN = {"messages": [HumanMessage("My kayak is red.", id="m1")]}
SECOND = {"messages": [HumanMessage("My tent is green.", id="m2")]}

SAID = {
    "m1": "Red paint lasts ten years.",
    "m2": "Pegs of steel hold best in sand.",
    "m3": "The harbour opens in April.",
}

Graph = CompiledStateGraph[Any, Any, Any, Any]
Run = Callable[..., Any]


def invoke(graph: Graph, given: Any, config: Any) -> Any:
    return graph.invoke(given, config)


def ainvoke(graph: Graph, given: Any, config: Any) -> Any:
    return asyncio.run(graph.ainvoke(given, config))


@pytest.fixture(params=[invoke, ainvoke])
def run(request: pytest.FixtureRequest) -> Run:
    """The two ways to run a graph."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("alice")


def answer(state: MessagesState) -> dict[str, Any]:
    """The same answer each time, like a model at temperature 0 with a cache; it contains a statement."""
    asked = next(message for message in reversed(state["messages"]) if message.type == "human")
    return {"messages": [AIMessage(SAID[asked.id or ""], id=f"answer-{asked.id}")]}


class Once:
    """Fails on the first call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, update: dict[str, Any]) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 1:
            raise ConnectionError("lost after the memory was written")
        return update


def chat(retain: Any, *then: Any, retry: RetryPolicy | None = None, **compiled: Any) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("retain", retain, retry_policy=retry)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "retain")
    for node in then:
        graph.add_node("then", node)
        graph.add_edge("retain", "then")
    return graph.compile(checkpointer=InMemorySaver(), **compiled)


def before_retain(graph: Graph) -> Any:
    """The checkpoint just before the last retain of the conversation."""
    return next(state.config for state in graph.get_state_history(CONFIG) if state.next == ("retain",))


def test_a_second_attempt_after_the_write_adds_nothing(bank: MemoryBank, run: Run) -> None:
    """A node that is retried because it failed after its write leaves two memories, not four."""
    lost = Once()
    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    graph = chat(create_retain_node(bank) | RunnableLambda(lost), retry=policy)
    run(graph, TURN, CONFIG)
    assert (lost.calls, bank.count()) == (2, 2)


def test_resuming_a_run_that_died_after_the_write_adds_nothing(bank: MemoryBank, run: Run) -> None:
    """After a crash between the memory's commit and the checkpoint, invoke(None) duplicates nothing."""
    lost = Once()
    graph = chat(create_retain_node(bank) | RunnableLambda(lost))
    with pytest.raises(ConnectionError):
        run(graph, TURN, CONFIG)
    assert bank.count() == 2
    run(graph, None, CONFIG)
    assert (lost.calls, bank.count()) == (2, 2)


@pytest.mark.promise("Retaining the same input twice stores one memory.")
def test_replay_from_an_old_checkpoint_adds_nothing(bank: MemoryBank, run: Run) -> None:
    """A replay runs retain again with new checkpoint and task ids; the memories stay the same."""
    graph = chat(create_retain_node(bank))
    run(graph, TURN, CONFIG)
    run(graph, SECOND, CONFIG)
    known = {found.unit.id for found in bank.recall("kayak tent paint pegs").units}
    assert (bank.count(), len(known)) == (4, 4)
    run(graph, None, before_retain(graph))
    assert bank.count() == 4
    assert {found.unit.id for found in bank.recall("kayak tent paint pegs").units} == known


def test_an_interrupt_around_retain_adds_nothing(bank: MemoryBank, run: Run) -> None:
    """A human approval just before or after the node does not make it remember twice."""

    def approve(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("fine?"), id="approval")]}

    graph = chat(create_retain_node(bank), approve, interrupt_before=["retain"])
    run(graph, TURN, CONFIG)
    assert bank.count() == 0
    run(graph, None, CONFIG)
    assert bank.count() == 2
    final = run(graph, Command(resume="yes"), CONFIG)
    assert (final["messages"][-1].text, bank.count()) == ("yes", 2)


def test_the_same_turn_sent_again_adds_nothing(bank: MemoryBank, run: Run) -> None:
    """A client that sends a message with the same id again after a timeout does not duplicate the memory."""
    graph = chat(create_retain_node(bank))
    run(graph, TURN, CONFIG)
    run(graph, TURN, CONFIG)
    assert bank.count() == 2


def test_each_turn_adds_what_it_said_though_the_node_sees_the_whole_history(
    bank: MemoryBank, run: Run
) -> None:
    """Only new messages of a long conversation cost anything; the same words in a new message are a new event."""
    graph = chat(create_retain_node(bank))
    run(graph, TURN, CONFIG)
    run(graph, SECOND, CONFIG)
    assert bank.count() == 4
    run(graph, {"messages": [HumanMessage("My kayak is red.", id="m3")]}, CONFIG)
    assert bank.count() == 6


def test_a_turn_that_was_missed_is_caught_up(bank: MemoryBank, run: Run) -> None:
    """Messages of turns that never reached the node are remembered when it runs next."""
    graph = chat(create_retain_node(bank))
    history = {
        "messages": [
            HumanMessage("My bike is blue.", id="m0"),
            AIMessage("Blue paint lasts ten years.", id="a0"),
            *TURN["messages"],
        ]
    }
    run(graph, history, CONFIG)
    assert bank.count() == 4


def test_equal_ids_in_two_threads_are_two_messages(bank: MemoryBank, run: Run) -> None:
    """Clients that number their messages from one in every conversation lose none of them."""
    graph = chat(create_retain_node(bank))
    run(graph, TURN, CONFIG)
    run(graph, TURN, {"configurable": {"thread_id": "t2"}})
    assert bank.count() == 4


def test_many_runs_of_one_turn_at_once_remember_it_once(bank: MemoryBank) -> None:
    """Workers that process the same turn concurrently, sync and async, leave one memory per message."""
    node = create_retain_node(bank)
    state = {"messages": [*TURN["messages"], AIMessage("Red paint lasts ten years.", id="a1")]}

    def work(number: int) -> None:
        if number % 2:
            asyncio.run(node.ainvoke(state, CONFIG))
        else:
            node.invoke(state, CONFIG)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(12)))
    assert bank.count() == 2
