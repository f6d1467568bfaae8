"""Turns that wait for extraction, for the graph channel: they mention no entity yet, but their words may name one."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from hindsight_integrations.model.names import names_any
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection


def turns_naming(view: BankView, selected: Selection, names: Collection[str], *, limit: int) -> IntArray:
    """Row ids of at most `limit` waiting turns in which one of the normalised names stands as whole words, (n,)."""
    turns = view.columns.ids[view.columns.waiting & selected.mask]
    if not len(turns) or not names or "keyword" in view.failures:
        return np.empty(0, np.int64)
    near = view.keywords.search(" ".join(sorted(names)), limit, turns).ids
    stored = view.ledger.units.get(view.bank, near)
    naming = [row for row in near.tolist() if row in stored and names_any(stored[row].text, names)]
    return np.array(naming, np.int64)
