"""LlamaIndex's query and chat engines with a memory that grows between turns, is closed and is reopened."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from llama_index.core.tools import RetrieverTool
from table import every_row

from hindsight_integrations import (
    Document,
    EngineClosed,
    Hindsight,
    HindsightConfig,
    MemoryBank,
)
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock, HindsightRetriever
from hindsight_integrations.testing.scripted_llm import ScriptedLLM

Opener = Callable[..., Hindsight]
WAYS = pytest.mark.parametrize("way", ["sync", "async", "streamed", "async streamed"])
RED = {
    "role": "user",
    "name": "Alice",
    "content": "I bought a red kayak yesterday.",
    "timestamp": "2024-05-04T10:00",
}
NAMED = {
    "role": "user",
    "name": "Alice",
    "content": "The kayak is called Thunder.",
    "timestamp": "2024-05-05T10:00",
}
TENT = "Alice's tent leaks at the seams."


@pytest.fixture
def home(opener: Opener, light_config: HindsightConfig, tmp_path: Path) -> Callable[[], Hindsight]:
    """Opens the same directory repeatedly, closing the previous engine."""
    opened: list[Hindsight] = []

    def open_home() -> Hindsight:
        for engine in opened:
            engine.close()
        opened.append(opener(tmp_path / "home", config=light_config))
        return opened[-1]

    return open_home


def ask(engine_of: Callable[[bool], Any], way: str, question: str) -> tuple[str, list[NodeWithScore]]:
    """The answer of a query engine in one of the four modes, and its sources."""
    engine = engine_of("streamed" in way)

    async def asynchronous() -> tuple[str, list[NodeWithScore]]:
        response = await engine.aquery(question)
        if "streamed" in way:
            return "".join([piece async for piece in response.async_response_gen()]), response.source_nodes
        return str(response), response.source_nodes

    if "async" in way:
        return asyncio.run(asynchronous())
    response = engine.query(question)
    text = "".join(response.response_gen) if "streamed" in way else str(response)
    return text, response.source_nodes


def texts(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.text for found in nodes]


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.node_id for found in nodes]


def recalled(bank: MemoryBank, question: str, **options: Any) -> list[str]:
    return [found.unit.id for found in bank.recall(question, **options).units]


class Bm25(BaseRetriever):  # type: ignore[misc] # mypy is told to skip LlamaIndex
    """BM25 over nodes in memory, like LlamaIndex's own retriever in a fusion."""

    def __init__(self, nodes: list[TextNode], top: int = 3) -> None:
        super().__init__()
        self.nodes, self.top = nodes, top
        self.words = [Counter(re.findall(r"\w+", node.text.lower())) for node in nodes]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        length = sum(sum(words.values()) for words in self.words) / len(self.words)
        asked = re.findall(r"\w+", query_bundle.query_str.lower())
        scored = [
            NodeWithScore(node=node, score=sum(self._weight(word, words, length) for word in asked))
            for node, words in zip(self.nodes, self.words, strict=True)
        ]
        return sorted((node for node in scored if node.score), key=lambda node: -(node.score or 0))[
            : self.top
        ]

    def _weight(self, word: str, words: Counter[str], length: float) -> float:
        holding = sum(word in other for other in self.words)
        rarity = math.log(1 + (len(self.words) - holding + 0.5) / (holding + 0.5))
        return rarity * words[word] * 2.2 / (words[word] + 0.3 + 0.9 * sum(words.values()) / length)


