"""The shared embedder with LangChain's and LlamaIndex's interfaces, so that every system compares the same vectors."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from hindsight_integrations.models.protocols import Embedder


class LangChainEmbeddings(Embeddings):
    """An embedder with LangChain's interface."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts."""
        vectors: list[list[float]] = self._embedder.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Embed a question."""
        vector: list[float] = self._embedder.embed_query(text).tolist()
        return vector
