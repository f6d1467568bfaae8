"""The LangGraph nodes: one node for invoke and ainvoke, clean messages, and nothing lost."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import RetryPolicy

from hindsight_integrations import (
    AsyncHindsight,
    EngineClosed,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
    ModelUnavailable,
)
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node, format_memories
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
ALICE: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "alice"}}
LATER: RunnableConfig = {"configurable": {"thread_id": "t2", "user_id": "alice"}}
BOB: RunnableConfig = {"configurable": {"thread_id": "t3", "user_id": "bob"}}
STATEMENT = "My sister Ana lives in Lisbon."
QUESTION = "Where does my sister Ana live?"

Graph = CompiledStateGraph[Any, Any, Any, Any]


class State(MessagesState):
    memories: list[Memory]


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("Noted.")]}


def chat(memory: Any, *, relevance: str = "likely", include_core: bool = True, **options: Any) -> Graph:
    """recall -> answer -> retain, with any memory object; options are passed to both nodes."""
    graph = StateGraph(State)
    steps: list[tuple[str, Any]] = [
        ("recall", create_recall_node(memory, relevance=relevance, include_core=include_core, **options)),
        ("answer", answer),
        ("retain", create_retain_node(memory, roles="user", **options)),
    ]
    graph.add_sequence(steps)
    graph.add_edge(START, "recall")
    return graph.compile(checkpointer=InMemorySaver())


def says(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, **fields)]}


def texts(state: dict[str, Any]) -> list[str]:
    return [memory["text"] for memory in state["memories"]]


def retained(memory: MemoryBank, *messages: Any, **options: Any) -> list[str]:
    """The memories that a retain node with these messages leaves in a bank."""
    create_retain_node(memory, **options).invoke({"messages": list(messages)})
    return sorted(found.unit.text for found in memory.recall("kayak").units)


def engine_of(light: Hindsight) -> Hindsight:
    return light


def async_engine_of(light: Hindsight) -> AsyncHindsight:
    return light.asynchronous


def bank_of(light: Hindsight) -> Any:
    return light.bank("alice")


def async_bank_of(light: Hindsight) -> Any:
    return light.bank("alice").asynchronous


EVERY_MEMORY = pytest.mark.parametrize("face", [engine_of, async_engine_of, bank_of, async_bank_of])


@EVERY_MEMORY
def test_either_api_of_an_engine_or_a_bank_serves_invoke_and_ainvoke(
    light: Hindsight, face: Callable[..., Any]
) -> None:
    """Every memory object works with both ways of running the graph, and they share memories."""
    graph = chat(face(light))
    assert texts(graph.invoke(says(STATEMENT), ALICE)) == []
    assert texts(asyncio.run(graph.ainvoke(says(QUESTION), LATER))) == [f"user: {STATEMENT}"]
    assert f"user: {STATEMENT}" in texts(
        graph.invoke(says(QUESTION), {"configurable": {"thread_id": "t9", "user_id": "alice"}})
    )


def test_sync_and_async_recall_the_same(light: Hindsight) -> None:
    """After a change from invoke to ainvoke, memories, scores and order are the same."""
    light.bank("alice").retain(
        [{"role": "user", "content": f"Fact {n} about kayak number {n}."} for n in range(6)]
    )
    node = create_recall_node(light)
    state = says("Tell me a fact about kayak number 3")
    found = node.invoke(state, ALICE)
    assert found == asyncio.run(node.ainvoke(state, ALICE))
    assert len(found["memories"]) == 6
    assert found["memories"][0]["text"] == "user: Fact 3 about kayak number 3."


def test_one_graph_works_from_many_loops_threads_and_inside_a_running_loop(light: Hindsight) -> None:
    """Notebooks, web servers and worker threads can share one compiled graph."""
    graph = chat(light)
    graph.invoke(says(STATEMENT), ALICE)

    def ask_in_a_loop(thread: int) -> list[str]:
        config: RunnableConfig = {"configurable": {"thread_id": f"loop{thread}", "user_id": "alice"}}
        return texts(asyncio.run(graph.ainvoke(says("Where is sister Ana?"), config)))

    async def invoke_inside_a_loop() -> list[str]:
        return texts(graph.invoke(says("Where is sister Ana?"), LATER))

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask_in_a_loop, range(4)))
    answers += [ask_in_a_loop(9), asyncio.run(invoke_inside_a_loop())]
    assert all(f"user: {STATEMENT}" in answer for answer in answers)


def test_an_async_engine_closed_under_a_sync_graph_says_so(light: Hindsight) -> None:
    """After the async engine is closed, invoke raises EngineClosed instead of hanging, if failures are to be raised."""
    graph = chat(light.asynchronous, on_error="raise")
    asyncio.run(light.asynchronous.close())
    with pytest.raises(EngineClosed):
        graph.invoke(says(STATEMENT), ALICE)


def test_messages_stay_clean_and_old_memories_go(light: Hindsight) -> None:
    """Over several turns, the messages contain only the conversation, and the memories are those of the last turn."""
    graph = chat(light, include_core=False)
    graph.invoke(says(STATEMENT), ALICE)
    second = graph.invoke(says(QUESTION), ALICE)
    assert texts(second) == [f"user: {STATEMENT}"]
    third = graph.invoke(says("Quantum chromodynamics?"), ALICE)
    assert [m.text for m in third["messages"]] == [
        STATEMENT,
        "Noted.",
        QUESTION,
        "Noted.",
        "Quantum chromodynamics?",
        "Noted.",
    ]
    assert third["memories"] == []


def test_memories_survive_any_checkpointer(light: Hindsight, caplog: pytest.LogCaptureFixture) -> None:
    """Memories in the state are plain JSON with all fields, and the checkpointer prints no warning."""
    graph = chat(light, relevance="all")
    graph.invoke(says("I bought a kayak on 2024-06-09."), ALICE)
    with caplog.at_level(logging.WARNING):
        graph.invoke(says("When did I buy a kayak?"), ALICE)
        (memory,) = graph.get_state(ALICE).values["memories"]
    assert json.loads(json.dumps(memory)) == memory
    assert caplog.records == []
    assert UUID(memory.pop("id"))
    assert memory.pop("score") > 0
    assert memory.pop("channels").items() >= {"semantic": 1, "keyword": 1}.items()
    assert memory == {
        "kind": "memory",
        "text": "user: I bought a kayak on 2024-06-09.",
        "fact_type": "world",
        "occurred_start": "2024-06-09T00:00:00+00:00",
        "occurred_end": "2024-06-10T00:00:00+00:00",
        "mentioned_at": "2024-06-12T09:00:00+00:00",
        "valid": True,
        "confidence": None,
        "when": "happened on Sunday, June 9, 2024",
        "reason": "core",
    }


def test_the_prompt_text_dates_memories_and_keeps_each_on_one_line() -> None:
    """A prompt shows when things happened or were said, and a memory with line breaks cannot look like two."""
    undated: Memory = {
        "id": "1",
        "kind": "memory",
        "text": "Likes\n- tuna",
        "fact_type": "world",
        "occurred_start": None,
        "occurred_end": None,
        "mentioned_at": "2024-06-12T09:00:00+00:00",
        "score": 1.0,
        "channels": {},
    }
    dated: Memory = {
        **undated,
        "text": "Moved.",
        "occurred_start": "2024-05-01T00:00:00+00:00",
        "occurred_end": "2024-06-01T00:00:00+00:00",
    }
    shown = format_memories([dated, undated])
    assert shown == "- Moved. (happened in May 2024)\n- Likes - tuna (mentioned on Wednesday, June 12, 2024)"
    assert format_memories([]) == ""


@pytest.mark.promise("No bank sees another bank's memories.")
def test_users_do_not_see_each_others_memories(light: Hindsight) -> None:
    """Alice's memories are not recalled for Bob in the same graph."""
    graph = chat(light)
    graph.invoke(says(STATEMENT), ALICE)
    assert texts(graph.invoke(says(QUESTION), BOB)) == []
    assert texts(graph.invoke(says(QUESTION), LATER)) == [f"user: {STATEMENT}"]


