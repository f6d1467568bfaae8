"""Which units a search may find, and how an index that knows no filters is searched for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hindsight_integrations.ports.arrays import BoolArray, Hits
from hindsight_integrations.search.bank_view import BankView


@dataclass(frozen=True, slots=True)
class Selection:
    """A mask over the columns and how many units it lets through."""

    mask: BoolArray
    count: int

    @property
    def all(self) -> bool:
        """Whether it excludes nothing."""
        return self.count == len(self.mask)


def search_allowed(search: Callable[[int], Hits], view: BankView, selected: Selection, limit: int) -> Hits:
    """The best `limit` hits the selection lets through: `search` gives so many, unfiltered, and twice as many until enough survive."""
    total = len(view.columns)
    ask = min(limit + total - selected.count, 2 * limit)
    while True:
        hits = search(ask)
        keep = view.columns.allowed(hits.ids, selected.mask)
        if keep.sum() >= limit or len(hits) < ask or ask >= total:
            return Hits(hits.ids[keep][:limit], hits.scores[keep][:limit])
        ask *= 2
