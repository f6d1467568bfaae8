"""A LangGraph store with an index, searched under its namespace: what the stores that LangGraph ships have in common."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import BaseStore, IndexConfig, PutOp

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import Place
from hindsight_evals.peers.embeddings import LangChainEmbeddings

FIELD = "text"


def index_of(place: Place) -> IndexConfig:
    """The index of a store over the texts."""
    return {
        "dims": place.embedder.identity.dimension,
        "embed": LangChainEmbeddings(place.embedder),
        "fields": [FIELD],
    }


class StoredTexts:
    """One namespace of a store.

    Attributes:
        namespace: it.
    """

    def __init__(self, store: BaseStore, episode: str) -> None:
        self._store, self.namespace = store, ("memories", episode)

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Put texts under their ids, in as few batches as have no text twice: InMemoryStore fails on such (langgraph 1.2)."""
        waiting = list(texts)
        while waiting:
            batch = {text.text: text for text in reversed(waiting)}
            self._store.batch([self._put(text) for text in batch.values()])
            waiting = [text for text in waiting if batch[text.text] is not text]

    def _put(self, text: MemoryText) -> PutOp:
        """Names the field it is found by: SqliteStore overlooks its index's `fields`, and would embed the moment too (3.1.2)."""
        return PutOp(self.namespace, text.id, {FIELD: text.text, "moment": text.moment.isoformat()}, [FIELD])

    def rank(self, question: str, depth: int) -> list[str]:
        """The store's own search."""
        return [item.key for item in self._store.search(self.namespace, query=question, limit=depth)]
