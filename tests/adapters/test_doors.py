"""What each door asks of recall where its caller says nothing is what docs/doors.md says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from llama_index.core.llms import ChatMessage

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.bank import reading, reflections
from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.langgraph import HindsightMiddleware, create_memory_tools, create_recall_node
from hindsight_integrations.langgraph import HindsightRetriever as LangChainRetriever
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
)
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.testing.scripted_model import ScriptedModel

PAGE = Path(__file__).resolve().parents[2] / "docs/doors.md"
ASKED = "Where is the kayak?"
STATE: Any = {"messages": [HumanMessage(ASKED)]}
RUN: RunnableConfig = {"configurable": {"thread_id": "t"}}


def agent_asked(bank: MemoryBank) -> object:
    agent = create_agent(ScriptedModel(["In Porto."]), [], middleware=[HindsightMiddleware(bank)])
    return agent.invoke(STATE, RUN)


def block_asked(bank: MemoryBank) -> object:
    return asyncio.run(HindsightMemoryBlock(bank).aget([ChatMessage(ASKED, role="user")], session_id="s"))


DOORS: dict[str, Callable[[MemoryBank], object]] = {
    "`bank.recall`": lambda bank: bank.recall(ASKED),
    "`create_recall_node`": lambda bank: create_recall_node(bank).invoke(STATE, RUN),
    "`HindsightMiddleware`": agent_asked,
    "LangChain's `HindsightRetriever`": lambda bank: LangChainRetriever(bank=bank).invoke(ASKED),
    "LangChain's `HindsightRetriever(k=...)`": lambda bank: LangChainRetriever(bank=bank, k=2).invoke(ASKED),
    "`create_memory_tools`": lambda bank: create_memory_tools(bank, names=["recall"])[0].invoke(
        {"query": ASKED}
    ),
    "LlamaIndex's `HindsightRetriever`": lambda bank: HindsightRetriever(bank).retrieve(ASKED),
    "LlamaIndex's `HindsightRetriever(k=...)`": lambda bank: HindsightRetriever(bank, k=2).retrieve(ASKED),
    "`HindsightMemoryBlock`": block_asked,
    "`HindsightMemory`": lambda bank: HindsightMemory(bank, session_id="s").get(ASKED),
    "`HindsightToolSpec`": lambda bank: HindsightToolSpec(bank).recall_memories(ASKED),
    "`HindsightQueryEngine`": lambda bank: HindsightQueryEngine(bank).query(ASKED),
    "`bank.reflect`": lambda bank: bank.reflect(ASKED),
}


def promised() -> dict[str, tuple[str, ...]]:
    """The table of the page: what it says by door."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {door: tuple(rest) for door, *rest in cells}


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[RecallQuery]:
    """The checked requests of every recall, as they are made."""
    made: list[RecallQuery] = []
    real = reading.recalled

    async def watched(bank: BankContext, query: RecallQuery) -> RecallResult:
        made.append(query)
        return await real(bank, query)

    monkeypatch.setattr(reading, "recalled", watched)
    monkeypatch.setattr(reflections, "recalled", watched)
    return made


@pytest.fixture
def bank(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> MemoryBank:
    made = opener(config=light_config).bank("alice")
    made.retain("Alice's kayak is in Porto.", timestamp="2024-05-01")
    return made


def told(request: RecallQuery) -> dict[str, Any]:
    return {
        "text": request.form.value,
        "relevance": request.relevance.value,
        "core": "yes" if request.include_core else "no",
        "records": "yes" if request.record_tokens else "no",
        "order": request.order.value,
        "budget": request.budget.value,
    }


def test_the_page_names_every_door() -> None:
    """A door that the page leaves out, or that is gone, is noticed."""
    assert promised().keys() == DOORS.keys()


@pytest.mark.parametrize("door", DOORS)
def test_a_door_asks_what_the_page_says(bank: MemoryBank, requests: list[RecallQuery], door: str) -> None:
    """Text, relevance, records, order and effort of each recall; tokens of them together."""
    DOORS[door](bank)
    assert requests
    *options, tokens, budget = promised()[door]
    for request in requests:
        assert (*told(request).values(),) == (*options, budget)
    reflecting = {"`HindsightQueryEngine`", "`bank.reflect`"}  # it divides them among its tiers
    asked_for = sum(request.max_tokens for request in requests)
    assert (
        int(0.75 * int(tokens)) <= asked_for <= int(tokens)
        if door in reflecting
        else asked_for == int(tokens)
    )
