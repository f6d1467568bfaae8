"""Array types that the ledger and the indexes share. Units and entities are identified by their ledger row ids (int64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hindsight_integrations.model.units import FactType

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Vector: TypeAlias = npt.NDArray[np.float32]
Matrix: TypeAlias = npt.NDArray[np.float32]

NEVER = np.iinfo(np.int64).max
"""The value of `closed_at`, in microseconds, of a unit that is still valid."""

UNDATED = np.iinfo(np.int64).min
"""The start and end, in microseconds, of a unit without an occurrence interval."""


WAITING = len(FactType)
"""Added to the type code of a turn that waits for extraction, so that filters by memory type exclude it."""

STORED = 2 * len(FactType)
"""Added to the type code of a stored item's text, so that filters by memory type exclude it."""

IN_DOCUMENT = 3 * len(FactType)
"""Added to the type code of an item of a document, so that filters by memory type exclude it."""


def no_gaps() -> IntArray:
    """Return an empty array of validity gaps, (0, 3), for units that were never restored (see `UnitColumns`)."""
    return np.empty((0, 3), np.int64)


@dataclass(frozen=True, slots=True)
class Hits:
    """A ranked list: ids (n,) int64 and scores (n,) float32, best first, ties by ascending id."""

    ids: IntArray
    scores: FloatArray

    def __len__(self) -> int:
        return len(self.ids)


def no_hits() -> Hits:
    """Return an empty ranked list."""
    return Hits(np.empty(0, np.int64), np.empty(0, np.float32))


def fault_of_vectors(vectors: Matrix) -> str:
    """Describe the first defect of vectors (n, dimension) that makes cosines impossible to compute; empty if there is none.

    All vectors, from embedders and from archives, are checked here before they are stored.
    """
    if not np.isfinite(vectors).all():
        return "vectors with NaN or infinity"
    # This is infinite if float32 overflows, as a cosine would.
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if not np.isfinite(squares).all():
        return "a vector whose length overflows float32"
    return "" if squares.all() else "a vector of zeros"


def ranked(ids: IntArray, scores: FloatArray, limit: int) -> Hits:
    """Return the best `limit` of (ids, scores), by descending score, ties by ascending id.

    The order is total, so the result is deterministic.
    """
    if limit <= 0 or len(ids) == 0:
        return no_hits()
    if limit < len(ids):
        cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        keep = scores >= cut
        ids, scores = ids[keep], scores[keep]
    order = np.lexsort((ids, -scores))[:limit]
    return Hits(ids[order], scores[order])
