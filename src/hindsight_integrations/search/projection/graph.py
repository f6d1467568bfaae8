"""The memory graph's follower, and how many units mention each entity."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.memory_graph import MemoryGraph, Mentions
from hindsight_integrations.search.graph.activation import hub_entities
from hindsight_integrations.search.projection.follower import Follower


class GraphFollower(Follower[MemoryGraph]):
    """Follows links and mentions, and counts the mentions of each entity."""

    def __init__(self, name: str, bank: str, index: MemoryGraph) -> None:
        super().__init__(name, bank, index)
        self._counts: IntArray = np.zeros(0, np.int64)

    def hubs(self, units: int, roles: IntArray) -> IntArray:
        """Row ids of entities that transmit nothing, in a bank of so many units (`hub_entities`)."""
        entities = np.flatnonzero(self._counts)
        return hub_entities(entities, self._counts[entities], units, roles)

    def _apply(self, since: int, feed: Feed) -> None:
        if since and since < feed.graph_epoch:  # links or mentions were changed in place
            self.clear()
            since = 0
        removed = feed.removed(since)
        units, edges, mentions = feed.graph(since)
        self._index.add(units, edges, mentions)
        self._index.remove(removed)
        if since == 0 or len(removed):
            mentions = feed.graph(0)[2] if since else mentions
            self._counts = np.zeros(0, np.int64)
        self._count(mentions)

    def _count(self, mentions: Mentions) -> None:
        if len(mentions.entities):
            more = np.bincount(mentions.entities)
            counts = np.zeros(max(len(more), len(self._counts)), np.int64)
            counts[: len(self._counts)] = self._counts
            counts[: len(more)] += more
            self._counts = counts
