"""The contract of every VectorIndex, as tests. A backend's test module inherits these classes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from builders import make_mark
from vectors import nearest, unit_vectors

from hindsight_integrations.indexes.protocols import VectorIndex
from hindsight_integrations.model.arrays import IntArray, Matrix

DIMENSION = 32
READERS = 8


def row_ids(*names: int) -> IntArray:
    """Ids as the index requires them."""
    return np.array(names, np.int64)


def filled(index: VectorIndex, count: int, *, seed: int = 0) -> tuple[IntArray, Matrix]:
    """Add `count` random vectors with ids 10, 11, ..., and return them."""
    ids, vectors = np.arange(10, 10 + count, dtype=np.int64), unit_vectors(count, DIMENSION, seed=seed)
    index.upsert(ids, vectors)
    return ids, vectors


def alike(count: int, *, seed: int) -> Matrix:
    """Unit vectors (count, 384) like those of one sentence with other words added: cosines 0.7 to 0.99, half of them above 0.89.

    In an HNSW graph of 900 such vectors, about 200 have no link that leads to them (chromadb 1.5.9).
    """
    spread = np.random.default_rng(seed).uniform(0.05, 0.6, size=(count, 1))
    near = unit_vectors(1, 384, seed=seed + 1000) + spread * unit_vectors(count, 384, seed=seed)
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), np.float32)


class VectorIndexContract:
    """Inherit and give a fixture `index` with a new, empty index.

    Attributes:
        exact: whether the index answers as brute force does; otherwise it must find 98 % of the ten nearest.
    """

    exact: bool = True

    def test_new_index_is_empty(self, index: VectorIndex) -> None:
        """A new index is empty, has no watermark and finds nothing, without an error."""
        assert (index.count(), index.watermark) == (0, None)
        assert [len(hits) for hits in index.search(unit_vectors(3, DIMENSION), 5)] == [0, 0, 0]

    def test_finds_what_was_stored(self, index: VectorIndex) -> None:
        """Searching for a stored vector returns its id first, with cosine 1."""
        ids, vectors = filled(index, 50)
        for hits, own in zip(index.search(vectors, 1), ids, strict=True):
            assert hits.ids.tolist() == [own]
            assert hits.scores[0] == pytest.approx(1.0, abs=1e-5)

    def test_hits_have_the_promised_types(self, index: VectorIndex) -> None:
        """Ids are int64 and scores float32 within [-1, 1], so that callers can mask them without conversion."""
        _, vectors = filled(index, 50)
        opposite = np.concatenate((vectors, -vectors))
        for hits in index.search(opposite, 50):
            assert (hits.ids.dtype.name, hits.scores.dtype.name) == ("int64", "float32")
            assert np.abs(hits.scores).max() <= 1.0

    def test_upsert_replaces(self, index: VectorIndex) -> None:
        """A unit that is embedded again is found by its new vector only and counts once."""
        ids, vectors = filled(index, 20)
        index.upsert(ids[3:4], -vectors[3:4])
        assert index.count() == 20
        [hits] = index.search(-vectors[3:4], 1)
        assert hits.ids.tolist() == [ids[3]]
        [everything] = index.search(vectors[3:4], 20)
        assert everything.ids[-1] == ids[3]
        assert everything.scores[-1] == pytest.approx(-1.0, abs=1e-5)

    def test_upsert_mixes_new_and_known_ids_in_any_order(self, index: VectorIndex) -> None:
        """A batch may contain new and known ids unsorted; each id gets its own vector."""
        filled(index, 5)
        vectors = unit_vectors(4, DIMENSION, seed=1)
        index.upsert(row_ids(99, 12, 3, 11), vectors)
        assert index.count() == 7
        assert [hits.ids[0] for hits in index.search(vectors, 1)] == [99, 12, 3, 11]

    def test_last_of_a_double_id_stays(self, index: VectorIndex) -> None:
        """An id that occurs twice in one batch is one vector: the later one."""
        vectors = unit_vectors(3, DIMENSION)
        index.upsert(row_ids(7, 8, 7), vectors)
        assert index.count() == 2
        assert [hits.ids[0] for hits in index.search(vectors[1:], 1)] == [8, 7]

    def test_upsert_twice_changes_nothing(self, index: VectorIndex) -> None:
        """Replaying a batch after a crash gives the same count and the same answers."""
        ids, vectors = filled(index, 30)
        query = unit_vectors(1, DIMENSION, seed=2)
        [before] = index.search(query, 30)
        index.upsert(ids, vectors)
        [after] = index.search(query, 30)
        assert index.count() == 30
        assert after.ids.tolist() == before.ids.tolist()
        assert after.scores.tolist() == before.scores.tolist()

    def test_nothing_to_do_is_fine(self, index: VectorIndex) -> None:
        """Empty batches, no queries and a limit of 0 are not errors."""
        _, vectors = filled(index, 3)
        index.upsert(row_ids(), np.empty((0, DIMENSION), np.float32))
        index.remove(row_ids())
        assert index.count() == 3
        assert index.search(vectors[:0], 5) == []
        assert [len(hits) for hits in index.search(vectors[:2], 0)] == [0, 0]

    def test_removed_ids_are_never_found(self, index: VectorIndex) -> None:
        """A removed unit is not returned, and the others are."""
        ids, vectors = filled(index, 40)
        index.remove(ids[::2])
        assert index.count() == 20
        [hits] = index.search(vectors[:1], 40)
        assert sorted(hits.ids.tolist()) == ids[1::2].tolist()

    def test_remove_ignores_unknown_ids(self, index: VectorIndex) -> None:
        """Removing an id twice, or an unknown id, is not an error."""
        ids, _ = filled(index, 5)
        index.remove(row_ids(int(ids[0]), 777))
        index.remove(ids[:1])
        assert index.count() == 4

    def test_removed_id_can_come_back(self, index: VectorIndex) -> None:
        """A removed id that is stored again is found by its new vector."""
        ids, vectors = filled(index, 10)
        index.remove(ids)
        index.upsert(ids[:1], vectors[5:6])
        assert index.count() == 1
        [hits] = index.search(vectors[5:6], 3)
        assert hits.ids.tolist() == [ids[0]]

    def test_advance_moves_the_watermark(self, index: VectorIndex) -> None:
        """The watermark is the last recorded revision, and writing alone does not move it."""
        filled(index, 3)
        assert index.watermark is None
        index.advance(make_mark(4))
        index.advance(make_mark(9))
        assert index.watermark == make_mark(9)

    def test_limit_beyond_count_gives_everything(self, index: VectorIndex) -> None:
        """A limit above the number of vectors returns all of them, best first."""
        ids, vectors = filled(index, 60)
        [hits] = index.search(vectors[:1], 1000)
        assert sorted(hits.ids.tolist()) == ids.tolist()
        assert np.all(np.diff(hits.scores) <= 0)

    def test_ranking_is_that_of_brute_force(self, index: VectorIndex) -> None:
        """The nearest unit is always found, and nearly all of the ten nearest (all of them by an exact index)."""
        ids, vectors = filled(index, 600)
        queries = unit_vectors(40, DIMENSION, seed=3)
        shared = 0
        for hits, query in zip(index.search(queries, 10), queries, strict=True):
            right = nearest(ids, vectors, query, 10)
            assert hits.ids[0] == right.ids[0]
            shared += len(set(hits.ids.tolist()) & set(right.ids.tolist()))
            if self.exact:
                assert hits.ids.tolist() == right.ids.tolist()
                np.testing.assert_allclose(hits.scores, right.scores, atol=1e-5)
        assert shared >= (400 if self.exact else 392)

    def test_batch_search_equals_single_searches(self, index: VectorIndex) -> None:
        """A batch search returns what single searches return."""
        filled(index, 200)
        queries = unit_vectors(9, DIMENSION, seed=4)
        for hits, query in zip(index.search(queries, 20), queries, strict=True):
            [alone] = index.search(query[None], 20)
            assert hits.ids.tolist() == alone.ids.tolist()
            np.testing.assert_allclose(hits.scores, alone.scores, atol=1e-6)

    def test_ties_come_by_id(self, index: VectorIndex) -> None:
        """Equal vectors have equal scores and ascending ids, wherever they were stored."""
        filled(index, 203)
        same = np.repeat(unit_vectors(1, DIMENSION, seed=5), 5, axis=0)
        for name, vector in zip((900, 3, 500, 1, 999), same, strict=True):
            index.upsert(row_ids(name), vector[None])
        [hits] = index.search(same[:1], 8)
        assert hits.ids[:5].tolist() == [1, 3, 500, 900, 999]
        assert len(set(hits.scores[:5].tolist())) == 1

    def test_the_same_hundreds_of_times_hides_nothing(self, index: VectorIndex) -> None:
        """Of five texts stored 180 times each, all 900 are found from any of them."""
        vectors = np.repeat(unit_vectors(5, DIMENSION, seed=6), 180, axis=0)
        index.upsert(np.arange(900, dtype=np.int64), vectors)
        for hits in index.search(vectors[::180], 900):
            assert sorted(hits.ids.tolist()) == list(range(900))
        for hits, start in zip(index.search(vectors[::180], 200), range(0, 900, 180), strict=True):
            assert set(range(start, start + 180)) <= set(hits.ids.tolist())

    def test_vectors_much_alike_are_all_found(self, index: VectorIndex) -> None:
        """Of 900 vectors with cosines of 0.95, each finds itself, including the last 28."""
        for turn in range(3):
            vectors = alike(900, seed=turn)
            index.upsert(np.arange(872, dtype=np.int64), vectors[:872])
            index.advance(make_mark(2 * turn + 1))
            assert [hits.ids[0] for hits in index.search(vectors[:872], 1)] == list(range(872))
            index.upsert(np.arange(872, 900, dtype=np.int64), vectors[872:])
            index.advance(make_mark(2 * turn + 2))
            assert [hits.ids[0] for hits in index.search(vectors, 1)] == list(range(900))
            index.clear()

    def test_what_much_alike_vectors_hid_can_be_replaced_and_removed(self, index: VectorIndex) -> None:
        """No replaced vector and no removed id is found."""
        ids, old, new = np.arange(900, dtype=np.int64), alike(900, seed=7), alike(900, seed=8)
        index.upsert(ids, old)
        index.search(old[:1], 1)
        index.upsert(ids, new)
        index.advance(make_mark(1))
        assert [hits.ids[0] for hits in index.search(new, 1)] == ids.tolist()
        assert max(hits.scores[0] for hits in index.search(old, 1)) < 0.999
        index.remove(ids[::2])
        index.advance(make_mark(2))
        assert all(np.all(hits.ids % 2 == 1) and len(hits) == 450 for hits in index.search(new[:20], 900))

    def test_clear_forgets_everything(self, index: VectorIndex) -> None:
        """A cleared index can be filled again, even with vectors of another dimension."""
        filled(index, 20)
        index.advance(make_mark(5))
        index.clear()
        assert (index.count(), index.watermark) == (0, None)
        other = unit_vectors(2, DIMENSION * 2)
        assert [len(hits) for hits in index.search(other, 3)] == [0, 0]
        index.upsert(row_ids(1, 2), other)
        assert [hits.ids[0] for hits in index.search(other, 1)] == [1, 2]

    def test_searches_while_a_writer_writes(self, index: VectorIndex) -> None:
        """Eight threads that search during writes get no error, and always what was there before."""
        ids, vectors = filled(index, 40)
        done = threading.Event()

        def search(reader: int) -> list[int]:
            answers: list[int] = []
            while not (done.is_set() and answers):
                [hits] = index.search(vectors[reader : reader + 1], 3)
                answers.append(int(hits.ids[0]))
            return answers

        with ThreadPoolExecutor(READERS) as pool:
            readers = [pool.submit(search, reader) for reader in range(READERS)]
            try:
                for round_ in range(10):
                    fresh = 1000 + 5 * round_ + np.arange(5, dtype=np.int64)
                    index.upsert(fresh, unit_vectors(5, DIMENSION, seed=9 + round_))
                    index.advance(make_mark(round_ + 1))
            finally:
                done.set()
        for reader, answers in enumerate(readers):
            assert set(answers.result()) == {int(ids[reader])}
        assert index.count() == 90


class DurableVectorIndexContract:
    """For an index that survives its process: also provide a fixture `reopen`, which closes it and opens it again."""

    def test_reopened_index_is_the_same(self, index: VectorIndex, reopen: Callable[[], VectorIndex]) -> None:
        """After a restart the vectors and the watermark are unchanged."""
        ids, vectors = filled(index, 50)
        index.remove(ids[:10])
        index.advance(make_mark(12))
        again = reopen()
        assert (again.count(), again.watermark) == (40, make_mark(12))
        assert [hits.ids[0] for hits in again.search(vectors[10:], 1)] == ids[10:].tolist()

    def test_unrecorded_writes_leave_the_watermark(
        self, index: VectorIndex, reopen: Callable[[], VectorIndex]
    ) -> None:
        """Writes after the last `advance` are replayed after a restart, because the watermark is older."""
        filled(index, 5)
        index.advance(make_mark(1))
        filled(index, 9)
        assert reopen().watermark == make_mark(1)

    def test_cleared_index_stays_cleared(self, index: VectorIndex, reopen: Callable[[], VectorIndex]) -> None:
        """A restart does not restore cleared content."""
        filled(index, 5)
        index.advance(make_mark(1))
        index.clear()
        again = reopen()
        assert (again.count(), again.watermark) == (0, None)
