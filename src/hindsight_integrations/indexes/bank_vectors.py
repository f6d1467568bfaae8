"""Vector search in one bank: the index on disk combined with the vectors not yet written to it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hindsight_integrations.errors import StorageError
from hindsight_integrations.indexes.protocols import VectorIndex, VectorScorer
from hindsight_integrations.model.arrays import Hits, IntArray, Matrix, Vector, ranked

logger = logging.getLogger("hindsight_integrations")


class ScoringVectorIndex(VectorIndex, VectorScorer, Protocol):
    """An exact vector index that can also score chosen units."""


@dataclass(slots=True)
class IndexState:
    """The state of an index, shared by all its users on any thread.

    Attributes:
        problem: the reason why the index must not be searched, or empty. A failing search sets it, a rebuild
            resets it.
        clears: number of times the index has been emptied.
    """

    problem: str = ""
    clears: int = 0


@dataclass(frozen=True, slots=True)
class BankVectors:
    """Nearest neighbours in a whole bank, from the index and from the vectors not yet written to it (the tail).

    The tail is scored exactly; entries of the index with an id in the tail are ignored. If the index cannot
    be searched, all vectors are scored exactly, which is slower in a large bank.

    Attributes:
        scorer: exact cosines of all units.
        index: the index; None if it is empty or must not be searched.
        tail: the ids changed since the index was written, ascending.
        state: whether the index may be searched.
        clears: the value of `state.clears` when this object was created; if it has changed since, the index
            may lack vectors.
    """

    scorer: ScoringVectorIndex
    index: VectorIndex | None = None
    tail: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    state: IndexState = field(default_factory=IndexState)
    clears: int = 0

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with the scorer's cosine in [-1, 1]."""
        indexed = self._indexed(vectors, limit) if limit > 0 and len(vectors) else None
        if indexed is None:
            return self.scorer.search(vectors, limit)
        return [self._joined(query, hits, limit) for query, hits in zip(vectors, indexed, strict=True)]

    def _indexed(self, vectors: Matrix, limit: int) -> list[Hits] | None:
        """Return the index's hits without outdated ones, at least `limit` per query if there are as many; None on failure."""
        if self.index is None or not self._trusted():
            return None
        ask = limit
        try:
            while True:
                results = self.index.search(vectors, ask)
                kept = [self._outside(hits) for hits in results]
                if all(
                    len(some) >= limit or len(hits) < ask for some, hits in zip(kept, results, strict=True)
                ):
                    return kept if self._trusted() else None
                ask *= 2
        except StorageError as error:
            if self._trusted():
                logger.warning("the vector index failed; using exact search instead: %s", error)
                self.state.problem = str(error)
            return None

    def _trusted(self) -> bool:
        return not self.state.problem and self.state.clears == self.clears

    def _outside(self, hits: Hits) -> Hits:
        if not len(self.tail):
            return hits
        place = np.minimum(np.searchsorted(self.tail, hits.ids), len(self.tail) - 1)
        keep = self.tail[place] != hits.ids
        return Hits(hits.ids[keep], hits.scores[keep])

    def _joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """Rank the index's hits and the unwritten vectors by the scorer's cosines; the index rounds differently."""
        ids = np.concatenate([hits.ids, self.tail])
        cosines = self.scorer.similarities(query, ids)
        known = ~np.isnan(cosines)  # a unit erased after the search has no cosine
        return ranked(ids[known], cosines[known], limit)
