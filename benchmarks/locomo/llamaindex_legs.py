"""LlamaIndex's retrievers over the units of a bank: vector, BM25, ours, and fusions of two of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from hindsight_integrations.evals.peers.llamaindex_fusion import SharedEmbedding
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.embedder import Embedder

logging.getLogger("bm25s").setLevel(logging.WARNING)


CHANNELS_OF_LEGS = (
    4,
    1,
)  # what each leg stands for: ours fuses four channels, BM25 is one; set before it was run


class Arm(StrEnum):
    """Who answers: one retriever, or the fusion of two, by reciprocal rank or (with weights) by relative score."""

    OURS_AND_BM25 = "ours + BM25"
    OURS_AND_VECTOR = "ours + vector"
    VECTOR_AND_BM25 = "vector + BM25"
    OURS_AND_BM25_BY_SCORE = "ours + BM25, 4:1"
    VECTOR_AND_BM25_BY_SCORE = "vector + BM25, 1:1"
    OURS = "ours"
    VECTOR = "vector"
    BM25 = "BM25"


def arms(
    ours: HindsightRetriever, nodes: Sequence[TextNode], embedder: Embedder, *, depth: int
) -> Mapping[Arm, BaseRetriever]:
    """Every arm over one bank. Every leg gives up to `depth` nodes; bare ones, so that fusion merges equal texts.

    Args:
        ours: over the bank, with bare nodes.
        nodes: the bank's memories, for LlamaIndex's own.
        embedder: the bank's.
        depth: nodes a leg.
    """
    index = VectorStoreIndex(list(nodes), embed_model=SharedEmbedding(embedder))
    legs: dict[Arm, BaseRetriever] = {
        Arm.OURS: ours,
        Arm.VECTOR: index.as_retriever(similarity_top_k=depth),
        Arm.BM25: BM25Retriever.from_defaults(nodes=list(nodes), similarity_top_k=depth),
    }
    fused = {
        Arm.OURS_AND_BM25: (Arm.OURS, Arm.BM25),
        Arm.OURS_AND_VECTOR: (Arm.OURS, Arm.VECTOR),
        Arm.VECTOR_AND_BM25: (Arm.VECTOR, Arm.BM25),
    }
    return {
        **{arm: _fusion([legs[leg] for leg in two], 2 * depth) for arm, two in fused.items()},
        Arm.OURS_AND_BM25_BY_SCORE: _fusion([legs[Arm.OURS], legs[Arm.BM25]], 2 * depth, CHANNELS_OF_LEGS),
        Arm.VECTOR_AND_BM25_BY_SCORE: _fusion([legs[Arm.VECTOR], legs[Arm.BM25]], 2 * depth, (1, 1)),
        **legs,
    }


def bare_nodes(
    units: Iterable[MemoryUnit], ours: HindsightRetriever, questions: Iterable[str]
) -> list[TextNode]:
    """The units as nodes with the texts that ours shows of them: without what was taken back, or with a note of it.

    Fusion takes nodes for the same by their text, and would count a memory twice whose text is another here.
    """
    shown = {node.node_id: node.text for question in questions for node in ours.retrieve(question)}
    return [TextNode(id_=unit.id, text=shown.get(unit.id, unit.text)) for unit in units]


def _fusion(
    legs: list[BaseRetriever], top_k: int, weights: tuple[float, ...] | None = None
) -> QueryFusionRetriever:
    """Fusion for the question itself: no other questions are made up, so no LLM is asked."""
    return QueryFusionRetriever(
        legs,
        llm=MockLLM(),
        mode="relative_score"
        if weights
        else "reciprocal_rerank",  # the only modes with weights are those of scores
        retriever_weights=list(weights) if weights else None,
        num_queries=1,
        similarity_top_k=top_k,
        use_async=False,
    )
