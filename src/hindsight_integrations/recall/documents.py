"""Documents in a recall: a document's own text with its valid items, or with the best-matching ones if not all fit the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.documents import DocumentItems, read_items
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.recalled import ServedItems
from hindsight_integrations.model.requests import TextForm
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.protocols import TokenCounter


@dataclass(frozen=True, slots=True)
class ServedDocument:
    """A document that may be returned.

    Attributes:
        head: the document's own text, without its items.
        served: all items of the document.
        best_first: positions of the items, best match for the question first.
    """

    head: str
    served: ServedItems
    best_first: tuple[int, ...]

    def within(self, tokens: int, counter: TokenCounter) -> ServedItems | None:
        """Return the document with as many of the best items as fit a token budget; None if none fits."""
        fitting: ServedItems | None = None
        low, high = 1, len(self.best_first) - 1
        while low <= high:
            middle = (low + high) // 2
            chosen = sorted(self.best_first[:middle])
            items = tuple(self.served.items[place] for place in chosen)
            left_out = len(self.served.items) - middle
            cost = counter.count([document_text(self.head, items, left_out=left_out)])[0]
            if cost <= tokens:
                fitting, low = ServedItems(items, cost, left_out), middle + 1
            else:
                high = middle - 1
        return fitting


def documents_among(
    ids: IntArray,
    items: DocumentItems,
    view: BankView,
    counter: TokenCounter,
    *,
    form: TextForm = TextForm.FULL,
    matches: Sequence[int] = (),
) -> dict[int, ServedDocument]:
    """Return the documents among the units, by row id, each with its `items`.

    `matches` has the row ids of the items in the channels' results, best first.
    """
    served = read_items(items.rows_of(ids), view.ledger, view.bank)
    if not served:
        return {}
    heads = view.ledger.units.get(view.bank, np.array(list(served), np.int64))
    names = view.ledger.units.unit_ids(view.bank, np.array(matches, np.int64)) if matches else {}
    ranks = {names[row]: rank for rank, row in enumerate(matches) if row in names}
    texts = {row: head_text(unit, form) for row, unit in heads.items()}
    costs = counter.count([document_text(text, served[row]) for row, text in texts.items()])
    return {
        row: ServedDocument(text, ServedItems(tuple(served[row]), cost), _best_first(served[row], ranks))
        for (row, text), cost in zip(texts.items(), costs, strict=True)
    }


def _best_first(items: Sequence[MemoryUnit], ranks: Mapping[str, int]) -> tuple[int, ...]:
    """Return the positions of items by rank; items without a rank come last."""
    return tuple(sorted(range(len(items)), key=lambda place: ranks.get(items[place].id, len(ranks))))


def head_text(unit: MemoryUnit, form: TextForm) -> str:
    """Return a document's own text in the requested form."""
    return unit.compact_text if form is TextForm.COMPACT else unit.text
