"""Enumeration of all matching units, page by page, and aggregates over records.

Pagination is by key, not by offset: a page starts after the last unit of the previous one, so concurrent retains do not shift
pages. Units newer than the first page are left out, so an enumeration ends even while memories are added.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from hashlib import blake2b

import numpy as np

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import (
    Columns,
    in_groups,
    memories_and_items,
    of_types,
    shown_at,
    tagged,
    with_metadata,
)
from hindsight_integrations.indexes.documents import DocumentItems, read_items
from hindsight_integrations.indexes.held_opinions import as_held
from hindsight_integrations.indexes.temporal import event_moments, overlaps
from hindsight_integrations.language.records import unit_of
from hindsight_integrations.language.units import converted, same_measure
from hindsight_integrations.model.aggregates import WIDE, Aggregate, Aggregation, RecordEntry, total
from hindsight_integrations.model.arrays import BoolArray, IntArray
from hindsight_integrations.model.metadata import MetadataTest
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import TagGroup, TagsMatch
from hindsight_integrations.model.results import UnitPage
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, MemoryUnit


def aggregate(entries: Sequence[RecordEntry], how: Aggregation, *, other: bool = True) -> Aggregate:
    """Compute one value over records, in order of time, in Decimal arithmetic.

    Compatible units ("km" and "mi") are converted exactly to the most frequent one; if several are equally frequent, to the
    one that occurs first. Without `other`, records of kind OTHER are left out.

    Raises:
        InvalidRequest: numbers that measure different things would be added or compared.
    """
    meant = [entry for entry in entries if other or entry.record.kind != RecordKind.OTHER]
    value: Decimal | str | None
    unit = ""
    converted: tuple[str, ...] = ()
    if how == Aggregation.COUNT:
        entered, value = meant, Decimal(len(meant))
    elif how == Aggregation.LAST:
        entered = meant[-1:]
        value = entered[0].record.value if entered else None
        unit = unit_of(entered[0].record) if entered else ""
    else:
        entered = [entry for entry in meant if isinstance(entry.record.value, Decimal)]
        with localcontext(WIDE):
            unit, converted, values = _in_one_unit(entered)
            value = COMPUTE[how](values)
        meant = entered
    used = {id(entry) for entry in meant}  # by identity, because two records may be equal
    return Aggregate(
        value,
        unit,
        memories_of(entered),
        memories_of([entry for entry in entries if id(entry) not in used]),
        tuple(sorted({entry.record.stated or entry.record.category for entry in entered} - {""})),
        converted,
    )


def memories_of(entries: Sequence[RecordEntry]) -> tuple[MemoryUnit, ...]:
    """Return the memories that contain the records, without duplicates, in order."""
    return tuple({entry.memory.id: entry.memory for entry in entries}.values())


def _in_one_unit(entries: Sequence[RecordEntry]) -> tuple[str, tuple[str, ...], list[Decimal]]:
    """Return the most frequent unit, the other units that convert to it, and the numbers converted to it."""
    units = [unit_of(entry.record) for entry in entries]
    counted = Counter(units)
    wanted = max(counted, key=lambda unit: counted[unit], default="")
    if len({same_measure(unit) for unit in counted}) > 1:
        raise InvalidRequest(
            "records",
            f"their values are in {', '.join(sorted(unit or '(no unit)' for unit in counted))}",
            f"Pass unit={wanted!r} or another of these units, or narrow kind or category.",
        )
    values = [
        converted(entry.record.value, unit, wanted)
        for entry, unit in zip(entries, units, strict=True)
        if isinstance(entry.record.value, Decimal)
    ]
    return wanted, tuple(sorted(counted.keys() - {wanted})), values


def mean(values: Sequence[Decimal]) -> Decimal | None:
    """Return the arithmetic mean; None for no values."""
    return total(values) / len(values) if values else None


COMPUTE: Mapping[Aggregation, Callable[[Sequence[Decimal]], Decimal | None]] = {
    Aggregation.SUM: total,
    Aggregation.MEAN: mean,
    Aggregation.MIN: lambda values: min(values, default=None),
    Aggregation.MAX: lambda values: max(values, default=None),
}


_PLACE = struct.Struct(">qqq")
_SEAL = 12  # bytes of the checksum of a cursor's bank and filters, which detects mistakes, not attacks


@dataclass(frozen=True, slots=True)
class UnitFilter:
    """The filters of an enumeration.

    Attributes:
        types: fact types, sorted, without duplicates.
        entity: id of an entity the units mention; None for any.
        window: time window of the units' events or mentions; None for any time.
        as_of: conversation time at which units must be valid; None for now.
        tags: requested visibility tags, sorted.
        tags_match: rule by which a unit's tags match.
        include_invalidated: whether to include invalid units.
        tag_groups: further conditions on tags, all of which must hold.
        metadata: a condition on metadata; None for no condition.
        newest_first: whether to reverse the order.
    """

    types: tuple[FactType, ...] = tuple(sorted(FactType))
    entity: str | None = None
    window: Interval | None = None
    as_of: datetime | None = None
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = TagsMatch.ANY
    include_invalidated: bool = False
    tag_groups: tuple[TagGroup, ...] = ()
    metadata: MetadataTest | None = None
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class PageEnd:
    """The end of a page.

    Attributes:
        begins: start of the page's last unit, microseconds.
        row: row id of that unit.
        newest: highest row id when the enumeration began.
    """

    begins: int
    row: int
    newest: int


def cursor_of(place: PageEnd, bank: str, wanted: UnitFilter) -> str:
    """Encode a page end as an opaque cursor, tied to the bank and the filters by a checksum."""
    packed = _PLACE.pack(place.begins, place.row, place.newest)
    return base64.urlsafe_b64encode(packed + _seal(packed, bank, wanted)).decode()


def place_of(cursor: object, bank: str, wanted: UnitFilter) -> PageEnd:
    """Decode a cursor.

    Raises:
        InvalidRequest: the cursor is malformed, or belongs to another bank or other filters.
    """
    raw = b""
    if isinstance(cursor, str):
        with suppress(binascii.Error, UnicodeEncodeError):
            raw = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)
    packed, seal = raw[: _PLACE.size], raw[_PLACE.size :]
    if len(packed) < _PLACE.size or seal != _seal(packed, bank, wanted):
        raise InvalidRequest(
            "cursor",
            "it does not belong to this bank and these filters",
            "Pass the cursor of the previous page with the same filters, or None to start over.",
        )
    return PageEnd(*_PLACE.unpack(packed))


def _seal(packed: bytes, bank: str, wanted: UnitFilter) -> bytes:
    return blake2b(packed + repr((bank, wanted)).encode(), digest_size=_SEAL).digest()


def find_page(
    view: BankView,
    wanted: UnitFilter,
    mentioning: IntArray | None,
    *,
    after: PageEnd | None,
    offset: int,
    limit: int,
) -> UnitPage:
    """Return the next matching units, ordered by start, then by row id, or in reverse, without ranking.

    `mentioning` has the row ids of the units that mention the requested entity; None for any.
    """
    columns = view.columns
    newest = after.newest if after else int(columns.ids[-1]) if len(columns) else 0
    items = DocumentItems.at(columns, wanted.as_of)
    mask = matching(columns, wanted, mentioning, items) & (columns.ids <= newest)
    begins = event_moments(columns.starts, columns.mentioned)
    ahead = mask
    if after is not None:
        last = (begins == after.begins) & (columns.ids == after.row)
        later = (begins > after.begins) | ((begins == after.begins) & (columns.ids > after.row))
        ahead = mask & (~(later | last) if wanted.newest_first else later)
    at = np.flatnonzero(ahead)
    at = at[np.lexsort((columns.ids[at], begins[at]))]
    at = (at[::-1] if wanted.newest_first else at)[offset : offset + limit + 1]
    page, ids = at[:limit], columns.ids[at[:limit]]
    # without damaged units and units erased after the view was created
    stored = view.ledger.units.get(view.bank, ids)
    held = as_held(stored, view.ledger, view.bank, as_of=wanted.as_of)
    units = tuple(held[row] for row in ids.tolist() if row in held)
    damaged = view.ledger.units.damaged(view.bank, ids) if len(units) < len(ids) else ()
    cursor = None
    if len(at) > limit:
        cursor = cursor_of(PageEnd(int(begins[page[-1]]), int(ids[-1]), newest), view.bank, wanted)
    served = {
        held[row].id: tuple(own)
        for row, own in read_items(items.rows_of(ids), view.ledger, view.bank).items()
        if row in held
    }
    return UnitPage(units, int(mask.sum()), cursor, damaged, served)


def matching(
    columns: Columns, wanted: UnitFilter, mentioning: IntArray | None, items: DocumentItems
) -> BoolArray:
    """Return a mask over positions of the units that pass the filters."""
    mask = of_types(columns, wanted.types)
    mask |= memories_and_items(columns, wanted.types) & items.alone(columns, wanted.as_of)
    mask &= tagged(columns, wanted.tags, wanted.tags_match)
    mask &= in_groups(columns, wanted.tag_groups) & with_metadata(columns, wanted.metadata)
    if mentioning is not None:
        mask &= np.isin(columns.ids, mentioning)
    if wanted.window is not None:
        mentioned = overlaps(columns.mentioned, columns.mentioned + 1, wanted.window)
        mask &= overlaps(columns.starts, columns.ends, wanted.window) | mentioned
    return mask & shown_at(columns, wanted.as_of, include_invalidated=wanted.include_invalidated)
