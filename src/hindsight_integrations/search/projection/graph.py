"""The memory graph's follower. It sleeps until the graph is asked for: most questions never do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.search.projection.follower import Follower


class GraphFollower(Follower[MemoryGraph]):
    """Follows links and mentions once it was woken; until then it has nothing to follow them with.

    Whoever asks first wakes it, on any thread: the lock keeps the writer thread out meanwhile. A feed opened under the
    lock is never older than a view that is already shown, because a view is shown after the follower was asked.
    """

    def __init__(
        self,
        name: str,
        bank: str,
        index: MemoryGraph,
        open_feed: Callable[[str], AbstractContextManager[Feed]],
    ) -> None:
        super().__init__(name, bank, index)
        self._open_feed = open_feed
        self._lock = Lock()
        self._awake = False

    def follow(self, feed: Feed) -> None:
        """As every follower, if it is awake."""
        with self._lock:
            if self._awake:
                super().follow(feed)

    def wake(self) -> MemoryGraph:
        """The graph, filled from the ledger if nobody had asked for it.

        Raises:
            IndexOutOfStep: it could not be filled; the next call tries again.
        """
        if not self._awake:
            with self._lock:
                if not self._awake:
                    self._fill()
        return self._index

    def _fill(self) -> None:
        with self._open_feed(self._bank) as feed:
            super().follow(feed)
        if problem := self.problem:
            self.problem, self.usable = "", True
            raise IndexOutOfStep(self.name, self._bank, problem)
        self._awake = True

    def finish(self, feed: Feed) -> None:
        """Nothing of a graph in memory is written."""

    def sleep(self) -> None:
        """Drop the graph until it is asked for again."""
        with self._lock:
            self._awake = False
            self._index.clear()

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        if since and since < feed.graph_epoch:  # links or mentions were changed in place
            self.clear()
            since = 0
        units, edges, mentions = feed.graph(since)
        self._index.add(units, edges, mentions)
        self._index.remove(feed.removed(since))
        self._index.advance(feed.mark)
