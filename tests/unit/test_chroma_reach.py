"""Vectors that a Chroma graph cannot reach are scored separately, and how often the graph is checked for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from builders import make_mark
from vector_index_contract import alike

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.indexes.chroma import SCAN_SHARE, ChromaVectorIndex, ChromaVectors, SearchReach
from hindsight_integrations.model.arrays import IntArray, Matrix

HELD = 8 * SCAN_SHARE


@pytest.fixture
def index() -> Iterator[ChromaVectorIndex]:
    """An empty index in memory."""
    store = ChromaVectors(None)
    yield store.open("00ff")
    store.close()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of vectors at each check."""
    seen: list[int] = []
    scan = SearchReach.scan

    def counted(reach: SearchReach, *starts: np.ndarray) -> None:
        scan(reach, *starts)
        seen.append(reach.held or 0)

    monkeypatch.setattr(SearchReach, "scan", counted)
    return seen


def nearest_ids(index: ChromaVectorIndex, vectors: Matrix) -> list[int]:
    """Return the nearest id of each vector."""
    return [int(hits.ids[0]) for hits in index.search(vectors, 1)]


def stored(index: ChromaVectorIndex, ids: IntArray, vectors: Matrix, revision: int) -> None:
    """Write vectors as a follower does."""
    index.upsert(ids, vectors)
    index.advance(make_mark(revision))


def test_a_graph_is_looked_through_at_its_first_search_and_after_a_share_of_writes(
    index: ChromaVectorIndex, looks: list[int]
) -> None:
    """The graph is checked at the first search and after a share of new vectors, but not when only writing."""
    ids, vectors = np.arange(HELD + 12, dtype=np.int64), alike(HELD + 12, seed=0)
    stored(index, ids[:HELD], vectors[:HELD], 1)
    assert looks == []
    for _ in range(3):
        nearest_ids(index, vectors[:HELD:50])
    assert looks == [HELD]
    for number in range(HELD, HELD + 7):
        stored(index, ids[number : number + 1], vectors[number : number + 1], number)
        assert nearest_ids(index, vectors[HELD : number + 1]) == list(range(HELD, number + 1))
    assert looks == [HELD]
    stored(index, ids[HELD + 7 :], vectors[HELD + 7 :], HELD + 12)
    assert looks == [HELD, HELD + 12]
    assert nearest_ids(index, vectors) == ids.tolist()


def test_a_search_that_comes_back_short_makes_it_look_from_there(
    index: ChromaVectorIndex, looks: list[int]
) -> None:
    """A search with too few results triggers another check."""
    vectors = alike(600, seed=1)
    stored(index, np.arange(600, dtype=np.int64), vectors, 1)
    index.search(vectors[:1], 1)
    assert index._bound is not None
    reach = index._bound.reach
    assert 0 < len(reach.beside.ids) < 600
    reach.beside = reach.beside.without(reach.beside.ids)
    assert sorted(index.search(vectors[:1], 600)[0].ids.tolist()) == list(range(600))
    assert looks == [600, 600]
    assert nearest_ids(index, vectors) == list(range(600))


def test_an_emptied_index_scores_nothing_beside_it(index: ChromaVectorIndex) -> None:
    """Clearing the index also clears the separately scored vectors."""
    vectors = alike(600, seed=2)
    stored(index, np.arange(600, dtype=np.int64), vectors, 1)
    index.search(vectors[:1], 1)
    index.clear()
    assert [len(hits) for hits in index.search(vectors[:2], 600)] == [0, 0]
    stored(index, np.arange(3, dtype=np.int64), vectors[:3], 1)
    assert sorted(index.search(vectors[:1], 600)[0].ids.tolist()) == [0, 1, 2]


def test_a_vector_that_is_counted_and_in_no_graph_is_damage(tmp_path: Path) -> None:
    """If a row of Chroma's log is lost, its count and its first row are right; the index is out of step until it is cleared."""
    vectors, ids = alike(50, seed=3), np.arange(50, dtype=np.int64)
    store = ChromaVectors(tmp_path)
    stored(store.open("00ff"), ids, vectors, 1)
    store.close()
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3")) as database, database:
        assert database.execute("DELETE FROM embeddings_queue WHERE id = '25'").rowcount == 1
    store = ChromaVectors(tmp_path)
    index = store.open("00ff")
    assert (index.watermark, index.count()) == (make_mark(1), 50)
    for call in (lambda: index.search(vectors[:1], 1), index.count):
        with pytest.raises(IndexOutOfStep):
            call()
    index.clear()
    stored(index, ids, vectors, 1)
    assert nearest_ids(index, vectors) == ids.tolist()
    store.close()
