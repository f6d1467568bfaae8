"""Opinions with their current confidence instead of their initial one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.opinions import confidence_of
from hindsight_integrations.model.units import FactType, MemoryUnit


def as_held(
    units: Mapping[int, MemoryUnit], ledger: LedgerReader, bank: str, *, as_of: datetime | None = None
) -> dict[int, MemoryUnit]:
    """Replace the confidence of the opinions among units by that at a moment, None for now; the order of the units is kept."""
    opinions = [row for row, unit in units.items() if unit.fact_type is FactType.OPINION]
    if not opinions:
        return dict(units)
    owners = ledger.opinions.of_units(bank, np.array(opinions, np.int64))
    held = {
        log.id: confidence_of(log, as_of=as_of)
        for log in ledger.opinions.get(bank, sorted(set(owners.values())))
    }
    return {
        row: replace(unit, confidence=held.get(owners.get(row, ""), unit.confidence))
        if unit.fact_type is FactType.OPINION
        else unit
        for row, unit in units.items()
    }
