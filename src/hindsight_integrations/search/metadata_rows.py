"""MetadataRows: the metadata of a bank's units in memory, and which of it a condition lets through.

A row is the distinct metadata of some units, as codes of its (key, value) pairs, all rows one behind the other. A filter is
worked out once for each distinct value of its key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_integrations.model.metadata import (
    MetadataCondition,
    MetadataFilter,
    MetadataTest,
    MetadataValue,
    value_test,
)
from hindsight_integrations.ports.arrays import BoolArray

REMEMBERED = (
    4_096  # rows, and pairs, of which a repetition is found: what recurs at all does so within so many
)

Codes32 = npt.NDArray[np.int32]


class _Growing:
    """Integers to which more are added behind; what was read of it stays as it is."""

    __slots__ = ("_buffer", "_used")

    def __init__(self) -> None:
        self._buffer: Codes32 = np.empty(0, np.int32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def append(self, values: Sequence[int]) -> None:
        total = self._used + len(values)
        if total > len(self._buffer):
            grown = np.empty(max(total, int(1.25 * self._used), 64), np.int32)
            grown[: self._used] = self._buffer[: self._used]
            self._buffer = grown
        self._buffer[self._used : total] = values
        self._used = total

    def array(self) -> Codes32:
        """What is there now. Another thread may add to it meanwhile: the length is read first."""
        used = self._used
        return self._buffer[:used]


class MetadataRows:
    """Distinct metadata by row number; row 0 is none. Grows alone, so that snapshots share it: one thread adds, any reads.

    Repetitions are found among the last REMEMBERED rows and pairs, which bounds what looking for them takes: metadata of
    which no two are alike (ids of messages) costs its values and a few bytes.
    """

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._values: list[MetadataValue] = []
        self._pair_keys, self._pairs, self._ends = _Growing(), _Growing(), _Growing()
        self._known_rows: dict[str, int] = {}
        self._known_pairs: dict[tuple[int, str], int] = {}
        self._ends.append([0])

    def __len__(self) -> int:
        return len(self._ends)

    def coded(self, written: Iterable[str]) -> list[int]:
        """The row of each metadata, given as JSON; empty text is none.

        What is no JSON object (a damaged memory, which is named where it would be served) counts as none.
        """
        return [self._row(text) if text else 0 for text in written]

    def _row(self, text: str) -> int:
        if (row := self._known_rows.get(text)) is not None:
            return row
        try:
            metadata = json.loads(text)
        except ValueError:
            metadata = None
        row = 0
        if isinstance(metadata, dict) and metadata:
            self._pairs.append([self._pair(key, value) for key, value in metadata.items()])
            self._ends.append([len(self._pairs)])
            row = len(self._ends) - 1
        if len(self._known_rows) >= REMEMBERED:
            self._known_rows.clear()
        self._known_rows[text] = row
        return row

    def _pair(self, key: str, value: Any) -> int:  # noqa: ANN401 - as JSON has it
        name = self._keys.setdefault(key, len(self._keys))
        known = (name, repr(value))  # in which 1, 1.0, "1" and True differ
        if (pair := self._known_pairs.get(known)) is not None:
            return pair
        self._values.append(value)
        self._pair_keys.append([name])
        if len(self._known_pairs) >= REMEMBERED:
            self._known_pairs.clear()
        self._known_pairs[known] = len(self._values) - 1
        return len(self._values) - 1

    def passing(self, condition: MetadataTest) -> BoolArray:
        """Which rows a condition lets through, (rows,)."""
        return self._passing(condition, self._ends.array())

    def _passing(self, condition: MetadataTest, ends: Codes32) -> BoolArray:
        if isinstance(condition, MetadataFilter):
            return self._passing_filter(condition, ends)
        parts = [self._passing(part, ends) for part in condition.filters]
        if not parts or condition.condition == MetadataCondition.AND:
            return np.logical_and.reduce(parts, axis=0) if parts else np.ones(len(ends), bool)
        anywhere: BoolArray = np.logical_or.reduce(parts, axis=0)
        return anywhere if condition.condition == MetadataCondition.OR else ~anywhere

    def _passing_filter(self, wanted: MetadataFilter, ends: Codes32) -> BoolArray:
        test = value_test(wanted)
        without_key = test(None)
        passed = np.full(len(ends), without_key)
        name = self._keys.get(wanted.key)
        if name is None:
            return passed
        pairs, pair_keys = self._pairs.array()[: ends[-1]], self._pair_keys.array()
        of_key = np.flatnonzero(pair_keys == name)
        verdicts = np.zeros(len(pair_keys), np.int8)
        verdicts[of_key] = [1 + test(self._values[pair]) for pair in of_key.tolist()]
        found = verdicts[pairs]
        at = np.flatnonzero(found)
        passed[np.searchsorted(ends, at, side="right")] = found[at] == 2
        return passed
