"""Hubs: which entities are everywhere, kept up to date at the cost of what a commit mentions."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.search.graph.activation import hub_entities


class Hubs:
    """How many units mention each entity, and which of them are mentioned by more than a share of all units.

    A bank only grows while this lives (after an erasure it is counted anew), so the bar only rises: what is above it was
    above it before, or was mentioned since.
    """

    def __init__(self) -> None:
        self._counts: IntArray = np.zeros(0, np.int64)
        self._above: IntArray = np.empty(0, np.int64)

    def count(self, entities: IntArray) -> None:
        """Add mentions: the entity of each."""
        if not len(entities):
            return
        if (needed := int(entities.max()) + 1) > len(self._counts):
            grown = np.zeros(max(needed, 2 * len(self._counts)), np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        np.add.at(self._counts, entities, 1)
        self._above = np.union1d(self._above, entities)

    def of(self, units: int, roles: IntArray) -> IntArray:
        """Row ids of the hubs in a bank of so many units, ascending; see `hub_entities` for `roles`."""
        above = hub_entities(self._above, self._counts[self._above], units, np.empty(0, np.int64))
        self._above = above
        return np.union1d(above, roles)
