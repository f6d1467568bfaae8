"""NodeIds: which node a row id is, as two arrays; a dictionary of Python integers takes ten times their memory."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ports.arrays import BoolArray, IntArray

FIRST_CAPACITY = 64  # rows, so that a small bank grows once

ABSENT = -1


class NodeIds:
    """Row ids and their nodes, by rising id. Ids that arrive in rising order are appended at amortised cost."""

    def __init__(self) -> None:
        self._ids, self._nodes = np.empty((2, FIRST_CAPACITY), np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> IntArray:
        """All row ids, ascending."""
        return self._ids[: self._count]

    def nodes(self, ids: IntArray) -> IntArray:
        """The node of each id, (n,); ABSENT for ids that have none."""
        if not self._count:
            return np.full(len(ids), ABSENT, np.int64)
        held = self.ids
        at = np.minimum(np.searchsorted(held, ids), self._count - 1)
        return np.where(held[at] == ids, self._nodes[at], ABSENT)

    def add(self, ids: IntArray, nodes: IntArray) -> None:
        """Take in ids (ascending, none of them here yet) and their nodes."""
        total = self._count + len(ids)
        if not len(ids):
            return
        if self._count and ids[0] < self._ids[self._count - 1]:
            at = np.searchsorted(self.ids, ids)
            nodes = np.insert(self._nodes[: self._count], at, nodes)
            ids = np.insert(self.ids, at, ids)
            self._count = 0
        if total > len(self._ids):
            self._ids, self._nodes = (
                np.concatenate([store[: self._count], np.empty(2 * total - self._count, np.int64)])
                for store in (self._ids, self._nodes)
            )
        self._ids[self._count : total], self._nodes[self._count : total] = ids, nodes
        self._count = total

    def drop(self, ids: IntArray) -> None:
        """Forget ids; unknown ones are ignored."""
        keep: BoolArray = ~np.isin(self.ids, ids)
        self._ids, self._nodes = self.ids[keep], self._nodes[: self._count][keep]
        self._count = len(self._ids)
