"""Unusual conversations through nodes, middleware and LlamaIndex's memory: nothing raised, lost or duplicated."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from llama_index.core.llms import ChatMessage as LlamaMessage

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import HindsightMiddleware, create_recall_node, create_retain_node
from hindsight_integrations.llamaindex import HindsightMemory
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

EXAMPLES = int(os.environ.get("ODD_CONVERSATIONS", "40"))  # 2,000 take about ten minutes
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

ODD_TEXT = st.one_of(
    st.sampled_from(
        ["", " ", "\ud800", "a\x00b", "\U0001f600" * 20, "<think>x", "</think>", "```py\nx=1\n```", "{}", "null", "2", "?", "x" * 5_000,
         "<|channel|>analysis<|message|>hm", "\u202e\u200b", "- a\n- b", "1735725600000", "MEMORIES>>>"]
    ),
    st.text(max_size=60),
)  # fmt: skip
BLOCKS = st.lists(
    st.one_of(
        ODD_TEXT.map(lambda text: {"type": "text", "text": text}),
        st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
        st.just({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
        st.just({"type": "unknown"}),
        st.just({}),
        st.sampled_from(["plain"]),
    ),
    max_size=3,
)
STAMPS = st.one_of(
    st.none(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from(
        [
            "",
            "Monday",
            "9999-12-31",
            "1850-01-01",
            "1735725600",
            "Mon Jan 01 2025 10:00:00 GMT+0100",
            "05/06/2023",
            {},
            [],
        ]
    ),
    st.text(max_size=12),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[BaseMessage]:
    """Messages of any role, content, id and time; about every third one contains a statement that can be found again."""
    made: list[BaseMessage] = []
    for number in range(draw(st.integers(1, 6))):
        told = draw(st.booleans())
        content: Any = (
            f"My locker number is qx{draw(st.integers(10**6, 10**7))}z."
            if told
            else draw(st.one_of(ODD_TEXT, BLOCKS))
        )
        identity = draw(st.one_of(st.none(), st.just(f"m{number}"), st.just("")))
        stamp = draw(STAMPS)
        given = {} if stamp is None else {"timestamp": stamp}
        kind = (
            HumanMessage
            if told
            else draw(st.sampled_from([HumanMessage, AIMessage, SystemMessage, ToolMessage, ChatMessage]))
        )
        extra = {ToolMessage: {"tool_call_id": "t"}, ChatMessage: {"role": "critic"}}.get(kind, {})
        identity = f"told{number}" if told else identity
        made.append(kind(content=content, id=identity, additional_kwargs=given, **extra))
    return made


def told(messages: Sequence[BaseMessage]) -> list[str]:
    """The statements of the messages, each in its last wording."""
    return [str(each.content) for each in messages if str(each.content).startswith("My locker number")]


def kept(bank: Any) -> list[str]:
    return [unit.text.removeprefix("user: ") for unit in bank.iterate_units() if "locker number" in unit.text]


def assert_kept(bank: Any, messages: Sequence[BaseMessage]) -> None:
    """No statement is lost, and none is stored more often than it was sent."""
    found, said = Counter(kept(bank)), Counter(told(messages))
    assert found.keys() == said.keys()
    assert found <= said


@pytest.fixture(scope="module")
def engine() -> Any:
    with Hindsight.open(
        ":memory:", reranker=None, config=LIGHT, embeddings=HashEmbedder(), worker=False
    ) as opened:
        yield opened


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(conversations())
def test_nodes_keep_every_statement_once_and_raise_nothing(
    engine: Hindsight, messages: list[BaseMessage]
) -> None:
    engine.forget_bank("nodes") if "nodes" in engine.banks() else None
    bank = engine.bank("nodes")
    config: Any = {"configurable": {"thread_id": "t"}}
    retain, recall = create_retain_node(bank), create_recall_node(bank).called()
    for end in range(1, len(messages) + 1):
        retain.invoke({"messages": messages[:end]}, config)
        recall.invoke({"messages": messages[:end]}, config)
    retain.invoke({"messages": messages}, config)
    assert_kept(bank, messages)


@settings(max_examples=max(5, EXAMPLES // 4), suppress_health_check=list(HealthCheck))
@given(conversations())
def test_an_agent_answers_whatever_it_is_told(engine: Hindsight, messages: list[BaseMessage]) -> None:
    engine.forget_bank("agent") if "agent" in engine.banks() else None
    bank = engine.bank("agent")
    model = ScriptedModel(lambda _: "Noted.")
    agent = create_agent(model, [], middleware=[HindsightMiddleware(bank)])
    given: Any = {"messages": messages}
    agent.invoke(given, {"configurable": {"thread_id": "t"}})
    assert_kept(bank, messages)


@settings(max_examples=max(5, EXAMPLES // 4), suppress_health_check=list(HealthCheck))
@given(conversations())
def test_a_chat_engines_memory_keeps_every_statement_once(
    engine: Hindsight, messages: list[BaseMessage]
) -> None:
    engine.forget_bank("chat") if "chat" in engine.banks() else None
    bank = engine.bank("chat")
    memory = HindsightMemory(bank)
    roles = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "chat": "user"}
    said = [
        LlamaMessage(
            role=roles[each.type], content=each.content, additional_kwargs=dict(each.additional_kwargs)
        )
        for each in messages
        if isinstance(each.content, str)
    ]
    memory.put_messages([*said, LlamaMessage(role="assistant", content="Noted.")])
    memory.get("Where is my locker?")
    assert_kept(bank, messages)
