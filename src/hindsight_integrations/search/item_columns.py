"""ItemColumns: which units are texts of which items, and under which namespaces, as numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.ledger.values import ItemUnits
from hindsight_integrations.model.items import Namespace
from hindsight_integrations.ports.arrays import IntArray


def _nothing() -> IntArray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """An immutable snapshot; every array has length n.

    Attributes:
        units: row ids, ascending.
        items: row id of the item each is a text of.
        codes: position of the item's namespace in `namespaces`.
        namespaces: the distinct ones; what later snapshots add to them is not of this one.
        positions: of each namespace in `namespaces`, shared likewise.
    """

    units: IntArray = field(default_factory=_nothing)
    items: IntArray = field(default_factory=_nothing)
    codes: IntArray = field(default_factory=_nothing)
    namespaces: list[Namespace] = field(default_factory=list)
    positions: dict[Namespace, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.units)

    def changed(self, new: ItemUnits, removed: IntArray) -> ItemColumns:
        """The next snapshot: without some units, and with new ones behind."""
        if not len(new.units) and not (len(self) and len(removed)):
            return self
        keep = ~np.isin(self.units, removed)
        codes = np.fromiter(map(self._code, new.namespaces), np.int64, len(new.namespaces))
        return ItemColumns(
            units=np.concatenate([self.units[keep], new.units]),
            items=np.concatenate([self.items[keep], new.items]),
            codes=np.concatenate([self.codes[keep], codes]),
            namespaces=self.namespaces,
            positions=self.positions,
        )

    def under(self, prefix: Namespace) -> tuple[IntArray, IntArray]:
        """Units and items whose namespace begins with these labels."""
        if not prefix:
            return self.units, self.items
        labels = len(prefix)
        inside = np.array([known[:labels] == prefix for known in self.namespaces], bool)
        chosen = inside[self.codes] if len(self) else np.empty(0, bool)
        return self.units[chosen], self.items[chosen]

    def _code(self, namespace: Namespace) -> int:
        code = self.positions.setdefault(namespace, len(self.namespaces))
        if code == len(self.namespaces):
            self.namespaces.append(namespace)
        return code


def items_in_order(units: IntArray, of: tuple[IntArray, IntArray]) -> IntArray:
    """The items that units are texts of, in the units' order, each once; units of none are left out.

    Args:
        units: row ids, best first.
        of: units, ascending, and the item of each.
    """
    known, items = of
    if not len(known) or not len(units):
        return _nothing()
    at = np.minimum(np.searchsorted(known, units), len(known) - 1)
    found = items[at[known[at] == units]]
    _, first = np.unique(found, return_index=True)
    ordered: IntArray = found[np.sort(first)]
    return ordered
