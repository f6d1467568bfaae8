"""LlamaIndex's parts around a retriever: vectors in bundles, merging, sorting, instrumentation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core import instrumentation as instrument
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import Document as LlamaIndexDocument
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from hindsight_integrations import FactType, Hindsight, InvalidRequest, MemoryBank, MemoryUnit, RecalledUnit
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.llamaindex.bank import MemoryRecalled
from hindsight_integrations.llamaindex.nodes import as_nodes
from hindsight_integrations.model.time import EPOCH
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_llm import ScriptedLLM

BEES, PIANOS, FIGS = "Ann keeps bees.", "Bo tunes old pianos.", "Cy grows figs."
QUESTION = "Who tunes pianos?"


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Three neighbours."""
    bank = light.bank("street")
    for text in (BEES, PIANOS, FIGS):
        bank.retain(text)
    return bank


@pytest.fixture
def events() -> Iterator[list[BaseEvent]]:
    """The events of LlamaIndex's instrumentation."""
    told: list[BaseEvent] = []

    class Recording(BaseEventHandler):  # type: ignore[misc] # mypy does not follow LlamaIndex
        def handle(self, event: BaseEvent, **_: Any) -> None:
            told.append(event)

    root, handler = instrument.get_dispatcher(), Recording()
    root.add_event_handler(handler)
    yield told
    root.event_handlers.remove(handler)


def vector(text: str) -> list[float]:
    return [float(number) for number in HashEmbedder().embed_query(text)]


def texts(nodes: list[NodeWithScore]) -> list[str]:
    return [found.node.text for found in nodes]


def test_the_bundles_vector_is_used_and_the_bundle_left_alone(bank: MemoryBank) -> None:
    """A question that has a vector is not embedded again, and the next retriever gets the bundle unchanged."""
    bundle = QueryBundle("Who is it?", embedding=vector("Cy grows figs"))
    before = deepcopy(bundle)
    retriever = HindsightRetriever(bank, min_scores={"semantic": 0.5})
    for nodes in (retriever.retrieve(bundle), asyncio.run(retriever.aretrieve(bundle))):
        assert texts(nodes) == [FIGS]
    assert bundle == before
    assert (
        texts(HindsightRetriever(bank, use_embedding=False, min_scores={"semantic": 0.5}).retrieve(bundle))
        == []
    )


def test_other_texts_are_embedded_as_hyde_asks(bank: MemoryBank) -> None:
    """HyDE embeds an invented answer in addition to the question: the mean of their vectors finds the real answer."""
    hyde = HyDEQueryTransform(llm=ScriptedLLM(["Cy grows figs."] * 2), include_original=False)
    plain = HindsightRetriever(bank, min_scores={"semantic": 0.5})
    asked = TransformRetriever(plain, hyde)
    assert plain.retrieve("Whose fruit?") == []
    assert texts(asked.retrieve("Whose fruit?")) == [FIGS]
    mean = QueryBundle("Whose fruit?", custom_embedding_strs=["Cy grows figs.", "Whose fruit?"])
    assert texts(HindsightRetriever(bank, min_scores={"semantic": 0.3}).retrieve(mean)) == [FIGS]


def test_another_legs_vector_is_not_taken_for_the_banks(bank: MemoryBank) -> None:
    """VectorIndexRetriever writes its own model's vector into the bundle that fusion shares among its retrievers."""
    index = VectorStoreIndex([TextNode(text="A lighthouse.")], embed_model=MockEmbedding(embed_dim=8))
    legs = [index.as_retriever(), HindsightRetriever(bank)]
    for way in ("sync", "async"):
        fusion = QueryFusionRetriever(legs, llm=MockLLM(), num_queries=1, similarity_top_k=9, use_async=False)
        bundle = QueryBundle(QUESTION)
        nodes = fusion.retrieve(bundle) if way == "sync" else asyncio.run(fusion.aretrieve(bundle))
        assert {BEES, PIANOS, FIGS} >= set(texts(nodes)) - {"A lighthouse."} >= {PIANOS}
    alone = HindsightRetriever(bank).retrieve(QUESTION)
    foreign = HindsightRetriever(bank).retrieve(QueryBundle(QUESTION, embedding=[0.5] * 8))
    assert [(node.node_id, node.score) for node in foreign] == [(node.node_id, node.score) for node in alone]
    with pytest.raises(InvalidRequest, match="embedding: it contains NaN"):
        HindsightRetriever(bank).retrieve(QueryBundle(QUESTION, embedding=[float("nan")] * 256))


