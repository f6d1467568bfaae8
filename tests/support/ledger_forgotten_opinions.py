"""Shared helpers of the ledger's tests of opinions whose grounds are erased or edited, and of archived opinions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from builders import (
    BANK,
    at,
    make_entity,
    make_unit,
    make_write_set,
    with_vector,
)
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.tasks import REINFORCED, TaskKind
from hindsight_integrations.model.time import Interval

ERASURES: dict[str, Callable[[], Erasure]] = {
    "unit": lambda: Erasure(unit="f3"),
    "thread": lambda: Erasure(thread="t"),
    "message": lambda: Erasure(thread="t", message="m"),
    "entity": lambda: Erasure(entity="carol"),
    "window": lambda: Erasure(window=Interval(at(2.5), at(3.5))),
}
"""Ways to erase f3, and f3 alone."""


def facts(ledger: Ledger) -> None:
    """f1 to f4, an hour apart; f3 has a separate conversation and entity."""
    units = [make_unit(f"f{number}", hours=number) for number in range(1, 5)]
    units[2] = replace(units[2], thread="t", sources=("m",))
    writes = make_write_set(
        0,
        units=[with_vector(unit) for unit in units],
        entities=[make_entity("carol")],
        mentions=[("f3", "carol")],
    )
    commit(ledger, writes)


def edited(ledger: Ledger, unit_id: str, **changed: object) -> None:
    """Edit a unit."""
    (row,) = ledger.units.row_ids(BANK, [unit_id]).values()
    unit = replace(ledger.units.get(BANK, np.array([row]))[row], **changed)  # type: ignore[arg-type] # as given
    ledger.units.edit(BANK, UnitEdit(unit, None, None, tuple(changed)), at(20))


def enqueued(ledger: Ledger) -> bool:
    """Whether the assessment of the bank's facts is enqueued."""
    return any(
        (task.kind, task.key) == (TaskKind.REINFORCE, REINFORCED) for task in ledger.tasks.of_bank(BANK)
    )
