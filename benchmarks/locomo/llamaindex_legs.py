"""LlamaIndex's retrievers over the units of a bank: vector, BM25, ours, and fusions of two of them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr

from hindsight_integrations import MemoryBank
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.embedder import Embedder

logging.getLogger("bm25s").setLevel(logging.WARNING)


class Arm(StrEnum):
    """Who answers: one retriever, or the reciprocal rank fusion of two."""

    OURS_AND_BM25 = "ours + BM25"
    VECTOR_AND_BM25 = "vector + BM25"
    OURS = "ours"
    VECTOR = "vector"
    BM25 = "BM25"


class BankEmbedding(BaseEmbedding):  # type: ignore[misc] # mypy does not follow LlamaIndex
    """The bank's own embedder as LlamaIndex's, so that both sides compare the same vectors."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.identity.name, embed_batch_size=256)
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in self._embedder.embed_documents(texts)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(map(float, self._embedder.embed_query(query)))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def arms(
    bank: MemoryBank, units: Iterable[MemoryUnit], embedder: Embedder, *, asked_at: datetime, depth: int
) -> Mapping[Arm, BaseRetriever]:
    """Every arm over one bank. Every leg gives up to `depth` nodes; bare nodes, so that fusion merges equal texts.

    Args:
        bank: the bank, for ours.
        units: its units, for LlamaIndex's own.
        embedder: the bank's.
        asked_at: from when questions are asked, which is ours to know.
        depth: nodes a leg.
    """
    nodes = [TextNode(id_=unit.id, text=unit.text) for unit in units]
    depth = min(depth, len(nodes))
    index = VectorStoreIndex(nodes, embed_model=BankEmbedding(embedder))
    legs: dict[Arm, BaseRetriever] = {
        Arm.OURS: HindsightRetriever(bank, k=depth, query_timestamp=asked_at, metadata_keys=()),
        Arm.VECTOR: index.as_retriever(similarity_top_k=depth),
        Arm.BM25: BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=depth),
    }
    fused = {
        Arm.OURS_AND_BM25: (Arm.OURS, Arm.BM25),
        Arm.VECTOR_AND_BM25: (Arm.VECTOR, Arm.BM25),
    }
    return {
        **{arm: _fusion([legs[leg] for leg in two], 2 * depth) for arm, two in fused.items()},
        **legs,
    }


def _fusion(legs: list[BaseRetriever], top_k: int) -> QueryFusionRetriever:
    """Reciprocal rank fusion of the question itself: no other questions are made up, so no LLM is asked."""
    return QueryFusionRetriever(
        legs,
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=top_k,
        use_async=False,
    )
