"""Record search: returns all matching records. Top-k retrieval misses half of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import in_groups, shown_at, tagged
from hindsight_integrations.indexes.temporal import event_moments
from hindsight_integrations.language.categories import KnownCategories, category_key
from hindsight_integrations.language.records import MONEY, unit_of
from hindsight_integrations.language.units import canonical_unit, is_counted
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.arrays import BoolArray, IntArray
from hindsight_integrations.model.records import Record, RecordKind, canonical_kind
from hindsight_integrations.model.requests import TagGroup, TagsMatch
from hindsight_integrations.model.time import Interval, to_micros

Names: TypeAlias = Mapping[RecordKind, Sequence[str]]
"""Category names by kind."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A filter for records.

    Attributes:
        kind: kind of record; None means any.
        category: category, as written by the caller; None means any.
        unit: canonical unit of the value; None means any.
        window: time window of the event, or of the mention of undated memories; None means any time.
        as_of: conversation time at which memories must be valid; None means now.
        include_invalidated: whether to include records of invalid memories.
        tags: visibility tags of the memories, sorted.
        tags_match: rule by which a memory's tags match.
        tag_groups: further conditions on tags, all of which must match.
    """

    kind: RecordKind | None = None
    category: str | None = None
    unit: str | None = None
    window: Interval | None = None
    as_of: datetime | None = None
    include_invalidated: bool = False
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = TagsMatch.ANY
    tag_groups: tuple[TagGroup, ...] = ()


def record_filter(kind: str | None, category: str | None, unit: str | None) -> RecordFilter:
    """Build a filter from a caller's words, normalised like those of a fact."""
    known, finer = (None, category or "") if kind is None else canonical_kind(kind, category or "")
    wanted = None if unit is None else canonical_unit(unit, money=known in MONEY)
    return RecordFilter(known, finer or None, wanted)


def find_records(view: BankView, wanted: RecordFilter) -> list[RecordEntry]:
    """Return all matching records, in order of time, then of retention. The view's ledger must be a snapshot.

    Raises:
        MemoryDamaged: some memories are damaged, so that a sum would be wrong.
    """
    at, named = _chosen(view, wanted)
    return _entries(view, wanted, view.columns.ids[at], named)


def _chosen(view: BankView, wanted: RecordFilter) -> tuple[IntArray, Names | None]:
    """Return the positions of memories that may have matching records, in order of time, and the matching categories."""
    columns, named = view.columns, _named(view, wanted)
    at = columns.positions(_rows(view, wanted, named))
    at = at[at >= 0]
    mask = shown_at(columns, wanted.as_of, include_invalidated=wanted.include_invalidated)
    mask &= tagged(columns, wanted.tags, wanted.tags_match) & in_groups(columns, wanted.tag_groups)
    if (window := wanted.window) is not None:
        # By start, so that a value is in exactly one of two adjacent windows.
        begins = event_moments(columns.starts, columns.mentioned)
        mask &= (begins >= to_micros(window.start)) & (begins < to_micros(window.end))
    at = at[mask[at]]
    return at[np.lexsort((columns.ids[at], columns.points()[at]))], named


def _entries(view: BankView, wanted: RecordFilter, ids: IntArray, named: Names | None) -> list[RecordEntry]:
    """Return the matching records of these memories (by row id), in the given order.

    Raises:
        MemoryDamaged: some memories are damaged.
    """
    stored = view.ledger.units.get(
        view.bank, ids
    )  # without damaged units and units erased after the view was created
    if len(stored) < len(ids) and (damaged := view.ledger.units.damaged(view.bank, ids)):
        raise MemoryDamaged(view.bank, damaged)
    return [
        RecordEntry(record, stored[row])
        for row in ids.tolist()
        if row in stored
        for record in stored[row].records
        if _fits(record, wanted, named)
    ]


def latest_records(
    view: BankView, wanted: RecordFilter, allowed: BoolArray, *, most: int
) -> tuple[list[RecordEntry], int]:
    """Return the matching records of at most `most` latest memories, in order of time, and the number of memories not read.

    `allowed` is a mask of the memories to consider, over the columns' positions.

    Raises:
        MemoryDamaged: some memories are damaged.
    """
    at, named = _chosen(view, wanted)
    at = at[allowed[at]]
    return _entries(view, wanted, view.columns.ids[at[-most:]], named), max(0, len(at) - most)


def _named(view: BankView, wanted: RecordFilter) -> Names | None:
    """Return the bank's matching categories by kind; None if the filter accepts any category."""
    if wanted.category is None:
        return None
    known = KnownCategories(view.ledger.records.categories(view.bank, wanted.kind))
    kinds = RecordKind if wanted.kind is None else (wanted.kind,)
    return {kind: known.named(wanted.category, kind) for kind in kinds}


def _rows(view: BankView, wanted: RecordFilter, named: Names | None) -> IntArray:
    """Return row ids of the units that may have matching records, ascending."""
    rows, bank = view.ledger.records.rows, view.bank
    if named is None:
        return rows(bank, kind=wanted.kind)
    row_lists = [rows(bank, kind=kind, category=name) for kind, names in named.items() for name in names]
    if RecordKind.QUANTITY in named:  # quantities of any category, which may be counted in the requested unit
        row_lists.append(rows(bank, kind=RecordKind.QUANTITY))
    return np.unique(np.concatenate(row_lists)) if row_lists else np.empty(0, np.int64)


def _fits(record: Record, wanted: RecordFilter, named: Names | None) -> bool:
    """Return whether a record matches kind, unit and category.

    The category of a quantity may also match its unit: 5,000 steps of category "walking" match "steps".
    """
    if wanted.kind not in {None, record.kind} or wanted.unit not in {None, unit_of(record)}:
        return False
    if named is None or wanted.category is None or record.category in named[record.kind]:
        return True
    unit = unit_of(record)
    counted = record.kind == RecordKind.QUANTITY and is_counted(unit)
    return counted and category_key(unit, record.kind) == category_key(wanted.category, record.kind)
