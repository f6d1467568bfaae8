"""Records: complete enumeration and exact arithmetic, where top-k retrieval gives half a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import numpy as np

from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.model.aggregates import Aggregate, Aggregation
from hindsight_integrations.model.record_kinds import canonical_kind
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import valid_at
from hindsight_integrations.search.temporal import event_moments


@dataclass(frozen=True, slots=True)
class Entry:
    """A record and the memory it is of."""

    unit: MemoryUnit
    record: Record


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are meant; None means any.

    Attributes:
        kind: of record.
        category: of record, its case does not matter.
        unit: of its value, as it is written.
    """

    kind: RecordKind | None = None
    category: str | None = None
    unit: str | None = None

    def fits(self, record: Record) -> bool:
        """Whether the record is meant."""
        return (
            self.kind in {None, record.kind}
            and (
                self.category is None
                or self.category.strip().casefold() == record.category.strip().casefold()
            )
            and self.unit in {None, record.unit}
        )


def record_filter(kind: str | None, category: str | None, unit: str | None) -> RecordFilter:
    """Which records the words of a caller mean, read as those of a fact are."""
    if kind is None:
        return RecordFilter(None, category, unit)
    known, finer = canonical_kind(kind, category or "")
    return RecordFilter(known, finer or None, unit)


def find_records(
    view: BankView, wanted: RecordFilter, *, window: Interval | None, as_of: datetime | None
) -> list[Entry]:
    """Every valid record of this sort, in order of time, then of being retained. Complete: nothing is ranked or cut.

    Args:
        view: the bank.
        wanted: which records.
        window: what happened in it (or, for undated units, was mentioned in it).
        as_of: a moment of conversation time; None means now.

    Raises:
        MemoryDamaged: some are not what was written; a sum without them would be wrong.
    """
    rows = view.ledger.record_rows(view.bank, kind=wanted.kind, category=wanted.category)
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
    return [
        Entry(stored[row], record)
        for row in ids.tolist()
        if row in stored
        for record in stored[row].records
        if wanted.fits(record) and _holds(record, as_of)
    ]


def _holds(record: Record, as_of: datetime | None) -> bool:
    """Whether the record of a valid unit is valid itself."""
    return record.closed_at is None or (as_of is not None and as_of < record.closed_at)


def units_of(entries: Sequence[Entry]) -> tuple[MemoryUnit, ...]:
    """The memories the records are of, each once, in order."""
    return tuple({entry.unit.id: entry.unit for entry in entries}.values())


def aggregate(entries: Sequence[Entry], how: Aggregation) -> Aggregate:
    """One value over records, in Decimal arithmetic.

    Args:
        entries: the records, in order of time.
        how: sum, count, mean, min, max or last.

    Raises:
        InvalidRequest: numbers in different units would be added or compared.
    """
    if how == Aggregation.COUNT:
        return Aggregate(Decimal(len(entries)), "", units_of(entries))
    if how == Aggregation.LAST:
        last = entries[-1].record if entries else None
        return Aggregate(last.value if last else None, last.unit if last else "", units_of(entries[-1:]))
    numeric = [entry for entry in entries if isinstance(entry.record.value, Decimal)]
    names = sorted({entry.record.unit for entry in numeric})
    if len(names) > 1:
        raise InvalidRequest(
            "records", f"their values are in {', '.join(names)}", "Narrow kind, category or unit."
        )
    values = [entry.record.value for entry in numeric if isinstance(entry.record.value, Decimal)]
    skipped = [entry for entry in entries if not isinstance(entry.record.value, Decimal)]
    return Aggregate(COMPUTE[how](values), names[0] if names else "", units_of(numeric), units_of(skipped))


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
