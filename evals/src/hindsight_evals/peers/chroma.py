"""Chroma: a persistent collection with cosine distance and the texts' times as metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import chromadb
from chromadb import Collection
from chromadb.config import Settings

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.ranked import RankedSystem
from hindsight_integrations.models.protocols import Embedder


class ChromaTexts:
    """One collection.

    Args:
        collection: the Chroma collection.
        embedder: the embedder of its vectors.
    """

    def __init__(self, collection: Collection, embedder: Embedder) -> None:
        self._collection, self._embedder = collection, embedder

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Upsert texts under their ids."""
        said = [text.text for text in texts]
        self._collection.upsert(
            ids=[text.id for text in texts],
            documents=said,
            embeddings=self._embedder.embed_documents(said),
            metadatas=[{"moment": text.moment.isoformat()} for text in texts],
        )

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the nearest texts of the collection."""
        vector = self._embedder.embed_query(question).reshape(1, -1)
        wanted = min(depth, self._collection.count())
        return self._collection.query(query_embeddings=vector, n_results=wanted, include=[])["ids"][0]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    settings = Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(place.folder), settings)
    collection = client.get_or_create_collection(
        "texts", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    try:
        yield RankedSystem(ChromaTexts(collection, place.embedder), place.tokens)
    finally:
        client.close()  # type: ignore[attr-defined] # what it returns has it


CHROMA = Peer("chroma", _opened)
