"""A unit's row: everything that is written can be read back."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from builders import BANK, at, make_unit, with_vector

from hindsight_integrations.ledger.rows import OWN_COLUMNS, UNIT_FIELDS, unit_from, unit_row
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import CompactText, FactType, MemoryUnit, UnitKind

PLAIN = make_unit("u1")
FULL = replace(
    PLAIN,
    text="Alice: I walked 5 km along the river.",
    fact_type=FactType.OPINION,
    occurred=Interval(at(1), at(2)),
    closed_at=at(3),
    context="a diary",
    confidence=0.25,
    metadata={"page": "7"},
    tags=("sport", "river"),
    document_id="d1",
    chunk=4,
    thread="t",
    sources=("m1", "m2"),
    speaker="Alice",
    tokens=12,
    compact=CompactText(20, 6),
    records=(Record(RecordKind.QUANTITY, Decimal(5), "walking", "km", "walking"),),
    kind=UnitKind.ITEM,
    number=9,
    part_of="head",
    lasting=True,
)


@pytest.mark.parametrize("unit", [PLAIN, FULL], ids=["plain", "full"])
def test_a_row_becomes_the_unit_it_was_made_of(unit: MemoryUnit) -> None:
    """Every field has a separate column; the record count and the revisions are not read back."""
    own = unit_row(with_vector(unit), 1, 7)[: len(OWN_COLUMNS)]
    row = (*own, unit.part_of)
    assert len(row) == len(UNIT_FIELDS)
    assert unit_from(row, BANK, unit.records) == unit
