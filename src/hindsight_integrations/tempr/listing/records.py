"""Records: complete enumeration and exact arithmetic, where top-k retrieval gives half a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import numpy as np

from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.model.records import Aggregate, Aggregation
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import valid_at
from hindsight_integrations.search.temporal import event_moments


def find_records(
    view: BankView, *, kind: str | None, category: str | None, window: Interval | None, as_of: datetime | None
) -> list[MemoryUnit]:
    """Every valid unit with such a record, in order of time, then of being retained. Complete: nothing is ranked or cut.

    Args:
        view: the bank.
        kind: of record; None means any.
        category: of record; None means any.
        window: what happened in it (or, for undated units, was mentioned in it).
        as_of: a moment of conversation time; None means now.

    Raises:
        MemoryDamaged: some are not what was written; a sum without them would be wrong.
    """
    rows = view.ledger.record_rows(view.bank, kind=kind, category=category)
    columns = view.columns
    at = columns.positions(rows)
    at = at[at >= 0]
    mask = valid_at(columns, as_of)
    if (
        window is not None
    ):  # by their beginning, so that a value counts in one of two adjoining windows, never in both
        begins = event_moments(columns.starts, columns.mentioned)
        mask &= (begins >= to_micros(window.start)) & (begins < to_micros(window.end))
    at = at[mask[at]]
    order = np.lexsort((columns.ids[at], columns.points()[at]))
    ids: IntArray = columns.ids[at][order]
    stored = view.ledger.units(view.bank, ids)  # without those erased since the view was made, or damaged
    if len(stored) < len(ids) and (damaged := view.ledger.damaged(view.bank, ids)):
        raise MemoryDamaged(view.bank, damaged)
    return [stored[row] for row in ids.tolist() if row in stored]


def aggregate(units: Sequence[MemoryUnit], how: Aggregation) -> Aggregate:
    """One value over the records of units, in Decimal arithmetic.

    Args:
        units: with records, in order of time.
        how: sum, count, mean, min, max or last.

    Raises:
        InvalidRequest: numbers in different units would be added or compared.
    """
    if how == Aggregation.COUNT:
        return Aggregate(Decimal(len(units)), "", tuple(units))
    if how == Aggregation.LAST:
        last = units[-1].record if units else None
        return Aggregate(last.value if last else None, last.unit if last else "", tuple(units[-1:]))
    numeric = [u for u in units if u.record is not None and isinstance(u.record.value, Decimal)]
    names = sorted({u.record.unit for u in numeric if u.record is not None})
    if len(names) > 1:
        raise InvalidRequest(
            "records", f"their values are in {', '.join(names)}", "Narrow kind, category or unit."
        )
    values = [u.record.value for u in numeric if u.record is not None and isinstance(u.record.value, Decimal)]
    skipped = tuple(u for u in units if u not in numeric)
    return Aggregate(COMPUTE[how](values), names[0] if names else "", tuple(numeric), skipped)


def total(values: Sequence[Decimal]) -> Decimal:
    """The sum; 0 of none."""
    return sum(values, Decimal(0))


def mean(values: Sequence[Decimal]) -> Decimal | None:
    """The arithmetic mean; None of none."""
    return total(values) / len(values) if values else None


COMPUTE: Mapping[Aggregation, Callable[[Sequence[Decimal]], Decimal | None]] = {
    Aggregation.SUM: total,
    Aggregation.MEAN: mean,
    Aggregation.MIN: lambda values: min(values, default=None),
    Aggregation.MAX: lambda values: max(values, default=None),
}
