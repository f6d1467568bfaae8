"""The retain node beyond a plain turn: forks, tools, failures of the memory, and its events."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import create_retain_node, create_settle_node
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
CONFIG: Any = {"configurable": {"thread_id": "t"}}
KAYAK = HumanMessage("I own a red kayak.", id="m1")
FACT = {"facts": [{"what": "Ann owns a red kayak.", "fact_type": "world", "sources": ["m1"]}]}

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Plain(TypedDict):
    messages: list[Any]


def remembering(memory: Any, schema: Any = MessagesState, **options: Any) -> Graph:
    """A graph whose only node retains."""
    graph: Any = StateGraph(schema).add_node("remember", create_retain_node(memory, **options))
    compiled: Graph = graph.add_edge(START, "remember").compile(checkpointer=InMemorySaver())
    return compiled


def said(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def events(graph: Graph, given: Any) -> list[Any]:
    return list(graph.stream(given, CONFIG, stream_mode="custom"))


def valid(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units if unit.closed_at is None)


def test_a_turn_is_told_as_an_event_without_its_words(light: Hindsight) -> None:
    """A stream shows the ids of the new memories; in the next turn, only those of that turn."""
    graph, bank = remembering(light.bank("ann")), light.bank("ann")
    (first,) = events(graph, said(KAYAK))
    assert first == {
        "type": "hindsight",
        "kind": "retained",
        "bank": "ann",
        "units": [unit.id for unit in bank.units().units],
        "created": 1,
        "superseded": [],
        "restored": [],
        "queued": 0,
        "calls": 0,
        "tokens_in": 0,
        "tokens_out": 0,
        "tokens_cached": 0,
    }
    (second,) = events(graph, said(HumanMessage("It leaks.", id="m2")))
    assert second["created"] == 1


def test_a_regenerated_answer_takes_the_place_of_the_first_and_comes_back_with_it(light: Hindsight) -> None:
    """The rejected answer is not a memory any more; `on_fork="keep"` keeps it."""
    for on_fork, left in (("supersede", ["assistant: Blue suits you."]), ("keep", None)):
        bank = light.bank(on_fork)
        graph = remembering(bank, on_fork=on_fork)
        graph.invoke(said(KAYAK, AIMessage("Red suits you.", id="a1")), CONFIG)
        last = events(graph, said(RemoveMessage(id="a1"), AIMessage("Blue suits you.", id="a2")))[-1]
        assert len(last["superseded"]) == (on_fork == "supersede")
        both = ["assistant: Blue suits you.", "assistant: Red suits you."]
        assert valid(bank) == [*(left or both), "user: I own a red kayak."]


def test_trimming_the_state_changes_no_memory(light: Hindsight) -> None:
    bank = light.bank("ann")
    graph = remembering(bank)
    graph.invoke(
        said(KAYAK, AIMessage("Red paint lasts ten years.", id="a1"), HumanMessage("It leaks.", id="m2")),
        CONFIG,
    )
    graph.invoke(
        said(RemoveMessage(id="m1"), RemoveMessage(id="a1"), HumanMessage("Badly.", id="m3")), CONFIG
    )
    assert valid(bank) == [
        "assistant: Red paint lasts ten years.",
        "user: Badly.",
        "user: I own a red kayak.",
        "user: It leaks.",
    ]


def test_runs_without_a_thread_drop_nothing_of_each_other(light: Hindsight) -> None:
    """Conversations without a thread that begin with the same words are not forks of one another."""
    bank = light.bank("ann")
    node = create_retain_node(bank)
    node.invoke(said(("user", "It rains."), ("user", "My kayak is red.")))
    node.invoke(said(("user", "It rains."), ("user", "My tent is green.")))
    assert valid(bank)[1:] == ["user: My kayak is red.", "user: My tent is green."]


def test_states_that_hold_other_things_than_messages_are_read(light: Hindsight) -> None:
    """Dicts in OpenAI's form, pairs, texts, and chunks of streamed messages are read; a call without text is skipped."""
    bank = light.bank("ann")
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    held = [
        ("user", "My kayak is red."),
        "My tent is green.",
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "Three tents.", "tool_call_id": "c1"},
        AIMessageChunk(content="Take this tent.", id="a1"),
    ]
    remembering(bank, Plain, roles=("user", "assistant", "tool")).invoke(said(*held), CONFIG)
    assert valid(bank) == [
        "assistant: Take this tent.",
        "tool find: find({}) returned: Three tents.",
        "user: My kayak is red.",
        "user: My tent is green.",
    ]
    with pytest.raises(InvalidRequest, match="int is not a message"):
        remembering(bank, Plain).invoke(said(3), CONFIG)


def test_what_tools_gave_back_is_retained_where_they_are_listened_to(light: Hindsight) -> None:
    bank = light.bank("ann")
    call = AIMessage("", id="a1", tool_calls=[{"name": "find", "args": {"what": "kayak"}, "id": "c1"}])
    turn = said(KAYAK, call, ToolMessage("k" * 5_000_000, tool_call_id="c1", id="r1"))
    remembering(bank, roles=("tool",)).invoke(turn, CONFIG)
    (text,) = valid(bank)
    assert text.startswith('tool find: find(what="kayak") returned: kkk')
    assert len(text) < 4_100


