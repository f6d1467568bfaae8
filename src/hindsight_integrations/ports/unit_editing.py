"""UnitEditor: the part of the ledger that corrects a unit in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.links import Link
from hindsight_integrations.model.units import MemoryUnit


@dataclass(frozen=True, slots=True)
class UnitEdit:
    """A corrected unit.

    Attributes:
        unit: as it shall be; same id, type, sources and validity as before.
        vector: its new vector (unit-norm float32, little endian); None if text and time are unchanged.
        links: its temporal and semantic links anew; None leaves them. Causal ones always stay.
        fields: names of the fields changed, for the audit.
    """

    unit: MemoryUnit
    vector: bytes | None
    links: tuple[Link, ...] | None
    fields: tuple[str, ...]


class UnitEditor(Protocol):
    """Corrections. The old text is not kept; the audit says when and which fields."""

    def edit_unit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Write the correction in one transaction; returns the new revision.

        The change feed reports the unit's columns, vector and text again.

        Raises:
            InvalidRequest: the unit, or one that it is linked to, is not in the bank.
        """
        ...

    def unit_edits(self, bank: str, unit_id: str) -> Sequence[tuple[datetime, tuple[str, ...]]]:
        """(when, fields) of a unit's corrections, oldest first."""
        ...