def test_only_words_of_people_and_agents_are_retained(light: Hindsight) -> None:
    """System prompts, tool calls and tool results are not memories; a turn without text is not an error."""
    call = AIMessage("", tool_calls=[{"name": "find", "args": {}, "id": "c1"}])
    silent = [SystemMessage("You sell a kayak."), call, ToolMessage("kayak: 3", tool_call_id="c1")]
    assert retained(light.bank("silent"), *silent) == []
    spoken = [HumanMessage("I want a kayak."), *silent, AIMessageChunk(content="Take this kayak.")]
    assert retained(light.bank("spoken"), *spoken) == ["assistant: Take this kayak.", "user: I want a kayak."]
    assert retained(light.bank("agent"), *spoken, roles=("assistant",)) == ["assistant: Take this kayak."]


def test_what_is_retained_carries_time_thread_context_and_tags(light: Hindsight) -> None:
    """Memories have their time, their conversation and the caller's tags."""
    told = {"messages": [HumanMessage("A red kayak.", additional_kwargs={"timestamp": "2023-01-05T08:00"})]}
    create_retain_node(light, context="shop chat", tags=["shop"]).invoke(told, ALICE)
    create_retain_node(light).invoke(says("A blue kayak."), ALICE)
    found = {unit.unit.text: unit.unit for unit in light.bank("alice").recall("kayak").units}
    red, blue = found["user: A red kayak."], found["user: A blue kayak."]
    assert (red.mentioned_at, red.thread, red.context, red.tags) == (
        datetime(2023, 1, 5, 8, tzinfo=UTC),
        "t1",
        "shop chat",
        ("shop",),
    )
    assert blue.mentioned_at == datetime(2024, 6, 12, 9, tzinfo=UTC)