@WAYS
def test_a_query_engine_follows_the_memory_through_turns_and_restarts(
    home: Callable[[], Hindsight], way: str
) -> None:
    """A memory retained between two questions is in the second prompt, with its date; sources are those of recall, also after reopening."""
    engine = home()
    bank = engine.bank("alice")
    llm = ScriptedLLM(lambda messages: f"Answer to {messages[-1].content.rsplit('Query: ')[-1]}")

    def query(streaming: bool) -> RetrieverQueryEngine:
        return RetrieverQueryEngine.from_args(HindsightRetriever(bank, k=2), llm=llm, streaming=streaming)

    bank.retain([RED])
    text, sources = ask(query, way, "What did Alice buy?")
    assert text.startswith("Answer to What did Alice buy?")
    assert (
        "date: happened on Friday, May 3, 2024\n\nAlice: I bought a red kayak yesterday." in llm.last_prompt
    )
    assert ids(sources) == recalled(bank, "What did Alice buy?", k=2)

    bank.retain([NAMED])
    _, sources = ask(query, way, "What is the kayak called?")
    assert texts(sources)[0] == "Alice: The kayak is called Thunder."
    assert "Alice: The kayak is called Thunder." in llm.last_prompt
    held = sorted(unit.id for unit in bank.iterate_units())

    bank = home().bank("alice")
    _, again = ask(query, way, "What is the kayak called?")
    assert (ids(again), texts(again)) == (ids(sources), texts(sources))
    assert sorted(unit.id for unit in bank.iterate_units()) == held


