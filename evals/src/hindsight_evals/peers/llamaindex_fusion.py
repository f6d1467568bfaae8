"""LlamaIndex's vector index and BM25 retriever under its QueryFusionRetriever, by reciprocal rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.ranked import RankedSystem
from hindsight_integrations.models.protocols import Embedder


class SharedEmbedding(BaseEmbedding):  # type: ignore[misc] # mypy does not follow LlamaIndex
    """The shared embedder with LlamaIndex's interface."""

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.identity.name, embed_batch_size=256)
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self._embedder.embed_query(query).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class FusedNodes:
    """Nodes in a vector index; the BM25 index is built when they are searched."""

    def __init__(self, embedder: Embedder) -> None:
        self._index = VectorStoreIndex([], embed_model=SharedEmbedding(embedder))
        self._nodes: list[TextNode] = []
        self._retriever: QueryFusionRetriever | None = None
        self._lock = Lock()

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Insert one node per text."""
        nodes = [TextNode(id_=text.id, text=text.text) for text in texts]
        self._index.insert_nodes(nodes)
        self._nodes += nodes
        self._retriever = None

    def rank(self, question: str, depth: int) -> list[str]:
        """Search with both retrievers for the question itself; no further questions are generated, so no model is called."""
        with self._lock:
            retriever = self._retriever = self._retriever or self._fusion(depth)
        return [node.node.node_id for node in retriever.retrieve(question)]

    def _fusion(self, depth: int) -> QueryFusionRetriever:
        near = self._index.as_retriever(similarity_top_k=depth)
        worded = BM25Retriever.from_defaults(nodes=self._nodes, similarity_top_k=min(depth, len(self._nodes)))
        return QueryFusionRetriever(
            [near, worded],
            llm=MockLLM(),
            mode="reciprocal_rerank",
            num_queries=1,
            similarity_top_k=depth,
            use_async=False,
        )


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield RankedSystem(FusedNodes(place.embedder), place.tokens)


LLAMAINDEX_FUSION = Peer("llamaindex-fusion", _opened)
