"""The numpy vector index beyond the contract."""

from __future__ import annotations

import numpy as np
import pytest
from table import every_row
from vectors import nearest, unit_vectors

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.indexes import exact
from hindsight_integrations.indexes.exact import ExactVectorIndex


def test_growth_keeps_every_vector() -> None:
    """A growing index still finds every vector."""
    vectors = unit_vectors(exact.FIRST_CAPACITY * 2 + 3, 8)
    index = ExactVectorIndex()
    for row, vector in enumerate(vectors):
        index.upsert(np.array([row]), vector[None])
    assert index.count() == len(vectors)
    assert [hits.ids[0] for hits in index.search(vectors[::97], 1)] == list(range(0, len(vectors), 97))


def test_what_a_search_sees_never_changes() -> None:
    """A running search is not affected by concurrent writes."""
    vectors = unit_vectors(20, 8)
    index = ExactVectorIndex()
    index.upsert(np.arange(10), vectors[:10])
    seen = index._rows
    index.upsert(np.arange(10, 20), vectors[10:])
    index.upsert(np.arange(3), -vectors[:3])
    index.remove(np.arange(5, 9))
    index.upsert(np.array([50]), vectors[:1])
    assert seen.ids.tolist() == list(range(10))
    np.testing.assert_array_equal(seen.matrix, vectors[:10])


def test_many_queries_are_scored_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch too large for one block of scores gives the same answers."""
    vectors, queries = unit_vectors(50, 8), unit_vectors(11, 8, seed=1)
    index = ExactVectorIndex()
    index.upsert(np.arange(50), vectors)
    monkeypatch.setattr(exact, "SCORES_AT_ONCE", 120)
    for hits, query in zip(index.search(queries, 5), queries, strict=True):
        assert hits.ids.tolist() == nearest(np.arange(50), vectors, query, 5).ids.tolist()


@pytest.mark.slow
@every_row("seed", range(4))
def test_equal_vectors_tie_in_a_large_bank(seed: int) -> None:
    """Copies of one vector tie exactly and the lowest ids are kept, although BLAS gives them different last bits."""
    vectors = unit_vectors(20_003, 384, seed=seed)
    copies = np.append(np.arange(5, 20_000, 97), [20_000, 20_001, 20_002])
    vectors[copies] = vectors[5]
    query = vectors[5] * np.float32(0.6) + vectors[7] * np.float32(0.7)
    index = ExactVectorIndex()
    index.upsert(np.arange(len(vectors)), vectors)
    for limit in (10, 203, 208):
        [hits] = index.search(query[None], limit)
        assert hits.ids.tolist() == [7, *copies[: limit - 1]]
        assert len(set(hits.scores[1:].tolist())) == 1


def test_rounding_keeps_nobody_out_of_the_list() -> None:
    """A unit that loses its rank only by rounding of the rough score is still compared exactly."""
    rough = np.array([0.5, 0.9, 0.9 - 1e-6, 0.1], np.float32)
    assert exact._shortlist(rough, 1).tolist() == [1, 2]


def test_another_dimension_is_refused() -> None:
    """Vectors with another dimension are rejected, and the index is unchanged."""
    index = ExactVectorIndex("diary")
    index.upsert(np.arange(2), unit_vectors(2, 8))
    with pytest.raises(IndexOutOfStep, match=r"'diary'.*8 dimensions, the new ones 16"):
        index.upsert(np.arange(2), unit_vectors(2, 16))
    assert index.count() == 2
