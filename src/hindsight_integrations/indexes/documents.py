"""Documents as they stand: a head with the items that hold, composed from the bank (design 2.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.indexes.columns import Columns, valid_at
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import BoolArray, Hits, IntArray
from hindsight_integrations.model.documents import document_text, in_served_order
from hindsight_integrations.model.units import MemoryUnit


@dataclass(frozen=True, slots=True)
class DocumentItems:
    """Which items are served with which document at a moment: pairs of row ids, in order of the items.

    Of a document that has ended these are the items that held until then. An item that holds though its document does not
    (the document's message was edited, the item came from another) is served by itself.

    Attributes:
        items: row ids of items, ascending, (n,).
        heads: of the document of each, (n,).
    """

    items: IntArray
    heads: IntArray

    @classmethod
    def at(cls, columns: Columns, as_of: datetime | None) -> DocumentItems:
        """Those of a bank now, or at a moment of conversation time."""
        at = np.flatnonzero(columns.heads)
        head_at = columns.positions(columns.heads[at])
        at, head_at = at[head_at >= 0], head_at[head_at >= 0]
        valid = valid_at(columns, as_of)
        ended_with = ~valid[at] & ~valid[head_at] & (columns.closed[at] >= columns.closed[head_at])
        served = (valid[at] & valid[head_at]) | ended_with
        return cls(columns.ids[at[served]], columns.ids[head_at[served]])

    def alone(self, columns: Columns, as_of: datetime | None) -> BoolArray:
        """Items that hold though their document does not, which are served by themselves, over the columns' positions."""
        alone: BoolArray = valid_at(columns, as_of) & (columns.heads > 0)
        alone[columns.positions(self.items)] = False
        return alone

    def as_their_documents(self, mask: BoolArray, columns: Columns) -> BoolArray:
        """A filter over the columns' positions under which an item passes if its document does."""
        if not len(self.items):
            return mask
        passing: BoolArray = mask.copy()
        passing[columns.positions(self.items)] = mask[columns.positions(self.heads)]
        return passing

    def documents_of(self, ids: IntArray) -> IntArray:
        """What each unit is served as: the document of an item, else the unit itself, (n,)."""
        if not len(self.items) or not len(ids):
            return ids
        at = np.minimum(np.searchsorted(self.items, ids), len(self.items) - 1)
        return np.where(self.items[at] == ids, self.heads[at], ids)

    def whole(self, hits: Hits) -> Hits:
        """A ranked list in which documents stand for their items, each once, where the best of them stood."""
        documents = self.documents_of(hits.ids)
        if documents is hits.ids:
            return hits
        _, first = np.unique(documents, return_index=True)
        first.sort()
        return Hits(documents[first], hits.scores[first])

    def rows_of(self, documents: IntArray) -> dict[int, list[int]]:
        """Row ids of the items served with each of these documents; units without any are left out."""
        if not len(self.items):
            return {}
        found: dict[int, list[int]] = {}
        wanted = np.isin(self.heads, documents)
        for head, item in zip(self.heads[wanted].tolist(), self.items[wanted].tolist(), strict=True):
            found.setdefault(head, []).append(item)
        return found


def read_items(
    rows: Mapping[int, Sequence[int]], ledger: LedgerReader, bank: str
) -> dict[int, list[MemoryUnit]]:
    """Units of the rows of each document, in the order in which they are served.

    A field stands where it first appeared, even if the item that did is gone.
    """
    if not rows:
        return {}
    every = ledger.units.items_of(bank, np.array(sorted(rows), np.int64))
    wanted = {row for some in (*every.values(), *rows.values()) for row in some}
    stored = ledger.units.get(bank, np.array(sorted(wanted), np.int64))
    found = {}
    for head, served in rows.items():
        ids = {stored[row].id for row in served if row in stored}
        ordered = in_served_order(stored[row] for row in every.get(head, ()) if row in stored)
        found[head] = [item for item in ordered if item.id in ids]
    return found


def valid_items(
    ids: Iterable[int], ledger: LedgerReader, bank: str, *, held: Collection[str] = ()
) -> dict[int, list[MemoryUnit]]:
    """The items that hold now of those of the units (by row id) that are documents, in the order in which they are served.

    Args:
        ids: row ids.
        ledger: what they stand in.
        bank: its name.
        held: ids of closed items that count as valid.
    """
    every = ledger.units.items_of(bank, np.fromiter(ids, np.int64))
    if not every:
        return {}
    rows = sorted(row for some in every.values() for row in some)
    stored = ledger.units.get(bank, np.array(rows, np.int64))
    return {
        head: [
            item
            for item in in_served_order(stored[row] for row in some if row in stored)
            if item.closed_at is None or item.id in held
        ]
        for head, some in every.items()
    }


def as_they_stand(units: Mapping[int, MemoryUnit], ledger: LedgerReader, bank: str) -> dict[int, MemoryUnit]:
    """The units with their whole texts, documents with the items that hold now; in the order given.

    Args:
        units: by row id.
        ledger: what they stand in.
        bank: its name.
    """
    items = valid_items(units, ledger, bank)
    return {
        row: replace(unit, text=document_text(unit.text, items.get(row, ())), compact=None)
        for row, unit in units.items()
    }
