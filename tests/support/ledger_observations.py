"""Shared helpers of the ledger's tests of observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from builders import (
    BANK,
    at,
    make_entity,
    make_event,
    make_item,
    make_unit,
    make_write_set,
    with_vector,
)
from ledger_support import (
    CLOSED,
    commit,
)

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.model.writes import ObservedWrite, UnitWrite

ALICE, BOB = "alice", "bob"


def observation(unit_id: str) -> UnitWrite:
    """The unit of an observation."""
    return with_vector(make_unit(unit_id, fact_type=FactType.OBSERVATION, hours=9))


def tell(ledger: Ledger, *facts: UnitWrite, of: str = ALICE) -> None:
    """Retain facts that mention an entity."""
    mentions = [(write.unit.id, of) for write in facts]
    commit(
        ledger,
        make_write_set(ledger.revision(BANK), units=facts, entities=[make_entity(of)], mentions=mentions),
    )


def observe(
    ledger: Ledger,
    facts: Mapping[str, tuple[str, ...]],
    left_out: tuple[str, ...] = (),
    *,
    entity: str = ALICE,
    at_revision: int | None = None,
) -> None:
    """Replace an entity's observations by these, based on these facts."""
    revision = ledger.revision(BANK)
    made = ObservedWrite(entity, facts, left_out, revision if at_revision is None else at_revision)
    units = [observation(unit) for unit in facts if unit not in ledger.units.row_ids(BANK, [unit])]
    writes = make_write_set(revision, units=units, mentions=[(unit, entity) for unit in facts])
    commit(ledger, replace(writes, observed=made))


def seen(ledger: Ledger, entity: str = ALICE) -> tuple[bool, tuple[str, ...]]:
    """Whether an entity waits for observations, and those it has."""
    found = ledger.observations.get(BANK, [entity])[entity]
    assert (entity in ledger.observations.facts_changed(BANK, [entity])) is found.stale
    assert all(ledger.units.row_ids(BANK, [unit]) for unit in found.units)
    return found.stale, found.units


def rows(ledger: Ledger, *unit_ids: str) -> list[int]:
    """Row ids, ascending."""
    return sorted(ledger.units.row_ids(BANK, unit_ids).values())


def edited(unit: MemoryUnit) -> UnitEdit:
    """A correction of a unit's text."""
    return UnitEdit(replace(unit, text="other words"), None, None, ("text",))


WITHDRAWALS: dict[str, Callable[[Ledger], object]] = {
    "closed": lambda ledger: commit(
        ledger, make_write_set(ledger.revision(BANK), events=[make_event("f1", CLOSED, 5)])
    ),
    "item added": lambda ledger: commit(
        ledger,
        make_write_set(ledger.revision(BANK), units=[with_vector(make_item("f1 1", "f1", 1, hours=5))]),
    ),
    "edited": lambda ledger: ledger.units.edit(
        BANK, edited(ledger.units.get(BANK, np.array(rows(ledger, "f1")))[rows(ledger, "f1")[0]]), at(5)
    ),
    "erased": lambda ledger: ledger.erasure.erase(BANK, Erasure(unit="f1")),
}
"""What can become of the fact f1."""