@every_row("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
@every_row("use_async", [True, False], ids=["both legs at once", "one after the other"])
def test_fusion_with_bm25_holds_nodes_of_both_legs(
    home: Callable[[], Hindsight], mode: str, use_async: bool
) -> None:
    """A memory and a document page are both found, each once, with their own ids, sync and async, also after reopening."""
    bank = home().bank("alice")
    bank.retain([RED, NAMED])
    pages = Bm25([TextNode(text="A kayak needs varnish.", id_="p1"), TextNode(text="Tides.", id_="p2")])

    def fusion() -> QueryFusionRetriever:
        legs: list[BaseRetriever] = [HindsightRetriever(bank), pages]
        return QueryFusionRetriever(
            legs, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=10, use_async=use_async
        )

    question = "What is the kayak called?"
    found = fusion().retrieve(question)
    assert sorted(ids(found)) == sorted([*recalled(bank, question), "p1"])
    scores = [node.score or 0.0 for node in found]
    assert all(map(math.isfinite, scores))
    assert scores == sorted(scores, reverse=True)
    assert ids(asyncio.run(fusion().aretrieve(question))) == ids(found)
    bank.retain("The kayak was repaired in Turku.")
    assert "The kayak was repaired in Turku." in texts(fusion().retrieve("Where was the kayak repaired?"))
    bank = home().bank("alice")
    assert "The kayak was repaired in Turku." in texts(fusion().retrieve("Where was the kayak repaired?"))


@pytest.mark.parametrize("face", ["sync", "async"])
def test_fusion_of_generated_queries_asks_the_memory_for_each(light: Hindsight, face: str) -> None:
    """A memory that only a rephrased question finds is found; a memory that several questions find is one node."""
    bank = light.bank("alice")
    bank.retain([RED, NAMED, {"role": "user", "name": "Alice", "content": TENT}])
    llm = ScriptedLLM(["Which boat is called Thunder?\nWhich tent leaks at the seams?"])
    leaves: list[BaseRetriever] = [
        HindsightRetriever(bank, k=1),
        Bm25([TextNode(text="Tides come twice a day.", id_="p2")]),
    ]
    fusion = QueryFusionRetriever(
        leaves, llm=llm, mode="reciprocal_rerank", num_queries=3, similarity_top_k=10, use_async=False
    )
    question = "What did Alice buy?"
    found = asyncio.run(fusion.aretrieve(question)) if face == "async" else fusion.retrieve(question)
    assert len(set(ids(found))) == len(found)
    assert {"Alice: The kayak is called Thunder.", f"Alice: {TENT}"} <= set(texts(found))


@WAYS
def test_citations_number_dated_memories_and_lead_back_to_their_source(
    home: Callable[[], Hindsight], way: str
) -> None:
    """CitationQueryEngine splits nodes into numbered sources: readable text, metadata and the document are kept."""
    bank = home().bank("alice")
    bank.retain([RED])
    llm = ScriptedLLM(lambda _: "In Turku [1].")

    def citing(streaming: bool) -> CitationQueryEngine:
        return CitationQueryEngine.from_args(
            None,  # it needs no index if a retriever is given
            llm=llm,
            retriever=HindsightRetriever(bank, k=3),
            streaming=streaming,
        )

    ask(citing, way, "What did Alice buy?")
    assert "Alice: I bought a red kayak yesterday." in llm.last_prompt
    bank.retain(
        Document("The canoe club meets in Turku.", id="club.md", metadata={"author": "Bo", "pages": 3})
    )
    for _ in range(2):
        text, sources = ask(citing, way, "Where does the canoe club meet?")
        assert text == "In Turku [1]."
        assert "Source 1:\n" in llm.last_prompt
        assert "The canoe club meets in Turku." in sources[0].node.text
        assert sources[0].node.ref_doc_id == "club.md"
        assert (sources[0].node.metadata["author"], sources[0].node.metadata["pages"]) == ("Bo", 3)
        for bookkeeping in ("fact_type", "author", "document_id", "channels", "pages"):
            assert bookkeeping not in llm.last_prompt
        bank = home().bank("alice")


def chat_replies(messages: list[ChatMessage]) -> str:
    """A model that passes on a follow-up question unchanged, and acknowledges everything else."""
    asked = re.search(r"Follow Up Input: (.*)\n", str(messages[-1].content))
    return asked[1] if asked else "Noted."


def say(engine: CondensePlusContextChatEngine, way: str, text: str) -> str:
    """One turn of a chat engine in one of the four modes."""

    async def asynchronous() -> str:
        if "streamed" in way:
            response = await engine.astream_chat(text)
            return "".join([piece async for piece in response.async_response_gen()])
        return str(await engine.achat(text))

    if "async" in way:
        return asyncio.run(asynchronous())
    if "streamed" in way:
        return "".join(engine.stream_chat(text).response_gen)
    return str(engine.chat(text))


@WAYS
def test_a_chat_engine_remembers_its_turns_and_another_session_recalls_them(
    home: Callable[[], Hindsight], way: str
) -> None:
    """Each statement is one memory although the engine reads before it writes; the history and the memories are kept."""
    llm = ScriptedLLM(chat_replies)

    def chat(session: str) -> CondensePlusContextChatEngine:
        bank = engine.bank("alice")
        return CondensePlusContextChatEngine.from_defaults(
            retriever=HindsightRetriever(bank, k=3),
            llm=llm,
            memory=HindsightMemory(bank=bank, session_id=session),
        )

    engine = home()
    engine.bank("alice").retain("I keep a green kayak manual.")  # without nodes LlamaIndex answers by itself
    talk = chat("monday")
    for text in ("My kayak is green.", "I keep it in Turku.", "What colour is my kayak?"):
        assert say(talk, way, text).strip() == "Noted."
    assert sorted(unit.text for unit in engine.bank("alice").iterate_units()) == [
        "I keep a green kayak manual.",
        "user: I keep it in Turku.",
        "user: My kayak is green.",
    ]
    assert "My kayak is green." in llm.last_prompt
    history = [(message.role.value, message.content) for message in talk.chat_history]
    assert [role for role, _ in history] == ["user", "assistant"] * 3
    assert history[4] == ("user", "What colour is my kayak?")

    engine = home()
    assert [(m.role.value, m.content) for m in chat("monday").chat_history] == history
    prompts = llm.calls
    say(chat("tuesday"), way, "What colour is my kayak?")
    for prompt in llm.prompts[prompts:]:
        assert "My kayak is green." in "\n".join(str(message.content) for message in prompt)
    talk = chat("monday")
    talk.reset()
    assert talk.chat_history == []
    assert len(list(engine.bank("alice").iterate_units())) == 3


@WAYS
@pytest.mark.parametrize("holder", ["memory", "block"])
def test_a_new_users_first_turn_is_remembered_without_llamaindexs_placeholder(
    light: Hindsight, way: str, holder: str
) -> None:
    """Without nodes a chat engine answers "Empty Response" by itself; this text is not retained."""
    bank = light.bank("alice")
    memory: BaseMemory = HindsightMemory(bank=bank, session_id="monday")
    if holder == "block":
        memory = Memory.from_defaults(session_id="monday", memory_blocks=[HindsightMemoryBlock(bank)])
    engine = CondensePlusContextChatEngine.from_defaults(
        retriever=HindsightRetriever(bank), llm=ScriptedLLM(chat_replies), memory=memory
    )
    assert say(engine, way, "My kayak is green.").strip() == "Empty Response"
    say(engine, way, "My kayak lies in Turku.")
    memory.get()
    assert sorted(unit.text for unit in bank.iterate_units()) == [
        "user: My kayak is green.",
        "user: My kayak lies in Turku.",
    ]


@WAYS
def test_a_history_given_to_a_chat_engine_each_turn_is_remembered_once(light: Hindsight, way: str) -> None:
    """Stateless servers pass the whole conversation with every message."""
    bank = light.bank("alice")
    llm = ScriptedLLM(chat_replies)
    history: list[ChatMessage] = []
    for text in ("My kayak is green.", "I keep it in Turku.", "My tent leaks."):
        engine = CondensePlusContextChatEngine.from_defaults(
            # without nodes, the engine does not call the model
            retriever=HindsightRetriever(bank, relevance="all"),
            llm=llm,
            memory=HindsightMemory(bank=bank, session_id="monday"),
        )
        if "async" in way:
            asyncio.run(engine.achat(text, chat_history=list(history)))
        else:
            engine.chat(text, chat_history=list(history))
        history += [
            ChatMessage(role="user", content=text),
            ChatMessage(role="assistant", content="Noted."),
        ]
    assert [m.content for m in engine.chat_history] == [m.content for m in history]
    assert sorted(unit.text for unit in bank.iterate_units()) == [
        "user: I keep it in Turku.",
        "user: My kayak is green.",
        "user: My tent leaks.",
    ]


@every_row("face", ["sync", "async"])
@every_row("chosen", [[1], [2], [1, 2]])
def test_a_router_asks_the_retrievers_that_were_chosen(
    home: Callable[[], Hindsight], face: str, chosen: list[int]
) -> None:
    """One or both retrievers are selected: memories with their own ids next to pages, over several turns, also after reopening."""
    bank = home().bank("alice")
    bank.retain([RED])
    choices = ", ".join(f'{{"choice": {number}, "reason": "asked"}}' for number in chosen)
    llm = ScriptedLLM(lambda _: f"[{choices}]")
    pages = Bm25([TextNode(text="A kayak needs varnish.", id_="p1")])

    def route(question: str) -> list[NodeWithScore]:
        kind = LLMMultiSelector if len(chosen) > 1 else LLMSingleSelector
        router = RouterRetriever(
            selector=kind.from_defaults(llm=llm),
            retriever_tools=[
                RetrieverTool.from_defaults(HindsightRetriever(bank), description="What Alice told."),
                RetrieverTool.from_defaults(pages, description="The manual."),
            ],
            llm=llm,
        )
        nodes: list[NodeWithScore] = (
            asyncio.run(router.aretrieve(question)) if face == "async" else router.retrieve(question)
        )
        return nodes

    for turn in range(3):
        expected = (recalled(bank, "Which kayak?") if 1 in chosen else []) + (["p1"] if 2 in chosen else [])
        assert ids(route("Which kayak?")) == expected
        bank.retain([NAMED]) if turn == 0 else None
        bank = home().bank("alice") if turn == 1 else bank
    assert len(recalled(bank, "Which kayak?")) == 2


@pytest.mark.parametrize("face", ["sync", "async"])
def test_engines_over_what_is_gone_say_so(
    home: Callable[[], Hindsight], opener: Opener, light_config: HindsightConfig, tmp_path: Path, face: str
) -> None:
    """A forgotten bank returns none of its content; a closed engine is an error, never an empty answer."""
    engine = opener(tmp_path / "other", config=light_config)
    bank = engine.bank("alice")
    bank.retain([RED])
    query = RetrieverQueryEngine.from_args(HindsightRetriever(bank), llm=MockLLM())

    def answer() -> str:
        return str(asyncio.run(query.aquery("kayak?")) if face == "async" else query.query("kayak?"))

    assert "red kayak" in answer()
    bank.forget(everything=True)
    assert "red kayak" not in answer()
    engine.close()
    with pytest.raises(EngineClosed):
        answer()
