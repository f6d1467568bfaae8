"""LangGraph's SqliteStore, with its vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.store.sqlite import SqliteStore

from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.langgraph_store import StoredTexts, index_of
from hindsight_evals.peers.loaded_sqlite import with_vectors
from hindsight_evals.peers.ranked import RankedSystem


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    with with_vectors(place.folder / "store.sqlite") as connection:
        store = SqliteStore(connection, index=index_of(place))
        store.setup()
        yield RankedSystem(StoredTexts(store, place.episode), place.tokens)


LANGGRAPH_SQLITE = Peer("langgraph-sqlite", _opened)
