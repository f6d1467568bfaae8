"""Shared helpers of the ledger's tests of marks, which distinguish commits, banks and ledgers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builders import (
    DIMENSION,
    at,
    make_embedder,
    make_unit,
    make_units,
    make_write_set,
)
from ledger_support import changes, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import EntitySplit, UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.watermark import Watermark


def mark_of(ledger: Ledger, bank: str) -> Watermark:
    """The bank's current mark."""
    with ledger.feed(bank) as feed:
        return feed.mark


def _embed_anew(ledger: Ledger, bank: str) -> None:
    ids = changes(ledger, bank).columns.ids
    ledger.set_embedder(bank, make_embedder("other"), ids, np.eye(2, DIMENSION, dtype=np.float32))


EVERY_CHANGE: dict[str, Callable[[Ledger, str], object]] = {
    "commit": lambda ledger, bank: commit(ledger, make_write_set(1, bank=bank, units=make_units("u3"))),
    "erase": lambda ledger, bank: ledger.erasure.erase(bank, Erasure(unit="u1")),
    "erase everything": lambda ledger, bank: ledger.erasure.erase(bank, Erasure(everything=True)),
    "edit": lambda ledger, bank: ledger.units.edit(
        bank, UnitEdit(make_unit("u1", "corrected"), None, None, ("text",)), at(9)
    ),
    "merge": lambda ledger, bank: ledger.entities.merge(bank, "e1", "e2", at(7)),
    "split": lambda ledger, bank: ledger.entities.split(
        bank, EntitySplit("e1", "e9", "Chen", ("alice chen",), ("u2",)), at(7)
    ),
    "alias": lambda ledger, bank: ledger.entities.alias(bank, "e1", ["boss"], at(7)),
    "embed anew": _embed_anew,
}
