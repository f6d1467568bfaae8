"""Exact nearest neighbours in numpy: the reference index, and the one for banks too small to need a graph of neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, Vector, no_hits, ranked
from hindsight_integrations.ports.watermark import Watermark

FIRST_CAPACITY = 1024  # rows; 1.5 MB at 384 dimensions, so that a small bank grows once

SCORES_AT_ONCE = 16_000_000  # floats: 64 MB of scores for one block of queries, however large the bank

ROUNDING = 1e-5
"""How far two float32 dot products of the same unit vectors may lie apart, with a wide margin (measured: 3e-8).

BLAS gives equal rows scores that differ in the last bit, depending on where in the matrix they stand (measured at
100k x 384). So BLAS only picks who can be in the list, and `_cosines` gives the scores.
"""

FEW_QUERIES = 4
"""Queries that are scored one by one. Reading the matrix is what one costs, in BLAS or not; but BLAS wakes threads of its own
and waits for them: 48 ms instead of 0.8 at 10k x 384 where other threads keep the cores busy (decision 091)."""

# Picking rows copies them: ten times the cost of reading in place (0.5 and 0.05 us a row, 100k x 384).
PICK_COST = 10


@dataclass(frozen=True, slots=True)
class _Rows:
    """What searches see: ids (n,) ascending and their vectors (n, dimension). Never written to once published."""

    ids: IntArray
    matrix: Matrix


def _no_rows() -> _Rows:
    return _Rows(np.empty(0, np.int64), np.empty((0, 0), np.float32))


class ExactVectorIndex:
    """A VectorIndex and VectorScorer over one float32 matrix in memory; its watermark starts at None in every process.

    Searches take no lock: the writer publishes a new pair of views, in one assignment. Ids that arrive in rising order
    are appended at amortised cost; replacing or removing copies the matrix once per call.
    """

    def __init__(self, bank: str = "") -> None:
        self._bank = bank
        self._watermark: Watermark | None = None
        self._rows = self._store = _no_rows()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; None when new."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """Never: it has no files."""
        return False

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,); an id already there is replaced, the last of a double one stays.

        Raises:
            IndexOutOfStep: the vectors have another dimension than those already there.
        """
        if len(ids) == 0:
            return
        rows = self._rows
        if len(rows.ids) and vectors.shape[1] != rows.matrix.shape[1]:
            reason = f"it holds vectors of {rows.matrix.shape[1]} dimensions and was given {vectors.shape[1]}"
            raise IndexOutOfStep("vector", self._bank, reason)
        ids, vectors = _last_of_each(ids, vectors)
        if len(rows.ids) == 0 or ids[0] > rows.ids[-1]:
            self._append(ids, vectors)
        else:
            self._publish(_merged(_without(rows, ids), ids, vectors))

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        left = _without(self._rows, ids)
        if len(left.ids) < len(self._rows.ids):
            self._publish(left)

    def advance(self, mark: Watermark) -> None:
        """Remember that everything up to this commit has been applied, for as long as the process lives."""
        self._watermark = mark

    def count(self) -> int:
        """How many vectors it holds."""
        return len(self._rows.ids)

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]."""
        rows = self._rows
        if limit <= 0 or len(rows.ids) == 0:
            return [no_hits() for _ in range(len(vectors))]
        step = max(1, SCORES_AT_ONCE // len(rows.ids))
        if len(vectors) <= FEW_QUERIES:
            return [ranked(rows.ids, _every_cosine(rows, query), limit) for query in vectors]
        hits = []
        for start in range(0, len(vectors), step):
            block = vectors[start : start + step]
            for query, rough in zip(block, block @ rows.matrix.T, strict=True):
                hits.append(_best(rows, _shortlist(rough, limit), query, limit))
        return hits

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        rows = self._rows
        positions, known = _located(rows.ids, ids)
        cosines = np.full(len(ids), np.nan, np.float32)
        if len(positions):
            cosines[known] = _cosines(rows, positions, vector)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids it does not hold are left out."""
        rows = self._rows
        positions, _ = _located(rows.ids, ids)
        if limit <= 0 or len(positions) == 0:
            return no_hits()
        return ranked(rows.ids[positions], _cosines(rows, positions, vector), limit)

    def clear(self) -> None:
        """Drop everything, watermark included."""
        self._watermark = None
        self._publish(_no_rows())

    def discard(self) -> None:
        """As `clear`."""
        self.clear()

    def close(self) -> None:
        """Release the matrix; nothing is kept."""
        self.clear()

    def _publish(self, rows: _Rows) -> None:
        self._store = self._rows = rows

    def _append(self, ids: IntArray, vectors: Matrix) -> None:
        """Write behind the rows that searches see, then let them see more of the same store."""
        used = len(self._rows.ids)
        total = used + len(ids)
        if total > len(self._store.ids) or used == 0:
            self._store = _grown(self._rows, max(total, 2 * used, FIRST_CAPACITY), vectors.shape[1])
        self._store.ids[used:total] = ids
        self._store.matrix[used:total] = vectors
        self._rows = _Rows(self._store.ids[:total], self._store.matrix[:total])


