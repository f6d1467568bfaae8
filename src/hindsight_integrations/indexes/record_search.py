"""Records: complete enumeration, where top-k retrieval gives half of them."""

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
"""Categories by kind, by their names."""


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
        tags: visibility tags wanted, sorted; those of the memories they stand in.
        tags_match: how they select.
        tag_groups: further conditions on tags, all of which must hold.
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
    """Which records the words of a caller mean, read as those of a fact are."""
    known, finer = (None, category or "") if kind is None else canonical_kind(kind, category or "")
    wanted = None if unit is None else canonical_unit(unit, money=known in MONEY)
    return RecordFilter(known, finer or None, wanted)


def find_records(view: BankView, wanted: RecordFilter) -> list[RecordEntry]:
    """Every record of this sort, in order of time, then of being retained. Complete: nothing is ranked or cut.

    Args:
        view: the bank; its ledger must be at one state (`Ledger.snapshot`).
        wanted: which records.

    Raises:
        MemoryDamaged: some are not what was written; a sum without them would be wrong.
    """
    at, named = _chosen(view, wanted)
    return _entries(view, wanted, view.columns.ids[at], named)


def _chosen(view: BankView, wanted: RecordFilter) -> tuple[IntArray, Names | None]:
    """Positions of the memories that may have such records, in order of time, and the bank's categories that are meant."""
    columns, named = view.columns, _named(view, wanted)
    at = columns.positions(_rows(view, wanted, named))
    at = at[at >= 0]
    mask = shown_at(columns, wanted.as_of, include_invalidated=wanted.include_invalidated)
    mask &= tagged(columns, wanted.tags, wanted.tags_match) & in_groups(columns, wanted.tag_groups)
    if (window := wanted.window) is not None:
        # By their beginning, so that a value counts in one of two adjoining windows, never in both.
        begins = event_moments(columns.starts, columns.mentioned)
        mask &= (begins >= to_micros(window.start)) & (begins < to_micros(window.end))
    at = at[mask[at]]
    return at[np.lexsort((columns.ids[at], columns.points()[at]))], named


def _entries(view: BankView, wanted: RecordFilter, ids: IntArray, named: Names | None) -> list[RecordEntry]:
    """The records of these memories (by row id), in their order.

    Raises:
        MemoryDamaged: some are not what was written.
    """
    stored = view.ledger.units.get(view.bank, ids)  # without those erased since the view was made, or damaged
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
    """Records of this sort in order of time, of the latest memories alone where these are many.

    Args:
        view: the bank.
        wanted: which records.
        allowed: which memories they may stand in, over the columns' positions.
        most: memories to read.

    Returns:
        The records, and how many memories with such records were not read.

    Raises:
        MemoryDamaged: some are not what was written.
    """
    at, named = _chosen(view, wanted)
    at = at[allowed[at]]
    return _entries(view, wanted, view.columns.ids[at[-most:]], named), max(0, len(at) - most)


def _named(view: BankView, wanted: RecordFilter) -> Names | None:
    """The bank's categories that are asked for, of each kind; None where any is."""
    if wanted.category is None:
        return None
    known = KnownCategories(view.ledger.records.categories(view.bank, wanted.kind))
    kinds = RecordKind if wanted.kind is None else (wanted.kind,)
    return {kind: known.named(wanted.category, kind) for kind in kinds}


def _rows(view: BankView, wanted: RecordFilter, named: Names | None) -> IntArray:
    """Row ids of the units that may have such records, ascending."""
    rows, bank = view.ledger.records.rows, view.bank
    if named is None:
        return rows(bank, kind=wanted.kind)
    found = [rows(bank, kind=kind, category=name) for kind, names in named.items() for name in names]
    if RecordKind.QUANTITY in named:  # of whatever category, counted in what is asked for
        found.append(rows(bank, kind=RecordKind.QUANTITY))
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _fits(record: Record, wanted: RecordFilter, named: Names | None) -> bool:
    """Whether a record is of the kind, unit and category that are meant.

    A quantity is of what it counts as well: 5,000 steps said to be of category "walking" are steps.
    """
    if wanted.kind not in {None, record.kind} or wanted.unit not in {None, unit_of(record)}:
        return False
    if named is None or wanted.category is None or record.category in named[record.kind]:
        return True
    unit = unit_of(record)
    counted = record.kind == RecordKind.QUANTITY and is_counted(unit)
    return counted and category_key(unit, record.kind) == category_key(wanted.category, record.kind)