def test_the_question_is_what_the_user_said_last_and_counts_days_from_then(light: Hindsight) -> None:
    """ "Yesterday" in a message of last year means the day before that message; other speakers' messages are not the question."""
    light.bank("alice").retain(
        [
            {"role": "user", "content": "Bought a kayak.", "timestamp": "2023-03-01T09:00"},
            {"role": "user", "content": "Bought a tent.", "timestamp": "2024-06-11T09:00"},
        ]
    )
    asked = HumanMessage("What was bought yesterday?", additional_kwargs={"timestamp": "2023-03-02T10:00"})
    node = create_recall_node(light, k=1)
    assert texts(node.invoke({"messages": [asked, AIMessage("A tent?")]}, ALICE)) == ["user: Bought a kayak."]
    assert texts(node.invoke(says("What was bought yesterday?"), ALICE)) == ["user: Bought a tent."]


def test_recall_copes_with_no_question_and_with_a_very_long_one(light: Hindsight) -> None:
    """A turn that the agent started recalls nothing; a pasted document does not break the conversation."""
    light.bank("alice").retain("Thunder is a red kayak.")
    node = create_recall_node(light)
    assert node.invoke({"messages": [AIMessage("Hello!")]}, ALICE) == {"memories": []}
    assert node.invoke({"messages": []}, ALICE) == {"memories": []}
    assert texts(node.invoke(says("kayak " * 5000), ALICE)) == ["Thunder is a red kayak."]