def _grown(rows: _Rows, capacity: int, dimension: int) -> _Rows:
    """A store of `capacity` rows that begins with the given ones."""
    store = _Rows(np.empty(capacity, np.int64), np.empty((capacity, dimension), np.float32))
    if used := len(rows.ids):
        store.ids[:used] = rows.ids
        store.matrix[:used] = rows.matrix
    return store


def _last_of_each(ids: IntArray, vectors: Matrix) -> tuple[IntArray, Matrix]:
    """The pairs by rising id; of an id given twice, the later vector."""
    if bool(np.all(ids[1:] > ids[:-1])):
        return ids, vectors
    distinct, backwards = np.unique(ids[::-1], return_index=True)
    return distinct, vectors[len(ids) - 1 - backwards]


def _without(rows: _Rows, ids: IntArray) -> _Rows:
    """The rows whose id is not among `ids`."""
    keep = ~np.isin(rows.ids, ids)
    return rows if keep.all() else _Rows(rows.ids[keep], rows.matrix[keep])


def _merged(rows: _Rows, ids: IntArray, vectors: Matrix) -> _Rows:
    """Both sets of rows by rising id; they share no id."""
    if len(rows.ids) == 0:
        return _grown(_Rows(ids, vectors), len(ids), vectors.shape[1])
    together = np.concatenate((rows.ids, ids))
    order = np.argsort(together, kind="stable")
    return _Rows(together[order], np.concatenate((rows.matrix, vectors))[order])


def _located(held: IntArray, ids: IntArray) -> tuple[IntArray, IntArray]:
    """Positions in `held` (ascending) of the ids it has, and the positions in `ids` where those stand."""
    if len(held) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if len(held) == len(ids) and np.array_equal(held, ids):  # a whole bank's: 2 ms of searching saved at 100k
        everywhere = np.arange(len(held))
        return everywhere, everywhere
    positions = np.minimum(np.searchsorted(held, ids), len(held) - 1)
    known = np.flatnonzero(held[positions] == ids)
    return positions[known], known


def _shortlist(rough: FloatArray, limit: int) -> IntArray:
    """Positions of every score that rounding could have kept out of the best `limit`, and of those."""
    if limit >= len(rough):
        return np.arange(len(rough))
    cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
    return np.flatnonzero(rough >= cut - ROUNDING)


def _cosines(rows: _Rows, positions: IntArray, vector: Vector) -> FloatArray:
    """Dot products summed in the same order for every row, so that equal vectors have equal scores everywhere."""
    if PICK_COST * len(positions) > len(rows.ids):
        return _every_cosine(rows, vector)[positions]
    scores: FloatArray = np.einsum("ij,j->i", rows.matrix[positions], vector)
    return np.clip(scores, -1.0, 1.0)


def _every_cosine(rows: _Rows, vector: Vector) -> FloatArray:
    scores: FloatArray = np.einsum("ij,j->i", rows.matrix, vector)
    return np.clip(scores, -1.0, 1.0)


def _best(rows: _Rows, positions: IntArray, vector: Vector, limit: int) -> Hits:
    return ranked(rows.ids[positions], _cosines(rows, positions, vector), limit)