def test_a_memory_found_by_two_questions_is_one_node(bank: MemoryBank) -> None:
    """Fusion with generated questions merges by a hash of text and metadata, which must not depend on the question."""
    retriever = HindsightRetriever(bank)
    one, other = retriever.retrieve(QUESTION), retriever.retrieve("Which pianos, and what of bees?")
    shared = {node.node.hash for node in one} & {node.node.hash for node in other}
    assert len(shared) == len({node.node_id for node in one} & {node.node_id for node in other}) > 0
    for mode in ("reciprocal_rerank", "relative_score", "dist_based_score", "simple"):
        llm = ScriptedLLM(["Which pianos, and what of bees?\nWho keeps bees?"])
        fusion = QueryFusionRetriever(
            [retriever], llm=llm, mode=mode, num_queries=3, similarity_top_k=9, use_async=False
        )
        nodes = fusion.retrieve(QUESTION)
        assert sorted(texts(nodes)) == sorted(set(texts(nodes)))
        assert len(nodes) >= 2


def test_bare_nodes_merge_with_another_retrievers(bank: MemoryBank) -> None:
    """With `metadata_keys=()` a memory and a BM25 node with the same text are merged; selected keys are kept."""
    nodes = [TextNode(text=text) for text in (BEES, PIANOS, FIGS)]
    bm25 = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=3)
    fused = QueryFusionRetriever(
        [HindsightRetriever(bank, metadata_keys=()), bm25],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=9,
        use_async=False,
    ).retrieve(QUESTION)
    assert sorted(texts(fused)) == sorted([BEES, PIANOS, FIGS])
    assert fused[0].node.text == PIANOS
    dated = HindsightRetriever(bank, metadata_keys=["date"]).retrieve(QUESTION)[0].node
    assert list(dated.metadata) == ["date"]


def test_the_source_is_llamaindexs_document(light: Hindsight) -> None:
    """A memory of a LlamaIndex document refers to the document, and has its metadata with their types."""
    document = LlamaIndexDocument(
        text="The lake froze in May.", id_="lake.md", metadata={"page": 3, "draft": False}
    )
    bank = light.bank("lake")
    bank.retain(document)
    [found] = HindsightRetriever(bank, k=1).retrieve("When did the lake freeze?")
    assert found.node.ref_doc_id == "lake.md" == found.node.source_node.node_id
    assert (found.node.metadata["page"], found.node.metadata["draft"]) == (3, False)
    json.dumps(found.to_dict())


@given(st.lists(st.floats(-1e6, 1e6), max_size=8))
def test_scores_never_rise_and_the_order_stays(scores: list[float]) -> None:
    """Components that sort by score, such as fusion, keep the bank's order whatever its scores are."""
    units = [
        RecalledUnit(MemoryUnit(str(place), "b", "text", FactType.WORLD, EPOCH), score)
        for place, score in enumerate(scores)
    ]
    nodes = as_nodes(units)
    assert [node.node_id for node in sorted(nodes, key=lambda node: -node.score)] == [
        unit.unit.id for unit in units
    ]


def test_nodes_in_order_of_time_keep_their_scores(light: Hindsight) -> None:
    """Sorted by score, they are best first again."""
    bank = light.bank("garden")
    for day in (3, 1, 2):
        text = "Ann sells plums." if day == 3 else f"Ann saw {'plums ' * day}and other fruit."
        bank.retain(text, timestamp=f"2024-05-0{day}T10:00:00Z", thread=str(day))
    ranked = HindsightRetriever(bank, relevance="all").retrieve("Who sells plums?")
    timed = HindsightRetriever(bank, relevance="all", order="time").retrieve("Who sells plums?")
    assert [node.metadata["mentioned_at"][:10] for node in timed] == [f"2024-05-0{day}" for day in (1, 2, 3)]
    again = sorted(timed, key=lambda node: -node.score)
    assert [node.node_id for node in again] == [node.node_id for node in ranked]
    assert [node.node_id for node in timed] != [node.node_id for node in ranked]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_watchers_are_told_of_each_retrieval_once(
    bank: MemoryBank, events: list[BaseEvent], way: str
) -> None:
    """One start, one end and one recall each; the recall's event has ids, scores and ranks, but no text."""
    retriever = HindsightRetriever(bank)
    nodes = retriever.retrieve(QUESTION) if way == "sync" else asyncio.run(retriever.aretrieve(QUESTION))
    counted = [
        [event for event in events if type(event) is kind]
        for kind in (RetrievalStartEvent, RetrievalEndEvent)
    ]
    assert [len(found) for found in counted] == [1, 1]
    [told] = [event for event in events if isinstance(event, MemoryRecalled)]
    assert (told.bank, told.units) == ("street", [node.node_id for node in nodes])
    assert "semantic" in told.channels[0]
    assert "pianos" not in told.model_dump_json()
