"""Records: complete enumeration, where top-k retrieval gives half of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_kinds import canonical_kind
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import SECOND, shown_at
from hindsight_integrations.search.temporal import event_moments
from hindsight_integrations.text.vocabulary.categories import category_key
from hindsight_integrations.text.vocabulary.records import MONEY, unit_of
from hindsight_integrations.text.vocabulary.units import canonical_unit, is_counted


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are meant.

    Attributes:
        kind: of record; None means any.
        category: as it was asked for; None means any.
        unit: of the value, canonical; None means any.
        window: what happened in it (or, for undated memories, was mentioned in it); None means any time.
        as_of: a moment of conversation time; None means now.
        include_invalidated: also what is not valid.
    """

    kind: RecordKind | None = None
    category: str | None = None
    unit: str | None = None
    window: Interval | None = None
    as_of: datetime | None = None
    include_invalidated: bool = False

    def holds(self, record: Record) -> bool:
        """Whether the record of a memory that is shown is shown itself."""
        if record.closed_at is None or self.include_invalidated:
            return True
        return (
            self.as_of is not None and to_micros(self.as_of) // SECOND < to_micros(record.closed_at) // SECOND
        )


def record_filter(kind: str | None, category: str | None, unit: str | None) -> RecordFilter:
    """Which records the words of a caller mean, read as those of a fact are."""
    known, finer = (None, category or "") if kind is None else canonical_kind(kind, category or "")
    wanted = None if unit is None else canonical_unit(unit, money=known in MONEY)
    return RecordFilter(known, finer or None, wanted)


def find_records(view: BankView, wanted: RecordFilter) -> list[RecordEntry]:
    """Every record of this sort, in order of time, then of being retained. Complete: nothing is ranked or cut.

    Raises:
        MemoryDamaged: some are not what was written; a sum without them would be wrong.
    """
    rows = view.ledger.record_rows(view.bank, kind=wanted.kind)
    columns = view.columns
    at = columns.positions(rows)
    at = at[at >= 0]
    mask = shown_at(columns, wanted.as_of, include_invalidated=wanted.include_invalidated)
    begins = event_moments(columns.starts, columns.mentioned)
    if (window := wanted.window) is not None:
        # By their beginning, so that a value counts in one of two adjoining windows, never in both.
        mask &= (begins >= to_micros(window.start)) & (begins < to_micros(window.end))
    at = at[mask[at]]
    order = np.lexsort((columns.ids[at], columns.points()[at]))
    ids: IntArray = columns.ids[at][order]
    stored = view.ledger.units(view.bank, ids)  # without those erased since the view was made, or damaged
    if len(stored) < len(ids) and (damaged := view.ledger.damaged(view.bank, ids)):
        raise MemoryDamaged(view.bank, damaged)
    return [
        RecordEntry(record, stored[row])
        for row in ids.tolist()
        if row in stored
        for record in stored[row].records
        if wanted.holds(record) and fits(record, wanted)
    ]


def fits(record: Record, wanted: RecordFilter) -> bool:
    """Whether a record is of the kind, unit and category that are meant.

    A quantity is of what it counts as well: 5,000 steps said to be of category "walking" are steps.
    """
    if wanted.kind not in {None, record.kind} or wanted.unit not in {None, unit_of(record)}:
        return False
    if wanted.category is None:
        return True
    key = category_key(wanted.category, record.kind)
    if key == category_key(record.category, record.kind):
        return True
    unit = unit_of(record)
    return record.kind == RecordKind.QUANTITY and is_counted(unit) and category_key(unit, record.kind) == key
