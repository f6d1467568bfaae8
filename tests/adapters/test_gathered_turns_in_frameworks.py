"""`extract=` in LangGraph and LlamaIndex: turns are found at once, and extracted together after a pause or at the end."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory
from stating_model import Stating

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import ObservationConfig
from hindsight_integrations.langgraph import HindsightMiddleware, create_retain_node, create_settle_node
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_model import ScriptedModel

CONFIG: Any = {"configurable": {"thread_id": "t"}}
QUIET = timedelta(minutes=5)


@pytest.fixture
def model() -> Stating:
    return Stating()


@pytest.fixture
def bank(opener: Callable[..., Hindsight], model: Stating, light_config: HindsightConfig) -> MemoryBank:
    config = HindsightConfig(storage=light_config.storage, observations=ObservationConfig("off"))
    return opener(model=model, config=config).bank("ann")


def kinds(bank: MemoryBank) -> list[str]:
    return sorted(unit.kind.value for unit in bank.recall("kayak").units)


def turn(number: int) -> list[Any]:
    return [
        HumanMessage(f"I own kayak {number}.", id=f"q{number}"),
        AIMessage(f"Kayak {number} is fine.", id=f"a{number}"),
    ]


def test_the_retain_node_extracts_the_turns_before_a_pause_together(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    """The event of the turn that extracts them contains their memories and cost."""
    node = create_retain_node(bank, extract="idle")
    graph: Any = StateGraph(MessagesState).add_node("remember", node).add_edge(START, "remember")
    graph = graph.compile(checkpointer=InMemorySaver())
    for number in (1, 2):
        (event,) = graph.stream({"messages": turn(number)}, CONFIG, stream_mode="custom")
        assert (event["calls"], event["queued"], event["created"]) == (0, 1, 0)
    assert kinds(bank) == ["turn"] * 4
    clock.advance(QUIET)
    (event,) = graph.stream({"messages": turn(3)}, CONFIG, stream_mode="custom")
    assert (event["calls"], event["created"]) == (1, 4)
    assert event["tokens_in"] > 0
    assert model.passages == [["q1", "a1", "q2", "a2"]]
    assert kinds(bank) == ["memory"] * 4 + ["turn"] * 2


def test_a_settle_node_ends_a_session(bank: MemoryBank, model: Stating) -> None:
    graph: Any = StateGraph(MessagesState).add_node("remember", create_retain_node(bank, extract="session"))
    graph = graph.add_edge(START, "remember").compile(checkpointer=InMemorySaver())
    for number in (1, 2, 3):
        graph.invoke({"messages": turn(number)}, CONFIG)
    assert model.passages == []
    create_settle_node(bank).invoke({"messages": []}, CONFIG)
    assert model.passages == [["q1", "a1", "q2", "a2", "q3", "a3"]]
    assert kinds(bank) == ["memory"] * 6


def test_an_agents_turns_are_extracted_together(bank: MemoryBank, model: Stating, clock: FrozenClock) -> None:
    """Sync and async runs of one thread wait together."""
    answers = ScriptedModel([AIMessage(f"Kayak {number} is fine.") for number in (1, 2, 3)])
    memory = HindsightMiddleware(bank, extract="idle")
    agent: Any = create_agent(answers, [], middleware=[memory], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("I own kayak 1.", id="q1")]}, CONFIG)
    asyncio.run(agent.ainvoke({"messages": [HumanMessage("I own kayak 2.", id="q2")]}, CONFIG))
    assert kinds(bank) == ["turn"] * 4
    clock.advance(QUIET)
    asyncio.run(agent.ainvoke({"messages": [HumanMessage("I own kayak 3.", id="q3")]}, CONFIG))
    assert [len(passage) for passage in model.passages] == [4]
    assert kinds(bank) == ["memory"] * 4 + ["turn"] * 2


@pytest.mark.parametrize("extract", ["idle", "session"])
def test_a_chats_turns_are_extracted_by_flush(bank: MemoryBank, model: Stating, extract: str) -> None:
    """The chat ends with a question; a memory restored from its serialisation continues with the same option."""
    memory = HindsightMemory(bank, session_id="s", extract=extract)
    for number in (1, 2):
        memory.put(ChatMessage(f"I own kayak {number}.", role="user"))
        memory.put(ChatMessage(f"Kayak {number} is fine.", role="assistant"))
    assert kinds(bank) == ["turn"] * 4
    memory = HindsightMemory.from_dict(memory.to_dict(), chat_store=memory.chat_store)
    memory.put(ChatMessage("Where is kayak 2?", role="user"))
    memory.flush()
    assert [len(passage) for passage in model.passages] == [5]
    assert kinds(bank) == ["memory"] * 5


def test_a_chats_turns_are_extracted_after_a_pause(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    memory = HindsightMemory(bank, session_id="s", extract="idle")
    for number in (1, 2, 3):
        if number == 3:
            clock.advance(QUIET)
        memory.put(ChatMessage(f"I own kayak {number}.", role="user"))
        memory.put(ChatMessage(f"Kayak {number} is fine.", role="assistant"))
    assert [len(passage) for passage in model.passages] == [4]
    assert kinds(bank) == ["memory"] * 4 + ["turn"] * 2


def test_the_blocks_turns_are_extracted_after_a_pause(
    bank: MemoryBank, model: Stating, clock: FrozenClock
) -> None:
    """Messages that leave the short-term memory meanwhile are found, and extracted once, together with the others."""
    block = HindsightMemoryBlock(bank, extract="idle")
    chat = Memory.from_defaults(
        session_id="s",
        memory_blocks=[block],
        tokenizer_fn=str.split,
        token_limit=60,
        token_flush_size=5,
        chat_history_token_ratio=0.5,
    )

    async def talk(*numbers: int) -> None:
        for number in numbers:
            await chat.aput(ChatMessage(f"I own kayak {number}.", role="user"))
            await chat.aput(ChatMessage(f"Kayak {number} is fine.", role="assistant"))
            await chat.aget()

    asyncio.run(talk(1, 2, 3, 4))
    assert kinds(bank) == ["turn"] * 8
    clock.advance(QUIET)
    asyncio.run(talk(5))
    assert [len(passage) for passage in model.passages] == [8]
    assert kinds(bank) == ["memory"] * 8 + ["turn"] * 2
