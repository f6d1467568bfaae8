"""GrowingColumns: a bank's columns brought up to date at the cost of what changed, not of what the bank holds."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ports.arrays import BoolArray, IntArray
from hindsight_integrations.ports.ledger import UnitColumns
from hindsight_integrations.search.columns import (
    ARRAYS,
    Codes,
    Columns,
    coded_arrays,
    empty_columns,
    snapshot,
    updated,
)

FIRST_CAPACITY = 1024  # rows; 80 kB, so that a small bank grows once
GROWTH = 1.25  # of a full buffer: a row is copied five times on average, and a fifth of the memory is spare at most


class GrowingColumns:
    """The newest snapshot of a bank's columns, and how the next one is made of it.

    A snapshot's arrays are the beginnings of buffers with room behind them. New rows have higher ids, and are written
    behind what any snapshot shows; a value that changes costs a copy of its column; an erasure makes all anew.

    Attributes:
        newest: never written to.
    """

    def __init__(self) -> None:
        self.newest: Columns = empty_columns()
        self._buffers: dict[str, IntArray] = {}
        self._codes: Codes = Codes.of(self.newest)
        self._adopt(self.newest)

    def update(self, changes: UnitColumns, removed: IntArray) -> None:
        """Make a new snapshot with rows changed, added and removed; the same one if there is nothing to do."""
        if not len(changes.ids) and not len(removed):
            return
        last = self.newest.ids[-1] if len(self.newest) else -1
        new: BoolArray = changes.ids > last
        at = self.newest.positions(changes.ids[~new])
        if len(removed) or (at < 0).any():
            self._adopt(updated(self.newest, changes, removed))
            return
        given = coded_arrays(changes, self._codes)
        arrays = {name: self._column(name, given[name], new, at) for name in ARRAYS}
        self.newest = snapshot(arrays, self._codes, self._gaps(changes), self.newest)

    def _adopt(self, columns: Columns) -> None:
        self.newest = columns
        self._buffers = {name: getattr(columns, name) for name in ARRAYS}
        self._codes = Codes.of(columns)

    def _column(self, name: str, values: IntArray, new: BoolArray, at: IntArray) -> IntArray:
        """The column with values changed at some positions, and new ones behind."""
        buffer, used = self._buffers[name], len(self.newest)
        total = used + int(new.sum())
        if total > len(buffer):
            buffer = np.empty(max(total, int(GROWTH * used), FIRST_CAPACITY), np.int64)
            buffer[:used] = self._buffers[name][:used]
        elif not np.array_equal(buffer[at], values[~new]):
            buffer = buffer.copy()
        if buffer is not self._buffers[name]:
            buffer[at] = values[~new]
        buffer[used:total] = values[new]
        self._buffers[name] = buffer
        return buffer[:total]

    def _gaps(self, changes: UnitColumns) -> IntArray:
        gaps = self.newest.gaps
        if not len(gaps):
            return changes.gaps
        return np.concatenate([gaps[~np.isin(gaps[:, 0], changes.ids)], changes.gaps])
