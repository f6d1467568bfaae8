"""Exact nearest neighbours in numpy: the reference index, and the one for banks too small to need a graph of neighbours."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.backends.vector.rows import Rows, no_rows
from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, Vector
from hindsight_integrations.ports.watermark import Watermark

FIRST_CAPACITY = 1024  # rows; 1.5 MB at 384 dimensions, so that a small bank grows once


class ExactVectorIndex:
    """A VectorIndex and VectorScorer over one float32 matrix in memory; its watermark starts at None in every process.

    Searches take no lock: the writer publishes a new pair of views, in one assignment. Ids that arrive in rising order
    are appended at amortised cost; replacing or removing copies the matrix once per call.
    """

    def __init__(self, bank: str = "") -> None:
        self._bank = bank
        self._watermark: Watermark | None = None
        self._rows = self._store = no_rows()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; None when new."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """Never: it has no files."""
        return False

    @property
    def rows(self) -> Rows:
        """What searches see now; it is never written to."""
        return self._rows

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,); an id already there is replaced, the last of a double one stays.

        Raises:
            IndexOutOfStep: the vectors have another dimension than those already there.
        """
        if len(ids) == 0:
            return
        rows = self._rows
        rows.check_dimension(vectors, self._bank)
        ids, vectors = _last_of_each(ids, vectors)
        if len(rows.ids) == 0 or ids[0] > rows.ids[-1]:
            self._append(ids, vectors)
        else:
            self._publish(_merged(rows.without(ids), ids, vectors))

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        left = self._rows.without(ids)
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
        return self._rows.search(vectors, limit)

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        return self._rows.similarities(vector, ids)

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids it does not hold are left out."""
        return self._rows.search_among(vector, ids, limit)

    def clear(self) -> None:
        """Drop everything, watermark included."""
        self._watermark = None
        self._publish(no_rows())

    def discard(self) -> None:
        """As `clear`."""
        self.clear()

    def close(self) -> None:
        """Release the matrix; nothing is kept."""
        self.clear()

    def _publish(self, rows: Rows) -> None:
        self._store = self._rows = rows

    def _append(self, ids: IntArray, vectors: Matrix) -> None:
        """Write behind the rows that searches see, then let them see more of the same store."""
        used = len(self._rows.ids)
        total = used + len(ids)
        if total > len(self._store.ids) or used == 0:
            self._store = _grown(self._rows, max(total, 2 * used, FIRST_CAPACITY), vectors.shape[1])
        self._store.ids[used:total] = ids
        self._store.matrix[used:total] = vectors
        self._rows = Rows(self._store.ids[:total], self._store.matrix[:total])


def _grown(rows: Rows, capacity: int, dimension: int) -> Rows:
    """A store of `capacity` rows that begins with the given ones."""
    store = Rows(np.empty(capacity, np.int64), np.empty((capacity, dimension), np.float32))
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


def _merged(rows: Rows, ids: IntArray, vectors: Matrix) -> Rows:
    """Both sets of rows by rising id; they share no id."""
    if len(rows.ids) == 0:
        return _grown(Rows(ids, vectors), len(ids), vectors.shape[1])
    together = np.concatenate((rows.ids, ids))
    order = np.argsort(together, kind="stable")
    return Rows(together[order], np.concatenate((rows.matrix, vectors))[order])
