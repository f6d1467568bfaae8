"""A LangGraph store with an index, searched under one namespace; the common part of LangGraph's own stores."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.store.base import BaseStore, IndexConfig, PutOp

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import Place
from hindsight_evals.peers.embeddings import LangChainEmbeddings

FIELD = "text"


def index_of(place: Place) -> IndexConfig:
    """Return the configuration of a store's index over the texts."""
    return {
        "dims": place.embedder.identity.dimension,
        "embed": LangChainEmbeddings(place.embedder),
        "fields": [FIELD],
    }


class StoredTexts:
    """One namespace of a store.

    Attributes:
        namespace: the namespace.
    """

    def __init__(self, store: BaseStore, episode: str) -> None:
        self._store, self.namespace = store, ("memories", episode)

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Put texts under their ids, in as few batches as possible without equal texts in one batch.

        InMemoryStore fails if a batch contains a text twice (langgraph 1.2).
        """
        waiting = list(texts)
        while waiting:
            batch = {text.text: text for text in reversed(waiting)}
            self._store.batch([self._put(text) for text in batch.values()])
            waiting = [text for text in waiting if batch[text.text] is not text]

    def _put(self, text: MemoryText) -> PutOp:
        """Create a put that names the field to index.

        SqliteStore ignores its index's `fields`, and would embed the time too (3.1.2).
        """
        return PutOp(self.namespace, text.id, {FIELD: text.text, "moment": text.moment.isoformat()}, [FIELD])

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the results of the store's search."""
        return [item.key for item in self._store.search(self.namespace, query=question, limit=depth)]
