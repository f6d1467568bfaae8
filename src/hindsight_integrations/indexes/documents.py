"""Documents as recall returns them: a document's text with its valid items."""

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
    """The items returned with each document at a moment, as pairs of row ids, ordered by item.

    An invalid document has the items that were valid until it ended. A valid item of an invalid document is
    returned alone; this happens if the message with the document was edited and the item came from another
    message.

    Attributes:
        items: row ids of items, ascending, (n,).
        heads: row id of each item's document, (n,).
    """

    items: IntArray
    heads: IntArray

    @classmethod
    def at(cls, columns: Columns, as_of: datetime | None) -> DocumentItems:
        """Return the items of a bank now, or at a moment of conversation time."""
        at = np.flatnonzero(columns.heads)
        head_at = columns.positions(columns.heads[at])
        at, head_at = at[head_at >= 0], head_at[head_at >= 0]
        valid = valid_at(columns, as_of)
        ended_with = ~valid[at] & ~valid[head_at] & (columns.closed[at] >= columns.closed[head_at])
        served = (valid[at] & valid[head_at]) | ended_with
        return cls(columns.ids[at[served]], columns.ids[head_at[served]])

    def alone(self, columns: Columns, as_of: datetime | None) -> BoolArray:
        """Return a mask over the columns' positions that selects the valid items of invalid documents."""
        alone: BoolArray = valid_at(columns, as_of) & (columns.heads > 0)
        alone[columns.positions(self.items)] = False
        return alone

    def as_their_documents(self, mask: BoolArray, columns: Columns) -> BoolArray:
        """Return a copy of a mask over the columns' positions, in which each item has the value of its document."""
        if not len(self.items):
            return mask
        passing: BoolArray = mask.copy()
        passing[columns.positions(self.items)] = mask[columns.positions(self.heads)]
        return passing

    def documents_of(self, ids: IntArray) -> IntArray:
        """Return an array (n,) in which each item is replaced by its document; other units are unchanged."""
        if not len(self.items) or not len(ids):
            return ids
        at = np.minimum(np.searchsorted(self.items, ids), len(self.items) - 1)
        return np.where(self.items[at] == ids, self.heads[at], ids)

    def whole(self, hits: Hits) -> Hits:
        """Replace items in a ranked list by their documents, each at the rank of its best item, without duplicates."""
        documents = self.documents_of(hits.ids)
        if documents is hits.ids:
            return hits
        _, first = np.unique(documents, return_index=True)
        first.sort()
        return Hits(documents[first], hits.scores[first])

    def rows_of(self, documents: IntArray) -> dict[int, list[int]]:
        """Return the row ids of the items returned with each document; documents without items are omitted."""
        if not len(self.items):
            return {}
        by_document: dict[int, list[int]] = {}
        wanted = np.isin(self.heads, documents)
        for head, item in zip(self.heads[wanted].tolist(), self.items[wanted].tolist(), strict=True):
            by_document.setdefault(head, []).append(item)
        return by_document


def read_items(
    rows: Mapping[int, Sequence[int]], ledger: LedgerReader, bank: str
) -> dict[int, list[MemoryUnit]]:
    """Read the items of each document, in the order in which they are shown.

    Fields are ordered by their first item, valid or not.
    """
    if not rows:
        return {}
    every = ledger.units.items_of(bank, np.array(sorted(rows), np.int64))
    wanted = {row for some in (*every.values(), *rows.values()) for row in some}
    stored = ledger.units.get(bank, np.array(sorted(wanted), np.int64))
    items = {}
    for head, served in rows.items():
        ids = {stored[row].id for row in served if row in stored}
        ordered = in_served_order(stored[row] for row in every.get(head, ()) if row in stored)
        items[head] = [item for item in ordered if item.id in ids]
    return items


def valid_items(
    ids: Iterable[int], ledger: LedgerReader, bank: str, *, held: Collection[str] = ()
) -> dict[int, list[MemoryUnit]]:
    """Return the valid items of each document among the units (by row id), in the order in which they are shown.

    Items that are closed now are included if their id is in `held`.
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
    """Return the units in the order given, with full texts; a document's text includes its currently valid items."""
    items = valid_items(units, ledger, bank)
    return {
        row: replace(unit, text=document_text(unit.text, items.get(row, ())), compact=None)
        for row, unit in units.items()
    }
