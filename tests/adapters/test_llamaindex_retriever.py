"""The LlamaIndex retriever in query engines and fusion, sync and async."""

from __future__ import annotations

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.indices.postprocessor import SimilarityPostprocessor
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from table import every_row

from hindsight_integrations import Document, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.llamaindex import HindsightRetriever

TALK = [
    {
        "role": "user",
        "name": "Alice",
        "content": "I bought a red kayak yesterday.",
        "id": "m1",
        "timestamp": "2024-05-04T10:00",
    },
    {
        "role": "user",
        "name": "Alice",
        "content": "The kayak is called Thunder.",
        "id": "m2",
        "timestamp": "2024-05-04T10:01",
    },
    {
        "role": "user",
        "name": "Alice",
        "content": "My tent leaks.",
        "id": "m3",
        "timestamp": "2024-05-05T10:00",
    },
]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """A bank with memories of a kayak and a tent."""
    bank = light.bank("alice")
    bank.retain(TALK, thread="chat")
    return bank


def seen(nodes: list[NodeWithScore]) -> list[tuple[str, str, float | None]]:
    return [(found.node.node_id, found.node.text, found.score) for found in nodes]


def texts(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.text for found in nodes]


def test_nodes_are_the_memories_in_order_with_their_ids_and_scores(bank: MemoryBank) -> None:
    """A node id is the memory's id; the best node comes first; scores are finite and descending."""
    nodes = HindsightRetriever(bank).retrieve("What is the kayak called?")
    recalled = bank.recall("What is the kayak called?").units
    assert [found.node.node_id for found in nodes] == [found.unit.id for found in recalled]
    assert nodes[0].node.text == "Alice: The kayak is called Thunder."
    scores = [found.score or 0.0 for found in nodes]
    assert all(map(math.isfinite, scores))
    assert scores == sorted(scores, reverse=True)


def test_both_apis_of_a_bank_give_the_same_nodes_sync_and_async(bank: MemoryBank) -> None:
    """A bank of either API works with retrieve and aretrieve: ids, texts and scores are equal."""
    expected = seen(HindsightRetriever(bank).retrieve("red kayak"))
    assert expected[0][1] == "Alice: I bought a red kayak yesterday."
    for face in (bank, bank.asynchronous):
        retriever = HindsightRetriever(face)
        assert seen(retriever.retrieve("red kayak")) == expected
        assert seen(asyncio.run(retriever.aretrieve("red kayak"))) == expected


def test_one_retriever_serves_many_loops_threads_and_a_running_loop(bank: MemoryBank) -> None:
    """Notebooks, web servers and worker threads share a retriever without nested-loop errors."""
    retriever = HindsightRetriever(bank.asynchronous)
    expected = seen(retriever.retrieve("kayak"))

    async def retrieve_inside_a_loop() -> list[NodeWithScore]:
        nodes: list[NodeWithScore] = retriever.retrieve("kayak")
        return nodes

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: asyncio.run(retriever.aretrieve("kayak")), range(4)))
    found.append(asyncio.run(retrieve_inside_a_loop()))
    assert len(expected) >= 2
    assert [seen(nodes) for nodes in found] == [expected] * 5


def test_the_model_reads_text_and_date_and_an_embedder_the_text_alone(bank: MemoryBank) -> None:
    """Prompts contain no internal data, but code can read it."""
    node = HindsightRetriever(bank, k=1).retrieve("red kayak")[0].node
    assert node.get_content(MetadataMode.EMBED) == "Alice: I bought a red kayak yesterday."
    told = node.get_content(MetadataMode.LLM)
    assert told == "date: happened on Friday, May 3, 2024\n\nAlice: I bought a red kayak yesterday."
    assert (
        node.metadata.items()
        >= {
            "fact_type": "world",
            "occurred_start": "2024-05-03T00:00:00+00:00",
            "occurred_end": "2024-05-04T00:00:00+00:00",
            "mentioned_at": "2024-05-04T10:00:00+00:00",
            "thread": "chat",
        }.items()
    )
    assert node.metadata["sources"] == ["m1"]
    assert "Alice" in node.metadata["entities"]


