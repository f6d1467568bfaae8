"""One bank used by LangGraph and LlamaIndex in one process: written by either, read by either, or both at once."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the state defined here.

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.query_engine import RetrieverQueryEngine

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RecallOptions
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock, HindsightRetriever
from hindsight_integrations.testing.scripted_llm import ScriptedLLM

Opener = Callable[..., Hindsight]
BACKENDS = pytest.mark.parametrize("backends", ["light", "real"])

ALL: RecallOptions = {"relevance": "all"}  # a bag of words cannot judge relevance


class State(MessagesState):
    memories: list[Memory]


def graph_of(engine: Hindsight) -> Any:
    """A conversation in LangGraph: recall, an answer, retain."""
    graph = StateGraph(State)
    nodes: list[Any] = [
        ("recall", create_recall_node(engine, bank="alice", relevance="all")),
        ("answer", lambda _: {"messages": [AIMessage("Noted.")]}),
        ("retain", create_retain_node(engine, bank="alice")),
    ]
    graph.add_sequence(nodes)
    graph.add_edge(START, "recall")
    return graph.compile(checkpointer=InMemorySaver())


def in_langgraph(graph: Any, thread: str, text: str, face: str = "sync") -> list[str]:
    """One turn of a graph; returns the recalled memories."""
    config = {"configurable": {"thread_id": thread}}
    given = {"messages": [HumanMessage(text)]}
    state = asyncio.run(graph.ainvoke(given, config)) if face == "async" else graph.invoke(given, config)
    return [memory["text"] for memory in state["memories"]]


def in_llamaindex(memory: Any, text: str, face: str = "sync") -> str:
    """One turn of a chat with LlamaIndex's kind of memory; returns all text that the model would see."""
    asked, answered = ChatMessage(role="user", content=text), ChatMessage(role="assistant", content="Noted.")

    async def asynchronous() -> list[ChatMessage]:
        await memory.aput(asked)
        seen: list[ChatMessage] = await memory.aget(input=text)
        await memory.aput(answered)
        return seen

    if face == "async":
        seen = asyncio.run(asynchronous())
    else:
        memory.put(asked)
        seen = memory.get(input=text)
        memory.put(answered)
    return "\n".join(str(message.content) for message in seen)


def remembered(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.iterate_units())


@pytest.fixture
def engine(opener: Opener, light_config: HindsightConfig, tmp_path: Path, backends: str) -> Hindsight:
    """An engine on disk, with light or real backends."""
    return opener(tmp_path / "home", config=light_config if backends == "light" else None)


@BACKENDS
@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_a_graph_retained_is_read_at_once_by_all_that_llamaindex_has(
    engine: Hindsight, face: str
) -> None:
    """Retriever, query engine, memory and block find the graph's turn under the ids of the bank."""
    bank = engine.bank("alice")
    in_langgraph(graph_of(engine), "t1", "My kayak is green.", face)
    unit = next(bank.iterate_units())
    found = HindsightRetriever(bank, relevance="all").retrieve("What colour is my kayak?")
    assert [(node.node.node_id, node.node.text) for node in found] == [(unit.id, "user: My kayak is green.")]
    llm = ScriptedLLM(lambda _: "Green.")
    response = RetrieverQueryEngine.from_args(HindsightRetriever(bank, relevance="all"), llm=llm).query(
        "Which kayak?"
    )
    assert response.source_nodes[0].node.node_id == unit.id
    assert "My kayak is green." in llm.last_prompt
    for memory in (
        HindsightMemory(bank=bank, session_id="s1", recall_options=ALL),
        ChatMemory.from_defaults(
            session_id="s2", memory_blocks=[HindsightMemoryBlock(bank=bank, recall_options=ALL)]
        ),
    ):
        assert "My kayak is green." in in_llamaindex(memory, "What colour is my kayak?", face)
    assert remembered(bank) == ["user: My kayak is green."]


@BACKENDS
@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_llamaindex_retained_is_recalled_by_a_graph(engine: Hindsight, face: str) -> None:
    """A turn of a chat with either kind of memory is in the next state of a graph."""
    bank = engine.bank("alice")
    memory = HindsightMemory(bank=bank, session_id="s1", recall_options=ALL)
    block = ChatMemory.from_defaults(
        session_id="s2", memory_blocks=[HindsightMemoryBlock(bank=bank, recall_options=ALL)]
    )
    in_llamaindex(memory, "My kayak is green.", face)
    in_llamaindex(block, "My tent is blue.", face)
    block.get()  # a block sees a turn at the next read
    graph = graph_of(engine)
    assert "user: My kayak is green." in in_langgraph(graph, "t1", "What colour is my kayak?", face)
    assert "user: My tent is blue." in in_langgraph(graph, "t1", "What colour is my tent?", face)
    assert remembered(bank) == ["user: My kayak is green.", "user: My tent is blue."]


def told(name: str, turn: int) -> str:
    return f"Boat {name} number {turn} lies in harbour {turn}."


def write_by_graph(graph: Any, number: int, rounds: int) -> None:
    for turn in range(rounds):
        in_langgraph(graph, f"t{number}", told(f"g{number}", turn), ("sync", "async")[turn % 2])


def write_by_chat(bank: MemoryBank, number: int, rounds: int) -> None:
    """Half of the chats use our memory, half LlamaIndex's with our block in the bank's other API."""
    memory: Any = HindsightMemory(bank=bank, session_id=f"s{number}")
    if number % 2:
        block = HindsightMemoryBlock(bank=bank.asynchronous)
        memory = ChatMemory.from_defaults(session_id=f"s{number}", memory_blocks=[block])
    for turn in range(rounds):
        in_llamaindex(memory, told(f"l{number}", turn), ("sync", "async")[turn % 2])
    memory.get(input="Which boats?")


