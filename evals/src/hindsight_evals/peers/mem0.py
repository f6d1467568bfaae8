"""mem0 with `infer=False`: texts stored verbatim and its search over a local Qdrant, without model calls or telemetry."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.embeddings import LangChainEmbeddings
from hindsight_evals.peers.ranked import RankedSystem
from hindsight_integrations.models.weights import environment


class Mem0Texts:
    """The memories of one user.

    Args:
        memory: mem0's Memory object.
        user: the user's id.
    """

    def __init__(self, memory: Any, user: str) -> None:  # noqa: ANN401 - mem0 is not always installed
        self._memory, self._user = memory, user

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Add texts one by one, as mem0's interface requires."""
        for text in texts:
            self._memory.add(text.text, user_id=self._user, infer=False, metadata={"text_id": text.id})

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the results of its search, without a minimum score, since the budget limits all systems."""
        found = self._memory.search(question, filters={"user_id": self._user}, top_k=depth, threshold=0.0)
        return [each["metadata"]["text_id"] for each in found["results"]]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    with environment({"MEM0_TELEMETRY": "False", "MEM0_DIR": str(place.folder / "settings")}):
        from mem0 import Memory  # it reads both variables when it is imported
    logging.getLogger("mem0").setLevel(
        logging.ERROR
    )  # it logs at every memory which of its extras are missing
    memory = Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {
                    "collection_name": "memories",
                    "path": str(place.folder / "qdrant"),
                    "embedding_model_dims": place.embedder.identity.dimension,
                    "on_disk": True,
                },
            },
            "embedder": {"provider": "langchain", "config": {"model": LangChainEmbeddings(place.embedder)}},
            "llm": {"provider": "openai", "config": {"api_key": "never used"}},
            "history_db_path": str(place.folder / "history.sqlite"),
        }
    )
    try:
        yield RankedSystem(Mem0Texts(memory, place.episode), place.tokens)
    finally:
        memory.vector_store.client.close()


MEM0 = Peer("mem0", _opened)
