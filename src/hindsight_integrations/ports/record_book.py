"""RecordBook: exhaustive access to records, so that sums are exact (design section 7)."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.ports.arrays import IntArray


class RecordBook(Protocol):
    """Which units carry a record. Kinds and categories are compared without regard to case."""

    def record_rows(self, bank: str, *, kind: str | None = None, category: str | None = None) -> IntArray:
        """Row ids of every unit with a record of this kind and category (None means any), ascending; closed ones too."""
        ...