def test_a_document_is_the_source_of_its_nodes_and_keeps_its_metadata(bank: MemoryBank) -> None:
    """Code that groups nodes by ref_doc_id, or reads its own metadata, finds both."""
    bank.retain(
        Document("The canoe club meets on Mondays.", id="club.md", metadata={"author": "Bo", "date": "mine"})
    )
    node = HindsightRetriever(bank, k=1).retrieve("canoe club")[0].node
    assert (node.ref_doc_id, node.metadata["document_id"], node.metadata["author"]) == (
        "club.md",
        "club.md",
        "Bo",
    )
    assert "Bo" not in node.get_content(MetadataMode.LLM)
    assert node.metadata["date"] == "mentioned on Wednesday, June 12, 2024"


def test_options_reach_the_engine(bank: MemoryBank) -> None:
    """Limits, networks and tags passed to the retriever are used; the error for a wrong one names it."""
    bank.retain([{"role": "assistant", "content": "A kayak needs care."}])
    bank.retain("The club kayak is green.", tags=["club"])

    def found(**options: Any) -> list[str]:
        return texts(HindsightRetriever(bank, **options).retrieve("kayak"))

    assert len(found(k=1)) == 1
    assert found(types=["experience"]) == ["assistant: A kayak needs care."]
    assert found(tags=["club"], tags_match="any_strict") == ["The club kayak is green."]
    assert found(max_tokens=1) == []
    with pytest.raises(InvalidRequest, match="budget"):
        found(budget="huge")


def test_an_engine_in_place_of_a_bank_is_refused_at_once(light: Hindsight) -> None:
    """The error for the usual mistake says what to pass instead."""
    with pytest.raises(InvalidRequest, match=r"engine\.bank\(name\)"):
        HindsightRetriever(light)  # type: ignore[arg-type]


def test_a_query_engine_answers_from_memories_sync_and_async(bank: MemoryBank) -> None:
    """RetrieverQueryEngine inserts dated memories into the prompt (MockLLM echoes it) and returns them as sources."""
    engine = RetrieverQueryEngine.from_args(HindsightRetriever(bank, k=2), llm=MockLLM())
    for response in (engine.query("red kayak?"), asyncio.run(engine.aquery("red kayak?"))):
        assert "date: happened on Friday, May 3, 2024\n\nAlice: I bought a red kayak yesterday." in str(
            response
        )
        assert "fact_type" not in str(response)
        assert len(response.source_nodes) == 2


@every_row("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_fusion_with_another_retriever_keeps_one_node_a_memory(bank: MemoryBank, mode: str) -> None:
    """QueryFusionRetriever merges by node id in every mode; a memory found twice is returned once."""
    leaves: list[BaseRetriever] = [HindsightRetriever(bank), HindsightRetriever(bank.asynchronous, k=1)]
    fusion = QueryFusionRetriever(
        leaves, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=5, use_async=False
    )
    found = fusion.retrieve("red kayak")
    assert found[0].node.text == "Alice: I bought a red kayak yesterday."
    assert sorted(texts(found)) == sorted(texts(HindsightRetriever(bank).retrieve("red kayak")))
    assert seen(asyncio.run(fusion.aretrieve("red kayak"))) == seen(found)


def test_postprocessors_and_callbacks_work_as_for_any_retriever(bank: MemoryBank) -> None:
    """A postprocessor can filter by score; LlamaIndex's callback manager reports the retrieval."""
    debug = LlamaDebugHandler(print_trace_on_end=False)
    nodes = HindsightRetriever(bank, callback_manager=CallbackManager([debug])).retrieve(
        QueryBundle("red kayak")
    )
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1
    kept = SimilarityPostprocessor(similarity_cutoff=(nodes[0].score or 0) - 1e-9).postprocess_nodes(nodes)
    assert texts(kept) == ["Alice: I bought a red kayak yesterday."]


def test_an_empty_bank_gives_no_nodes(light: Hindsight) -> None:
    """A new user's first question retrieves nothing and does not fail."""
    assert HindsightRetriever(light.bank("new")).retrieve("anything?") == []


def test_a_query_engine_on_real_backends(real: Hindsight) -> None:
    """The same with Chroma and Lucene on disk."""
    bank = real.bank("alice")
    bank.retain(TALK)
    assert real.doctor().backends.items() >= {"vectors": "chroma", "keywords": "Lucene"}.items()
    response = RetrieverQueryEngine.from_args(HindsightRetriever(bank), llm=MockLLM()).query(
        "the kayak called Thunder"
    )
    assert response.source_nodes[0].node.text == "Alice: The kayak is called Thunder."
