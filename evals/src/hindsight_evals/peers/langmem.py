"""langmem's search tool over LangGraph's InMemoryStore, called as an agent calls it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.store.memory import InMemoryStore
from langmem import create_search_memory_tool

from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.langgraph_store import StoredTexts, index_of
from hindsight_evals.peers.ranked import RankedSystem


class SearchedTexts(StoredTexts):
    """A namespace that is searched with langmem's tool."""

    def __init__(self, store: InMemoryStore, episode: str) -> None:
        super().__init__(store, episode)
        self._tool = create_search_memory_tool(self.namespace, store=store)

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the results of the tool."""
        return [item["key"] for item in json.loads(self._tool.invoke({"query": question, "limit": depth}))]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield RankedSystem(SearchedTexts(InMemoryStore(index=index_of(place)), place.episode), place.tokens)


LANGMEM = Peer("langmem", _opened)
