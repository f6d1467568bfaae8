"""The vector indexes' followers: the exact scorer, and the index of neighbours, written in batches."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.errors import IndexBehind, IndexOutOfStep, StorageError
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.vector_index import VectorIndex
from hindsight_integrations.search.bank_vectors import BankVectors, ScoringVectorIndex, Standing
from hindsight_integrations.search.projection.follower import Follower, logger

SAME_VECTOR = 0.999  # cosine of a vector with itself, allowing for float32

TAIL_LIMIT = 128
"""Vectors that may wait to be written: one turn of two facts in 64 pays for all of them (decision 091)."""

_NOTHING: IntArray = np.empty(0, np.int64)


class ScorerFollower(Follower[ScoringVectorIndex]):
    """Follows the vectors of a bank's units in the index that scores them exactly, at every commit."""

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        self._index.remove(feed.removed(since))
        for ids, vectors in feed.vectors(since):
            self._index.upsert(ids, vectors)
        self._index.advance(feed.mark)

    def check(self, feed: Feed) -> None:
        """As many vectors as the ledger has."""
        self._check_count(self._index.count(), feed.vector_count())


class VectorFollower(Follower[VectorIndex]):
    """Follows the vectors of a bank's units in an index that may last longer than the process.

    A commit only makes the tail longer. The index is written when tail and removals have reached the limit, when something was
    erased, and by `finish`; a kill costs the tail, which the next open finds again in the feed. Whatever
    becomes of the index, its channel is usable: `BankVectors` has the rest from the scorer.
    """

    def __init__(self, name: str, bank: str, index: VectorIndex, scorer: ScoringVectorIndex) -> None:
        super().__init__(name, bank, index)
        self._scorer = scorer
        self._standing = Standing()
        self._seen: int | None = None  # the tail is of this revision; None if it is still to be read
        self._tail = _NOTHING
        self._stale = _NOTHING  # removed, as no erasure: the index may still hold them, the scorer does not

    def vectors(self) -> BankVectors:
        """What searches may use from now on."""
        if self._standing.problem or not self._index.watermark:
            return BankVectors(self._scorer)
        hidden = np.union1d(self._tail, self._stale)
        return BankVectors(self._scorer, self._index, hidden, self._standing, self._standing.clears)

    def distrusted(self) -> str:
        """Why searches do without the index; empty if they do not."""
        return self._standing.problem

    def check(self, feed: Feed) -> None:
        """As many vectors as the ledger has, but for the tail and what is to go, and the newest of the others finds itself."""
        expected = feed.vector_count()
        self._check_count(self._index.count(), expected, waiting=len(self._tail), stale=len(self._stale))
        if not self._index.watermark:
            return
        written = np.setdiff1d(feed.embedded(self._index.watermark.revision - 1), self._tail)
        if not len(written):
            return
        best = self._index.search(feed.vectors_of(written[-1:]), 1)[0]
        if not len(best) or best.scores[0] < SAME_VECTOR:
            raise IndexOutOfStep(self.name, self._bank, "a stored vector does not find itself")

    def clear(self) -> None:
        """Empty the index for a replay from the beginning; searches do without it meanwhile."""
        self._standing.clears += 1
        self._seen = None
        self._index.clear()

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Keep a readable index as it is, with a longer tail; drop one that cannot be read, and replay it.

        A full disk is no damage: what it holds is worth keeping, and the next write tries again.
        """
        try:
            self._read_tail(feed)
            self.check(feed)
        except IndexBehind as waiting:  # the disk keeps it from being looked at, too
            self.problem = str(waiting)
        except StorageError:
            self._standing.problem = ""
            super().heal(error, feed)
            self._standing.problem = self.problem
        else:
            logger.warning("bank %r: the vector index could not be written: %s", self._bank, error)
            self.problem, self._standing.problem = str(error), ""
        self.usable = True

    def _catch_up(self, feed: Feed) -> None:
        erased = self._read_tail(feed)
        if self._standing.problem:
            self.check(feed)
            self._standing.problem = ""
        if erased or len(self._tail) + len(self._stale) >= TAIL_LIMIT:
            self._write(feed)

    def _read_tail(self, feed: Feed) -> bool:
        """Bring the tail to the feed's revision; whether something was erased that the index may still hold."""
        durable = self._since(feed)
        since, tail = (durable, _NOTHING) if self._seen is None else (self._seen, self._tail)
        if since != feed.revision:
            tail = np.union1d(tail, feed.embedded(since))
        removed = feed.removed(durable) if durable != feed.revision else _NOTHING
        if len(removed):
            tail = np.setdiff1d(tail, removed)
        self._tail, self._seen, self._stale = tail, feed.revision, removed
        return feed.erased(durable)

    def _write(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        if feed.erased(since) and self._index.keeps_removed:  # what was erased must leave its files too
            self.clear()
            since = 0
        else:
            self._index.remove(feed.removed(since))
        for ids, vectors in feed.vectors(since):
            self._index.upsert(ids, vectors)
        self._index.advance(feed.mark)
        self._tail, self._seen, self._stale = _NOTHING, feed.revision, _NOTHING
