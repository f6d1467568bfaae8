"""The contract of every VectorScorer, as tests. A backend's test module inherits this class."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pytest
from vector_index_contract import DIMENSION, filled, row_ids
from vectors import nearest, unit_vectors

from hindsight_integrations.indexes.protocols import VectorIndex, VectorScorer


class ScoringIndex(VectorIndex, VectorScorer, Protocol):
    """An index that can also score."""


class VectorScorerContract:
    """For an index that also scores given ids exactly. Fixture `index` as above."""

    def test_similarities_are_cosines_in_the_order_given(self, index: ScoringIndex) -> None:
        """Each id gets its own cosine."""
        ids, vectors = filled(index, 100)
        query = unit_vectors(1, DIMENSION, seed=6)[0]
        picked = np.random.default_rng(1).permutation(100)
        np.testing.assert_allclose(
            index.similarities(query, ids[picked]), (vectors @ query)[picked], atol=1e-5
        )

    def test_similarity_of_an_unknown_id_is_nan(self, index: ScoringIndex) -> None:
        """An unknown id gives NaN instead of a wrong number, also in an empty index."""
        query = unit_vectors(1, DIMENSION)[0]
        assert np.isnan(index.similarities(query, row_ids(1, 2))).all()
        filled(index, 3)
        unknown = np.isnan(index.similarities(query, row_ids(5, 10, 11, 99)))
        assert unknown.tolist() == [True, False, False, True]
        assert index.similarities(query, row_ids()).shape == (0,)

    @pytest.mark.parametrize("step", [1, 2, 7, 60])
    def test_search_among_ranks_only_the_given(self, index: ScoringIndex, step: int) -> None:
        """A search among some ids, many or few, equals brute force over them, without unknown ones."""
        ids, vectors = filled(index, 300)
        query = unit_vectors(1, DIMENSION, seed=7)[0]
        right = nearest(ids[::step], vectors[::step], query, 10)
        hits = index.search_among(query, np.append(ids[::step], 5000), 10)
        assert hits.ids.tolist() == right.ids.tolist()
        np.testing.assert_allclose(hits.scores, right.scores, atol=1e-5)

    def test_search_among_nothing_finds_nothing(self, index: ScoringIndex) -> None:
        """No ids, only unknown ids, a limit of 0 or an empty index give no hits and no error."""
        query = unit_vectors(1, DIMENSION)[0]
        assert len(index.search_among(query, row_ids(1), 5)) == 0
        ids, _ = filled(index, 3)
        assert len(index.search_among(query, row_ids(), 5)) == 0
        assert len(index.search_among(query, row_ids(1, 2), 5)) == 0
        assert len(index.search_among(query, ids, 0)) == 0

    def test_scores_agree_between_searches(self, index: ScoringIndex) -> None:
        """A unit has the same cosine in every search, so that channels can be compared."""
        ids, _ = filled(index, 300)
        query = unit_vectors(1, DIMENSION, seed=8)[0]
        [hits] = index.search(query[None], 40)
        assert index.similarities(query, hits.ids).tolist() == pytest.approx(hits.scores.tolist(), abs=1e-6)
        among = index.search_among(query, ids, 40)
        assert among.ids.tolist() == hits.ids.tolist()
        np.testing.assert_allclose(among.scores, hits.scores, atol=1e-6)
