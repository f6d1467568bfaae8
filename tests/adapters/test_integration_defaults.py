"""The recall defaults of each integration are those in docs/integrations.md."""

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
from hindsight_integrations.bank import reading, reflecting
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

PAGE = Path(__file__).resolve().parents[2] / "docs/integrations.md"
QUESTION = "Where is the kayak?"
STATE: Any = {"messages": [HumanMessage(QUESTION)]}
RUN: RunnableConfig = {"configurable": {"thread_id": "t"}}


def ask_agent(bank: MemoryBank) -> object:
    agent = create_agent(ScriptedModel(["In Porto."]), [], middleware=[HindsightMiddleware(bank)])
    return agent.invoke(STATE, RUN)


def ask_block(bank: MemoryBank) -> object:
    return asyncio.run(HindsightMemoryBlock(bank).aget([ChatMessage(QUESTION, role="user")], session_id="s"))


INTEGRATIONS: dict[str, Callable[[MemoryBank], object]] = {
    "`bank.recall`": lambda bank: bank.recall(QUESTION),
    "`create_recall_node`": lambda bank: create_recall_node(bank).invoke(STATE, RUN),
    "`HindsightMiddleware`": ask_agent,
    "LangChain's `HindsightRetriever`": lambda bank: LangChainRetriever(bank=bank).invoke(QUESTION),
    "LangChain's `HindsightRetriever(k=...)`": lambda bank: LangChainRetriever(bank=bank, k=2).invoke(
        QUESTION
    ),
    "`create_memory_tools`": lambda bank: create_memory_tools(bank, names=["recall"])[0].invoke(
        {"query": QUESTION}
    ),
    "LlamaIndex's `HindsightRetriever`": lambda bank: HindsightRetriever(bank).retrieve(QUESTION),
    "LlamaIndex's `HindsightRetriever(k=...)`": lambda bank: HindsightRetriever(bank, k=2).retrieve(QUESTION),
    "`HindsightMemoryBlock`": ask_block,
    "`HindsightMemory`": lambda bank: HindsightMemory(bank, session_id="s").get(QUESTION),
    "`HindsightToolSpec`": lambda bank: HindsightToolSpec(bank).recall_memories(QUESTION),
    "`HindsightQueryEngine`": lambda bank: HindsightQueryEngine(bank).query(QUESTION),
    "`bank.reflect`": lambda bank: bank.reflect(QUESTION),
}


def documented() -> dict[str, tuple[str, ...]]:
    """The rows of the page's table, by integration."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {integration: tuple(rest) for integration, *rest in cells}


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[RecallQuery]:
    """Collect the validated request of every recall."""
    made: list[RecallQuery] = []
    real = reading.recalled

    async def recording(bank: BankContext, query: RecallQuery) -> RecallResult:
        made.append(query)
        return await real(bank, query)

    monkeypatch.setattr(reading, "recalled", recording)
    monkeypatch.setattr(reflecting, "recalled", recording)
    return made


@pytest.fixture
def bank(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> MemoryBank:
    made = opener(config=light_config).bank("alice")
    made.retain("Alice's kayak is in Porto.", timestamp="2024-05-01")
    return made


def options_of(request: RecallQuery) -> dict[str, Any]:
    return {
        "text": request.form.value,
        "relevance": request.relevance.value,
        "core": "yes" if request.include_core else "no",
        "records": "yes" if request.record_tokens else "no",
        "order": request.order.value,
        "budget": request.budget.value,
    }


def test_the_page_lists_every_integration() -> None:
    """The page names exactly the integrations that exist."""
    assert documented().keys() == INTEGRATIONS.keys()


@pytest.mark.parametrize("integration", INTEGRATIONS)
def test_an_integration_has_the_documented_defaults(
    bank: MemoryBank, requests: list[RecallQuery], integration: str
) -> None:
    """Text, relevance, core, records, order and budget of each recall, and the tokens of all recalls together."""
    INTEGRATIONS[integration](bank)
    assert requests
    *options, tokens, budget = documented()[integration]
    for request in requests:
        assert (*options_of(request).values(),) == (*options, budget)
    reflecting = {"`HindsightQueryEngine`", "`bank.reflect`"}  # divides the tokens among tiers
    asked_for = sum(request.max_tokens for request in requests)
    assert (
        int(0.75 * int(tokens)) <= asked_for <= int(tokens)
        if integration in reflecting
        else asked_for == int(tokens)
    )
