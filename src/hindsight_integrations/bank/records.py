"""Verbs that enumerate and add up records completely."""

from __future__ import annotations

from datetime import datetime

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.model.records import Aggregate, Aggregation
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.tempr.listing.records import aggregate, find_records
from hindsight_integrations.validation.arguments import as_choice, as_state, as_window


class RecordVerbs(BankCore):
    """Exhaustive access to numbers and items: expenses, steps, to-dos, preferences."""

    async def records(
        self,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: tuple[datetime | str, datetime | str] | None = None,
        as_of: datetime | str | None = None,
    ) -> list[MemoryUnit]:
        """Every memory with a record of this kind, in order of time. Nothing is ranked or cut.

        Args:
            kind: "expense", "steps", "todo", ...; None means any.
            category: the finer sort, "coffee"; None means any.
            unit: of the values, "USD"; None means any.
            window: (start, end) of when it happened, or was mentioned if it has no time of its own.
            as_of: a moment of conversation time; what was valid then. None means what is valid now.

        Raises:
            InvalidRequest: a time cannot be read.
        """
        zone = self._tools.zone
        found = await self._tools.workers.read(
            find_records,
            await self._current_view(),
            kind=kind,
            category=category,
            window=as_window(window, zone),
            as_of=as_state(as_of, zone),
        )
        return [
            item for item in found if unit is None or (item.record is not None and item.record.unit == unit)
        ]

    async def aggregate(
        self,
        how: Aggregation | str,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: tuple[datetime | str, datetime | str] | None = None,
        as_of: datetime | str | None = None,
    ) -> Aggregate:
        """One exact value over records, with the memories that entered it.

        Args:
            how: sum, count, mean, min, max or last.
            kind: as in `records`.
            category: as in `records`.
            unit: as in `records`.
            window: as in `records`.
            as_of: as in `records`.

        Raises:
            InvalidRequest: `how` is not known, or values in different units would be added or compared.
        """
        chosen = as_choice(Aggregation, how, "how")
        found = await self.records(kind=kind, category=category, unit=unit, window=window, as_of=as_of)
        return aggregate(found, chosen)
