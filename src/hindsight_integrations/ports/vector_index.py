"""VectorIndex: nearest neighbours by cosine over the units of one bank."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, Vector
from hindsight_integrations.ports.watermark import Watermark


class VectorIndex(Protocol):
    """A projection of the ledger's vectors. One object per bank; safe to search from many threads.

    Writers call `upsert` / `remove` and then `advance`; only one thread writes. Closed units stay in: validity is a
    mask the caller applies. A backend converts its vendor's exceptions to `StorageError` types.
    """

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; kept inside the index itself; None when new."""
        ...

    @property
    def keeps_removed(self) -> bool:
        """Whether removed vectors stay in its files until `clear` and the next `advance`."""
        ...

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store unit-norm vectors (n, dimension) under ids (n,); an id already there is replaced."""
        ...

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied."""
        ...

    def count(self) -> int:
        """How many vectors it holds."""
        ...

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1].

        Fewer where the index holds fewer; an empty list of hits on an empty index.
        """
        ...

    def clear(self) -> None:
        """Drop everything, watermark included. Works on a broken index too."""
        ...

    def discard(self) -> None:
        """Drop everything for good, files included; the object is of no use afterwards."""
        ...

    def close(self) -> None:
        """Release what it holds; the data stays."""
        ...


class VectorScorer(Protocol):
    """An optional power: exact cosines of given ids."""

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        ...

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly."""
        ...
