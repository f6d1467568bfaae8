"""A VectorIndex over a dict of vectors, searched exactly with numpy."""

from __future__ import annotations

import threading

import numpy as np

from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, Vector, no_hits, ranked


class DictVectorIndex:
    """VectorIndex and VectorScorer by brute force: O(n * dimension) a query, exact, nothing on disk."""

    def __init__(self) -> None:
        self._vectors: dict[int, Vector] = {}
        self._watermark = 0
        self._lock = threading.Lock()
        self._snapshot: tuple[IntArray, Matrix] | None = None

    @property
    def watermark(self) -> int:
        """The bank revision this index has reached; 0 when new."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """Never: it has no files."""
        return False

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store unit-norm vectors (n, dimension) under ids (n,); an id already there is replaced."""
        with self._lock:
            for key, vector in zip(ids.tolist(), vectors, strict=True):
                self._vectors[key] = np.array(vector, np.float32)
            self._snapshot = None

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        with self._lock:
            for key in ids.tolist():
                self._vectors.pop(key, None)
            self._snapshot = None

    def advance(self, revision: int) -> None:
        """Record that everything up to `revision` has been applied."""
        self._watermark = revision

    def count(self) -> int:
        """How many vectors it holds."""
        return len(self._vectors)

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row, the `limit` nearest ids with their cosine; no hits on an empty index."""
        ids, matrix = self._arrays()
        if not len(ids):
            return [no_hits() for _ in range(len(vectors))]
        return [ranked(ids, _cosines(matrix, vector), limit) for vector in vectors]

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        with self._lock:
            held = [(place, self._vectors.get(key)) for place, key in enumerate(ids.tolist())]
        cosines = np.full(len(ids), np.nan, np.float32)
        for place, known in held:
            if known is not None:
                cosines[place] = _cosines(known[np.newaxis], vector)[0]
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids it does not hold are left out."""
        cosines = self.similarities(vector, ids)
        known = ~np.isnan(cosines)
        return ranked(ids[known], cosines[known], limit)

    def clear(self) -> None:
        """Drop everything, watermark included."""
        with self._lock:
            self._vectors.clear()
            self._snapshot = None
            self._watermark = 0

    def discard(self) -> None:
        """As `clear`."""
        self.clear()

    def close(self) -> None:
        """Nothing to release."""

    def _arrays(self) -> tuple[IntArray, Matrix]:
        """All ids (n,) and vectors (n, dimension), rebuilt after a write."""
        with self._lock:
            if self._snapshot is None:
                ids = np.array(list(self._vectors), np.int64)
                rows = list(self._vectors.values())
                self._snapshot = ids, np.stack(rows) if rows else np.empty((0, 0), np.float32)
            return self._snapshot


def _cosines(matrix: Matrix, vector: Vector) -> FloatArray:
    """Dot products of unit vectors, clipped to [-1, 1] against rounding; (n,)."""
    cosines: FloatArray = np.clip(matrix @ vector, -1.0, 1.0).astype(np.float32)
    return cosines
