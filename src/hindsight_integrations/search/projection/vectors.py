"""The vector indexes' followers: the durable index, and the exact scorer in memory."""

from __future__ import annotations

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.vector_index import VectorIndex
from hindsight_integrations.search.projection.follower import Follower

SAME_VECTOR = 0.999  # cosine of a vector with itself, allowing for float32


class ScorerFollower(Follower[VectorIndex]):
    """Follows the vectors of a bank's units in memory."""

    def _apply(self, since: int, feed: Feed) -> None:
        removed = feed.removed(since)
        if since and len(removed) and self._index.keeps_removed:  # what was erased must leave its files too
            self.clear()
            since = 0
        ids, vectors = feed.vectors(since)
        self._index.remove(removed)
        if len(ids):
            self._index.upsert(ids, vectors)


class VectorFollower(ScorerFollower):
    """Follows the vectors of a bank's units in an index that may last longer than the process."""

    def check(self, feed: Feed) -> None:
        """As many vectors as the ledger has, and the newest finds itself."""
        self._check_count(self._index.count(), feed)
        newest, vectors = feed.vectors(feed.revision - 1)
        if not len(newest):
            return
        best = self._index.search(vectors[-1:], 1)[0]
        if not len(best) or best.scores[0] < SAME_VECTOR:
            raise IndexOutOfStep(self.name, self._bank, "a stored vector does not find itself")
