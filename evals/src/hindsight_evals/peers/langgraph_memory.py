"""LangGraph's InMemoryStore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.store.memory import InMemoryStore

from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.langgraph_store import StoredTexts, index_of
from hindsight_evals.peers.ranked import RankedSystem


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield RankedSystem(StoredTexts(InMemoryStore(index=index_of(place)), place.episode), place.tokens)


LANGGRAPH_MEMORY = Peer("langgraph-memory", _opened)