def read_until(done: threading.Event, bank: MemoryBank, face: str) -> int:
    """Retrieves repeatedly; no memory may occur twice."""
    retriever, question, reads = HindsightRetriever(bank, k=50), "Which boats lie in harbour 1?", 0
    while not done.is_set() or not reads:
        found = (
            asyncio.run(retriever.aretrieve(question)) if face == "async" else retriever.retrieve(question)
        )
        texts = [node.node.text for node in found]
        assert len(texts) == len(set(texts)) == len({node.node.node_id for node in found})
        reads += 1
    return reads


@pytest.mark.slow
@BACKENDS
def test_both_at_once_lose_and_double_nothing(engine: Hindsight, backends: str) -> None:
    """Eight conversations, four in each framework, run in threads with separate loops while others read."""
    bank = engine.bank("alice")
    rounds = 6 if backends == "light" else 3
    graph = graph_of(engine)
    done = threading.Event()
    with ThreadPoolExecutor(12) as threads:
        readers = [threads.submit(read_until, done, bank, face) for face in ("sync", "async") * 2]
        writers = [threads.submit(write_by_graph, graph, number, rounds) for number in range(4)]
        writers += [threads.submit(write_by_chat, bank, number, rounds) for number in range(4)]
        try:
            for writer in writers:
                writer.result(timeout=240)
        finally:
            done.set()
        assert all(reader.result(timeout=60) for reader in readers)
    names = [f"{door}{number}" for door in "gl" for number in range(4)]
    assert remembered(bank) == sorted(f"user: {told(name, turn)}" for name in names for turn in range(rounds))


@pytest.mark.parametrize("backends", ["light"])
def test_both_integrations_in_one_loop(engine: Hindsight) -> None:
    """An application uses both from one event loop: everything is stored once, and each turn sees earlier statements."""
    bank = engine.bank("alice").asynchronous
    graph = graph_of(engine)
    memories = [HindsightMemory(bank=bank, session_id=f"s{number}") for number in range(3)]

    async def chat(number: int) -> None:
        for turn in range(4):
            text = f"Tent l{number} number {turn} leaks."
            await memories[number].aput(ChatMessage(role="user", content=text))
            await memories[number].aget()
            await memories[number].aput(ChatMessage(role="assistant", content="Noted."))

    async def run(number: int) -> None:
        for turn in range(4):
            config = {"configurable": {"thread_id": f"t{number}"}}
            given = {"messages": [HumanMessage(f"Tent g{number} number {turn} leaks.")]}
            await graph.ainvoke(given, config)

    async def both() -> None:
        await asyncio.gather(*(chat(number) for number in range(3)), *(run(number) for number in range(3)))

    asyncio.run(both())
    expected = [f"user: Tent {d}{n} number {t} leaks." for d in "gl" for n in range(3) for t in range(4)]
    assert remembered(engine.bank("alice")) == sorted(expected)


@pytest.mark.parametrize("backends", ["light"])
@pytest.mark.parametrize("face", ["sync", "async"])
def test_what_is_forgotten_or_withdrawn_in_one_is_gone_in_the_other(engine: Hindsight, face: str) -> None:
    """After a chat's history is cut, or a thread is forgotten, neither framework recalls it in its next turn."""
    bank = engine.bank("alice")
    graph = graph_of(engine)
    memory = HindsightMemory(bank=bank, session_id="s1", recall_options=ALL)
    in_llamaindex(memory, "My kayak is green.", face)
    in_llamaindex(memory, "My kayak lies in Turku.", face)
    in_langgraph(graph, "t1", "My tent is blue.", face)
    assert "user: My kayak lies in Turku." in in_langgraph(graph, "t1", "Where lies my kayak?", face)
    memory.set(memory.get_all()[:2])
    recalled = in_langgraph(graph, "t1", "And where is my kayak?", face)
    assert "user: My kayak is green." in recalled
    assert "user: My kayak lies in Turku." not in recalled
    other = HindsightMemory(bank=bank, session_id="s2", recall_options=ALL)
    assert "My tent is blue." in in_llamaindex(other, "What colour is my tent?", face)
    bank.forget(thread="t1")
    assert "My tent is blue." not in in_llamaindex(other, "And my tent, what colour is it?", face)


@pytest.mark.parametrize("backends", ["light"])
@pytest.mark.parametrize("first", ["graph", "chat", "block"])
def test_one_id_in_both_frameworks_loses_nothing(engine: Hindsight, first: str) -> None:
    """Programs use the same id for a LangGraph thread and a LlamaIndex session: neither drops the other's memories."""
    bank = engine.bank("alice")
    graph = graph_of(engine)
    memory = HindsightMemory(bank=bank, session_id="ann")
    block = ChatMemory.from_defaults(session_id="ann", memory_blocks=[HindsightMemoryBlock(bank=bank)])
    turns: dict[str, Callable[[str], Any]] = {
        "graph": lambda text: in_langgraph(graph, "ann", text),
        "chat": lambda text: in_llamaindex(memory, text),
        "block": lambda text: (in_llamaindex(block, text), block.get()),
    }
    order = [first, *(name for name in turns if name != first)] * 2
    told = [f"Boat {number} of the {name} is green." for number, name in enumerate(order)]
    for name, text in zip(order, told, strict=True):
        turns[name](text)
    assert remembered(bank) == sorted(f"user: {text}" for text in told)