def test_lists_of_subgraphs_have_logs_of_their_own_and_memories_know_where_they_are_from(
    light: Hindsight,
) -> None:
    """The messages of a subgraph are not a fork of the conversation around it, in any turn."""
    bank = light.bank("ann")
    node = create_retain_node(bank)
    inner: Any = StateGraph(MessagesState).add_node("retain", node).add_edge(START, "retain").compile()

    def research(state: MessagesState) -> dict[str, Any]:
        turn = len(state["messages"])
        inner.invoke(said(HumanMessage(f"Look up kayaks, part {turn}.", id=f"r{turn}")))
        return {}

    graph: Any = StateGraph(MessagesState).add_node("research", research).add_node("retain", node)
    chat = graph.add_edge(START, "research").add_edge("research", "retain").compile(InMemorySaver())
    for number in (1, 2):
        chat.invoke(said(HumanMessage(f"Message {number}.", id=f"m{number}")), {**CONFIG, "run_id": None})
    found = {unit.text: dict(unit.metadata) for unit in bank.units().units if unit.closed_at is None}
    assert found == {
        "user: Look up kayaks, part 1.": {"checkpoint_ns": "research"},
        "user: Look up kayaks, part 2.": {"checkpoint_ns": "research"},
        "user: Message 1.": {},
        "user: Message 2.": {},
    }


def test_a_model_that_is_down_costs_nobody_the_answer(opener: Callable[..., Hindsight]) -> None:
    """The turn is found verbatim at once, and extracted when the model is back, for example by a settle node."""
    engine = opener(model=ScriptedModel([ConnectionError("refused"), FACT]), config=LIGHT)
    bank = engine.bank("ann")
    (event,) = events(remembering(bank), said(KAYAK))
    assert (event["kind"], event["queued"]) == ("retained", 1)
    (turn,) = bank.recall("kayak").units
    assert (turn.kind, turn.unit.sources) == ("turn", ("m1",))
    bank.tasks.retry()
    graph: Any = StateGraph(MessagesState).add_node("settle", create_settle_node(engine, bank="ann"))
    (event,) = events(graph.add_edge(START, "settle").compile(), said())
    assert event == {
        "type": "hindsight",
        "kind": "settled",
        "bank": "ann",
        "done": 1,
        "failed": 0,
        "created": 1,
    }
    assert valid(bank) == ["Ann owns a red kayak."]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_closed_engine_is_one_warning_and_the_next_turn_remembers_both(
    opener: Callable[..., Hindsight], tmp_path: Path, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The user gets the answer, the stream shows what is missing, and no message of the thread is lost permanently."""
    engine, saver = opener(tmp_path / "memory", config=LIGHT), InMemorySaver()

    def turn(memory: Hindsight, message: HumanMessage) -> list[Any]:
        graph: Any = StateGraph(MessagesState).add_node("remember", create_retain_node(memory, bank="ann"))
        compiled = graph.add_edge(START, "remember").compile(saver)
        if way == "invoke":
            return list(compiled.stream(said(message), CONFIG, stream_mode="custom"))

        async def streamed() -> list[Any]:
            return [event async for event in compiled.astream(said(message), CONFIG, stream_mode="custom")]

        return asyncio.run(streamed())

    engine.close()
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        (event,) = turn(engine, KAYAK)
    assert (event["kind"], event["node"], event["error"]) == ("warning", "remember", "EngineClosed")
    assert "Open a new one" in event["remedy"]
    assert len(caplog.records) == 1
    assert "kayak" not in caplog.text
    again = opener(tmp_path / "memory", config=LIGHT)
    turn(again, HumanMessage("It leaks.", id="m2"))
    assert valid(again.bank("ann")) == ["user: I own a red kayak.", "user: It leaks."]


def test_a_wrong_argument_fails_when_the_node_is_made(light: Hindsight) -> None:
    """The error is raised at start-up, not in the middle of a conversation."""
    wrong: dict[str, Any] = {
        "on_error": "ignore",
        "on_fork": "branch",
        "timeout_s": 0,
        "tags": "shop",
        "roles": ("system",),
        "context": None,
    }
    for name, value in wrong.items():
        with pytest.raises(InvalidRequest, match="timeout_s" if name == "timeout_s" else name):
            create_retain_node(light, **{name: value})
    with pytest.raises(InvalidRequest, match="on_error"):
        create_settle_node(light, on_error="ignore")


def test_background_needs_somebody_who_extracts(opener: Callable[..., Hindsight]) -> None:
    """Without a worker, the node cannot be created for an engine or a bank; the error says how to get one."""
    engine = opener(config=LIGHT)
    for memory in (engine, engine.asynchronous, engine.bank("ann"), engine.bank("ann").asynchronous):
        with pytest.raises(InvalidRequest, match=r"background.*worker=True"):
            create_retain_node(memory, background=True)


def test_in_the_background_the_turn_is_committed_and_the_worker_extracts_it(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """The node returns without a model call; the message is found meanwhile, and the fact later."""
    model = ScriptedModel([FACT])
    engine = opener(tmp_path / "memory", model=model, config=LIGHT, worker="elsewhere")
    bank = engine.bank("ann")
    (event,) = events(remembering(bank, background=True), said(KAYAK))
    assert (model.calls, event["queued"]) == (0, 1)
    assert [found.kind for found in bank.recall("kayak").units] == ["turn"]
    bank.tasks.settle()
    assert valid(bank) == ["Ann owns a red kayak."]
