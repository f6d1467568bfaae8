"""BankVectors: the vectors of one bank as searches see them, the index on disk and what it was not given yet as one."""

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
class IndexStanding:
    """How far an index may be asked, shared by its follower and by all searches of it, on any thread.

    Attributes:
        problem: why it may not be; empty if it may. A search that fails sets it, healing takes it away.
        clears: how often the index was emptied so far.
    """

    problem: str = ""
    clears: int = 0


@dataclass(frozen=True, slots=True)
class BankVectors:
    """Nearest neighbours of a whole bank: an index asked, its tail scored exactly, both ranked as one list.

    The tail is what changed since the index was last written: an id in it hides whatever the index has under that id.
    Where the index cannot be asked, everything is scored exactly: slower in a large bank, never a wrong answer.

    Attributes:
        scorer: exact cosines of all units.
        index: the index; None where it holds nothing to find.
        tail: ids changed since it was written, ascending.
        standing: of the index.
        clears: of the standing, when this was made: an index emptied since then holds less than it says here.
    """

    scorer: ScoringVectorIndex
    index: VectorIndex | None = None
    tail: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    standing: IndexStanding = field(default_factory=IndexStanding)
    clears: int = 0

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1], as of the scorer."""
        found = self._indexed(vectors, limit) if limit > 0 and len(vectors) else None
        if found is None:
            return self.scorer.search(vectors, limit)
        return [self._joined(query, hits, limit) for query, hits in zip(vectors, found, strict=True)]

    def _indexed(self, vectors: Matrix, limit: int) -> list[Hits] | None:
        """The index's hits that the tail does not hide, at least `limit` a query where it has so many; None if it cannot say."""
        if self.index is None or not self._trusted():
            return None
        ask = limit
        try:
            while True:
                found = self.index.search(vectors, ask)
                kept = [self._outside(hits) for hits in found]
                if all(len(some) >= limit or len(hits) < ask for some, hits in zip(kept, found, strict=True)):
                    return kept if self._trusted() else None
                ask *= 2
        except StorageError as error:
            if self._trusted():
                logger.warning("the vector index cannot be asked, exact search answers instead: %s", error)
                self.standing.problem = str(error)
            return None

    def _trusted(self) -> bool:
        return not self.standing.problem and self.standing.clears == self.clears

    def _outside(self, hits: Hits) -> Hits:
        if not len(self.tail):
            return hits
        place = np.minimum(np.searchsorted(self.tail, hits.ids), len(self.tail) - 1)
        keep = self.tail[place] != hits.ids
        return Hits(hits.ids[keep], hits.scores[keep])

    def _joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """Hits and tail by the scorer's cosines: an index rounds its own way, and equal vectors must tie wherever they are."""
        ids = np.concatenate([hits.ids, self.tail])
        cosines = self.scorer.similarities(query, ids)
        known = ~np.isnan(cosines)  # a unit erased meanwhile has none
        return ranked(ids[known], cosines[known], limit)
