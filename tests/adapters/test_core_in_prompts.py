"""Core memory is added wherever memory is inserted into a prompt automatically, in both frameworks, and only there."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as LlamaIndexMemory
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, RetainItem
from hindsight_integrations.langgraph import (
    HindsightMiddleware,
    MemoryState,
    create_memory_tools,
    create_recall_node,
    with_memories,
)
from hindsight_integrations.langgraph import HindsightRetriever as LangChainRetriever
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock, HindsightRetriever
from hindsight_integrations.testing.scripted_model import ScriptedModel

ALLERGY = "The user is allergic to peanuts."
REQUEST = "Suggest something for dinner"


def crowd(bank: MemoryBank) -> None:
    texts = [
        f"Boat number {number} lies at pier {number + 7}, with its sails and its oars."
        for number in range(120)
    ]
    bank.retain_many([RetainItem(text) for text in texts])


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """A bank with one lasting fact and so many events that the bank is not small."""
    bank = light.bank("ann")
    bank.retain(ALLERGY, facts=[{"what": ALLERGY, "lasting": True}])
    crowd(bank)
    return bank


def by_node(bank: MemoryBank) -> str:
    graph: Any = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(bank))
    graph.add_edge(START, "recall")
    state = graph.compile().invoke({"messages": [HumanMessage(REQUEST)]})
    return str(with_memories(state["messages"], state["memories"])[-1].text)


def by_middleware(bank: MemoryBank) -> str:
    seen: list[BaseMessage] = []

    def answer(messages: list[BaseMessage]) -> AIMessage:
        seen.extend(messages)
        return AIMessage("Noted.")

    agent: Any = create_agent(ScriptedModel(answer), [], middleware=[HindsightMiddleware(bank)])
    agent.invoke({"messages": [HumanMessage(REQUEST)]})
    return str(seen[-1].text)


def by_chat_memory(bank: MemoryBank) -> str:
    memory = HindsightMemory(bank)
    memory.put(ChatMessage(REQUEST, role="user"))
    return "\n".join(str(message.content) for message in memory.get())


def by_block(bank: MemoryBank) -> str:
    async def got() -> str:
        memory = LlamaIndexMemory.from_defaults(memory_blocks=[HindsightMemoryBlock(bank)])
        await memory.aput(ChatMessage(REQUEST, role="user"))
        return "\n".join(str(message.content) for message in await memory.aget())

    return asyncio.run(got())


def by_retriever(bank: MemoryBank) -> str:
    return "\n".join(found.node.text for found in HindsightRetriever(bank).retrieve(REQUEST))


def by_langchain_retriever(bank: MemoryBank) -> str:
    return "\n".join(document.page_content for document in LangChainRetriever(bank=bank).invoke(REQUEST))


def by_tool(bank: MemoryBank) -> str:
    (tool,) = create_memory_tools(bank, names=["recall"])
    return str(tool.invoke({"query": REQUEST}))


@every_row(
    ("prompt", "expected"),
    [
        (by_node, True),
        (by_middleware, True),
        (by_chat_memory, True),
        (by_block, True),
        (by_retriever, False),
        (by_langchain_retriever, False),
        (by_tool, False),
    ],
)
def test_core_memory_is_shown_where_nobody_asked_for_memory(
    bank: MemoryBank, prompt: Any, expected: bool
) -> None:
    """A prompt for "Suggest something for dinner" contains the allergy; explicit searches return only what matches."""
    assert (ALLERGY in prompt(bank)) is expected


def test_retrievers_give_core_memory_where_it_is_wanted(bank: MemoryBank) -> None:
    found = HindsightRetriever(bank, include_core=True).retrieve(REQUEST)
    assert found[0].node.text == ALLERGY
    documents = LangChainRetriever(bank=bank, include_core=True).invoke(REQUEST)
    assert documents[0].page_content == ALLERGY
    assert LangChainRetriever(bank=bank).invoke(REQUEST, include_core=True)[0].page_content == ALLERGY


def test_a_lasting_fact_stands_in_the_prompt_without_a_date(bank: MemoryBank) -> None:
    """A lasting fact is true now, whenever it was mentioned, and the dates of a hundred facts would cost many tokens."""
    assert f"- {ALLERGY}\n" in by_node(bank)
    assert f"- {ALLERGY}\n" in by_chat_memory(bank)


def test_core_memory_is_that_of_the_user_who_writes(light: Hindsight) -> None:
    """The name of the last human message identifies the user, in nodes and in LlamaIndex chats."""
    bank = light.bank("household")
    said = {"Ann": "Ann is allergic to peanuts.", "Ben": "Ben is afraid of dogs."}
    bank.retain(
        [{"role": "user", "name": name, "content": text, "id": name} for name, text in said.items()],
        facts=[
            {"what": text, "lasting": True, "sources": [name], "entities": [{"text": name, "type": "PERSON"}]}
            for name, text in said.items()
        ],
    )
    crowd(bank)
    node = create_recall_node(bank, max_tokens=60, output="text")
    shown = node.invoke({"messages": [HumanMessage("Where is the boat?", name="Ben")]})["memories"]
    assert said["Ben"] in shown
    assert said["Ann"] not in shown
    memory = HindsightMemory(bank, memory_tokens=60)
    memory.put(ChatMessage("Where is the boat?", role="user", additional_kwargs={"name": "Ann"}))
    prompt = "\n".join(str(message.content) for message in memory.get())
    assert said["Ann"] in prompt
    assert said["Ben"] not in prompt


class WithoutMemories(MessagesState):
    topic: str


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_state_without_the_key_fails_at_the_first_run_with_the_remedy(bank: MemoryBank, face: str) -> None:
    """Otherwise LangGraph would silently drop the memories."""
    graph: Any = StateGraph(WithoutMemories)
    graph.add_node("recall", create_recall_node(bank))
    graph.add_edge(START, "recall")
    compiled, given = graph.compile(), {"messages": [HumanMessage(REQUEST)]}
    with pytest.raises(InvalidRequest, match=r"no 'memories'.*MemoryState.*memories: list\[Memory\]"):
        asyncio.run(compiled.ainvoke(given)) if face == "async" else compiled.invoke(given)


def test_a_node_that_other_code_calls_needs_no_key(bank: MemoryBank) -> None:
    recall = create_recall_node(bank).called()

    def answer(state: MessagesState) -> dict[str, Any]:
        shown = with_memories(state["messages"], recall.invoke(state)["memories"])
        return {"messages": [AIMessage(str(shown[-1].text))]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    assert ALLERGY in graph.compile().invoke({"messages": [HumanMessage(REQUEST)]})["messages"][-1].text
