"""Rows: unit vectors and their row ids as arrays, and exact cosines over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.ports.arrays import (
    BoolArray,
    FloatArray,
    Hits,
    IntArray,
    Matrix,
    Vector,
    no_hits,
    ranked,
)

SCORES_AT_ONCE = 16_000_000  # floats: 64 MB of scores for one block of queries, however large the bank

ROUNDING = 1e-5
"""How far two float32 dot products of the same unit vectors may lie apart, with a wide margin (measured: 3e-8).

BLAS gives equal rows scores that differ in the last bit, depending on where in the matrix they stand (measured at
100k x 384). So BLAS only picks who can be in the list, and `Rows._cosines` gives the scores.
"""

FEW_QUERIES = 4
"""Queries that are scored one by one. Reading the matrix is what one costs, in BLAS or not; but BLAS wakes threads of its own
and waits for them: 48 ms instead of 0.8 at 10k x 384 where other threads keep the cores busy."""

# Picking rows copies them: ten times the cost of reading in place (0.5 and 0.05 us a row, 100k x 384).
PICK_COST = 10


@dataclass(frozen=True, slots=True)
class Rows:
    """What searches see. Never written to once published.

    Attributes:
        ids: (n,), ascending.
        matrix: their vectors, (n, dimension).
        hidden: rows that are not to be found, (n,); None if all are.
    """

    ids: IntArray
    matrix: Matrix
    hidden: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def check_dimension(self, vectors: Matrix, bank: str) -> None:
        """Refuse vectors that cannot stand beside these.

        Raises:
            IndexOutOfStep: they have another dimension; the error names the bank.
        """
        if len(self) and vectors.shape[1] != self.matrix.shape[1]:
            reason = f"it holds vectors of {self.matrix.shape[1]} dimensions and was given {vectors.shape[1]}"
            raise IndexOutOfStep("vector", bank, reason)

    def search(self, queries: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]."""
        if limit <= 0 or len(self.ids) == 0:
            return [no_hits() for _ in range(len(queries))]
        if len(queries) <= FEW_QUERIES:
            return [self._best(self.shown_places, query, limit) for query in queries]
        step = max(1, SCORES_AT_ONCE // len(self.ids))
        hits = []
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            for query, rough in zip(block, block @ self.matrix.T, strict=True):
                if self.hidden is None:
                    places = _shortlist(rough, limit)
                else:
                    shown = self.shown_places
                    places = shown[_shortlist(rough[shown], limit)]
                hits.append(self._best(places, query, limit))
        return hits

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id that is not here."""
        positions, known = self._located(ids)
        cosines = np.full(len(ids), np.nan, np.float32)
        if len(positions):
            cosines[known] = self._cosines(positions, vector)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids that are not here are left out."""
        positions, _ = self._located(ids)
        if limit <= 0 or len(positions) == 0:
            return no_hits()
        return self._best(positions, vector, limit)

    def without(self, ids: IntArray) -> Rows:
        """The rows whose id is not among `ids`."""
        keep = ~np.isin(self.ids, ids)
        return self if keep.all() else Rows(self.ids[keep], self.matrix[keep])

    def hiding(self, ids: IntArray) -> Rows:
        """The same rows, those of `ids` hidden too."""
        positions, _ = self._located(ids)
        if not len(positions):
            return self
        hidden = np.zeros(len(self.ids), np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[positions] = True
        return Rows(self.ids, self.matrix, hidden)

    @property
    def shown(self) -> int:
        """How many rows can be found."""
        return len(self.ids) - (0 if self.hidden is None else int(self.hidden.sum()))

    @property
    def shown_places(self) -> IntArray:
        """Where the rows that can be found stand, ascending."""
        return np.arange(len(self.ids)) if self.hidden is None else np.flatnonzero(~self.hidden)

    def _located(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Positions of the ids that are here and not hidden, and the positions in `ids` where those stand."""
        if len(self.ids) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.hidden is None and len(ids) == len(self.ids) and np.array_equal(ids, self.ids):
            everywhere = np.arange(len(ids))  # a whole bank's: 2 ms of searching saved at 100k
            return everywhere, everywhere
        positions = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        here = self.ids[positions] == ids
        if self.hidden is not None:
            here &= ~self.hidden[positions]
        known = np.flatnonzero(here)
        return positions[known], known

    def _cosines(self, positions: IntArray, vector: Vector) -> FloatArray:
        """Dot products summed in the same order for every row, so that equal vectors have equal scores everywhere."""
        if PICK_COST * len(positions) > len(self.ids):
            scores: FloatArray = np.einsum("ij,j->i", self.matrix, vector)[positions]
        else:
            scores = np.einsum("ij,j->i", self.matrix[positions], vector)
        return np.clip(scores, -1.0, 1.0)

    def _best(self, positions: IntArray, vector: Vector, limit: int) -> Hits:
        return ranked(self.ids[positions], self._cosines(positions, vector), limit)


def no_rows() -> Rows:
    """Rows of nothing, of no dimension."""
    return Rows(np.empty(0, np.int64), np.empty((0, 0), np.float32))


def _shortlist(rough: FloatArray, limit: int) -> IntArray:
    """Positions of every score that rounding could have kept out of the best `limit`, and of those."""
    if limit >= len(rough):
        return np.arange(len(rough))
    cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
    return np.flatnonzero(rough >= cut - ROUNDING)