def test_recall_options_reach_the_engine(light: Hindsight) -> None:
    """Keys, limits, tags and networks passed to the node are used."""
    bank = light.bank("alice")
    bank.retain(
        [
            {"role": "user", "content": "My kayak is red."},
            {"role": "assistant", "content": "Your kayak is fast."},
        ]
    )
    bank.retain("The club kayak is green.", tags=["club"])

    def recalled(**options: Any) -> set[str]:
        state = {"chat": [{"role": "user", "content": "kayak"}]}
        found = create_recall_node(light, messages_key="chat", output_key="known", **options).invoke(
            state, ALICE
        )
        return {memory["text"] for memory in found["known"]}

    assert len(recalled()) == 3
    assert len(recalled(k=2)) == 2
    assert recalled(types=["experience"]) == {"assistant: Your kayak is fast."}
    assert recalled(tags=["club"], tags_match="any_strict") == {"The club kayak is green."}
    assert recalled(max_tokens=1) == set()
    with pytest.raises(InvalidRequest, match="budget"):
        recalled(budget="huge")


def test_a_model_that_is_down_is_retried_by_langgraphs_default_policy(
    opener: Callable[..., Hindsight],
) -> None:
    """With a plain RetryPolicy, a node survives one failure of the model, and the turn is remembered once."""
    fact = {"facts": [{"what": "Alice owns a red kayak.", "fact_type": "world", "sources": ["m1"]}]}
    model = ScriptedModel([ConnectionError("refused"), fact])
    engine = opener(model=model, config=LIGHT)
    graph = StateGraph(MessagesState)
    patient = RetryPolicy(initial_interval=0.001, jitter=False)
    graph.add_node("retain", create_retain_node(engine, on_error="raise"), retry_policy=patient)
    graph.add_edge(START, "retain")
    compiled: Graph = graph.compile()
    compiled.invoke(says("I own a red kayak.", id="m1"), ALICE)
    assert (model.calls, engine.bank("alice").count()) == (2, 1)


def test_errors_keep_their_types(opener: Callable[..., Hindsight]) -> None:
    """A caller can distinguish a failing model from an invalid request, and LangGraph retries only the former."""
    retried: Any = RetryPolicy().retry_on
    assert retried(ModelUnavailable("m", "down"))
    assert not retried(InvalidRequest("bank", "none", "Set it."))
    graph = chat(opener(model=ScriptedModel([ConnectionError("refused")]), config=LIGHT), on_error="raise")
    with pytest.raises(ModelUnavailable):
        graph.invoke(says(STATEMENT), ALICE)


def test_memory_outlives_the_process_on_real_backends(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """With Chroma and Lucene on disk, a graph with a reopened engine remembers the earlier conversation."""
    first = opener(tmp_path / "memory")
    chat(first).invoke(says(STATEMENT), ALICE)
    first.close()
    second = opener(tmp_path / "memory")
    assert second.doctor().backends.items() >= {"vectors": "chroma", "keywords": "Lucene"}.items()
    assert texts(asyncio.run(chat(second).ainvoke(says(QUESTION), LATER))) == [f"user: {STATEMENT}"]


def test_a_streamed_reflection_is_no_message_of_the_graph() -> None:
    """A graph that streams messages shows those of its nodes, not the pieces of an answer with its line of sources."""
    with Hindsight.open(
        ":memory:", config=LIGHT, model=ScriptedModel(["In Lisbon.\nSOURCES: 1"])
    ) as hindsight:
        bank = hindsight.bank("alice")
        bank.retain(STATEMENT, facts=[{"what": STATEMENT}])

        def reflecting(state: MessagesState) -> dict[str, Any]:
            *_, last = bank.reflect_stream(QUESTION, form_opinions=False)
            assert last.reflection is not None
            return {"messages": [AIMessage(last.reflection.text)]}

        graph = StateGraph(MessagesState)
        graph.add_node("reflect", reflecting)
        graph.add_edge(START, "reflect")
        compiled: Graph = graph.compile()
        events: Any = compiled.stream(says(QUESTION), stream_mode="messages")
        shown = [str(message.text) for message, _ in events]
    assert shown == ["In Lisbon."]
