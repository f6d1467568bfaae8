"""The memory graph's follower."""

from __future__ import annotations

from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.search.projection.follower import Follower
from hindsight_integrations.search.projection.hubs import Hubs


class GraphFollower(Follower[MemoryGraph]):
    """Follows links and mentions, and which entities are hubs."""

    def __init__(self, name: str, bank: str, index: MemoryGraph) -> None:
        super().__init__(name, bank, index)
        self._hubs = Hubs()

    def hubs(self, units: int, roles: IntArray) -> IntArray:
        """Row ids of entities that transmit nothing, in a bank of so many units (`hub_entities`)."""
        return self._hubs.of(units, roles)

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        if since and since < feed.graph_epoch:  # links or mentions were changed in place
            self.clear()
            since = 0
        removed = feed.removed(since)
        units, edges, mentions = feed.graph(since)
        self._index.add(units, edges, mentions)
        self._index.remove(removed)
        if since == 0 or len(removed):
            mentions = feed.graph(0)[2] if since else mentions
            self._hubs = Hubs()
        self._hubs.count(mentions.entities)
        self._index.advance(feed.mark)
