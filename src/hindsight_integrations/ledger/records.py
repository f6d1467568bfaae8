"""Records of units and their categories: rows, checksums, lookup, merges and splits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby

import numpy as np
from sqlalchemy import Connection, bindparam, delete, func, select, update

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.rows import (
    At,
    Reader,
    Row,
    fetched,
    find_bank,
    record_fields,
    record_from,
)
from hindsight_integrations.ledger.sql import Values, among, in_bank, insert, refers, run_many
from hindsight_integrations.ledger.tables import (
    record_categories,
    record_category_names,
    records,
    units,
)
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.records import Record, RecordCategory, RecordKind, spelling_key
from hindsight_integrations.model.writes import CategoryWrite

CategoryRows = dict[tuple[RecordKind, str], int]
"""Row ids of categories by kind and spelling key."""

_SEALED = records.c["unit", "ordinal", "kind", "category", "value", "is_number", "measure", "stated"]
"""Columns covered by a record's checksum, in order. A change needs a new schema version."""
_SPELLINGS = record_category_names.c

_BY_SPELLINGS = select(_SPELLINGS.kind, _SPELLINGS.name, _SPELLINGS.category).where(
    _SPELLINGS.bank == bindparam("bank"), among(_SPELLINGS.kind, "kinds"), among(_SPELLINGS.name, "names")
)
_ADD_CATEGORY = insert(record_categories).returning(record_categories.c.id)
_ADD_SPELLING = insert(record_category_names)


def category_rows(
    connection: Connection, bank: int, spellings: Iterable[tuple[RecordKind, str]]
) -> CategoryRows:
    """Return the row ids of categories by kind and spelling key; unknown spellings are omitted."""
    wanted = set(spellings)
    if not wanted:
        return {}
    kinds, names = {kind.value for kind, _ in wanted}, {name for _, name in wanted}
    rows = connection.execute(_BY_SPELLINGS, {"bank": bank, "kinds": kinds, "names": names})
    return {key: row for kind, name, row in rows if (key := (RecordKind(kind), name)) in wanted}


def categories_of(records: Iterable[Record]) -> list[CategoryWrite]:
    """Return the categories that the records use, with the spellings used."""
    return [CategoryWrite(r.kind, r.category, (r.stated,)) for r in records if spelling_key(r.category)]


def write_categories(connection: Connection, bank: int, writes: Sequence[CategoryWrite]) -> CategoryRows:
    """Create missing categories and add spellings; return the row ids of all these categories.

    A spelling that already belongs to another category stays there.
    """
    spellings = [
        [(write.kind, spelling_key(text)) for text in (write.name, *write.spellings)] for write in writes
    ]
    rows = category_rows(connection, bank, (key for keys in spellings for key in keys if key[1]))
    known = set(rows)
    for write, keys in zip(writes, spellings, strict=True):
        if not keys[0][1]:
            continue
        if keys[0] not in rows:
            rows[keys[0]] = _add_category(connection, bank, write.kind, write.name)
        for key in keys:
            if key[1]:
                rows.setdefault(key, rows[keys[0]])
    new = [
        {"bank": bank, "kind": kind.value, "name": name, "category": row}
        for (kind, name), row in rows.items()
        if (kind, name) not in known
    ]
    run_many(connection, _ADD_SPELLING, new)
    return rows


def _add_category(connection: Connection, bank: int, kind: RecordKind, name: str) -> int:
    category = {"bank": bank, "kind": kind.value, "name": " ".join(name.split())}
    return int(connection.execute(_ADD_CATEGORY, category).scalar_one())


_COUNT = (
    select(func.count())
    .select_from(records)
    .where(refers(records.c.category, record_categories))
    .scalar_subquery()
    .label("count")
)
_CATEGORIES = (
    select(record_categories.c.id, record_categories.c.kind, record_categories.c.name, _COUNT)
    .where(record_categories.c.bank == bindparam("bank"), among(record_categories.c.kind, "kinds"))
    .order_by(record_categories.c.kind, _COUNT.desc(), record_categories.c.name)
)
_SPELLINGS_OF_KINDS = (
    select(_SPELLINGS.category, _SPELLINGS.name)
    .where(_SPELLINGS.bank == bindparam("bank"), among(_SPELLINGS.kind, "kinds"))
    .order_by(_SPELLINGS.name)
)


def listed_categories(
    connection: Connection, bank: int, kind: RecordKind | None = None
) -> dict[int, RecordCategory]:
    """Return the bank's categories by row id: by kind, most used first, then by name."""
    values = {"bank": bank, "kinds": _kinds(kind)}
    spellings: dict[int, list[str]] = defaultdict(list)
    for category, name in connection.execute(_SPELLINGS_OF_KINDS, values):
        spellings[category].append(name)
    return {
        row: RecordCategory(RecordKind(of_kind), name, tuple(spellings[row]), count)
        for row, of_kind, name, count in connection.execute(_CATEGORIES, values)
    }


def _kinds(kind: RecordKind | None) -> list[str]:
    return [candidate.value for candidate in RecordKind if kind in {candidate, None}]


_CATEGORIES_OF = (
    select(records.c.category)
    .distinct()
    .where(in_bank(records), among(records.c.unit, "units"), records.c.category.is_not(None))
    .order_by(records.c.category)
)


def touched_categories(connection: Connection, bank: int, units: Sequence[int]) -> list[int]:
    """Return the row ids of the categories of these units' records, ascending."""
    return list(connection.scalars(_CATEGORIES_OF, {"bank": bank, "units": units}))


_STATED_COUNTS = (
    select(record_categories.c.id, record_categories.c.name, records.c.stated, func.count(records.c.unit))
    .outerjoin(records, refers(records.c.category, record_categories))
    .where(in_bank(record_categories), among(record_categories.c.id, "categories"))
    .group_by(record_categories.c.bank, record_categories.c.id, records.c.stated)
)
_DELETE_CATEGORIES = delete(record_categories).where(
    in_bank(record_categories), among(record_categories.c.id, "categories")
)
_UPDATE_CATEGORY = update(record_categories).where(
    in_bank(record_categories, "of"), record_categories.c.id == bindparam("row")
)
_DELETE_OTHER_SPELLINGS = delete(record_category_names).where(
    in_bank(record_category_names), _SPELLINGS.category == bindparam("row"), ~among(_SPELLINGS.name, "names")
)


def erase_unused(connection: Connection, bank: int, touched: Sequence[int]) -> int:
    """Delete categories without records, and spellings that no record uses; return the number of deleted categories.

    Only the categories in `touched`, which lost records, are checked. If no remaining spelling contains the words of a
    category's name, the most common remaining spelling becomes its name.
    """
    if not touched:
        return 0
    names: dict[int, str] = {}
    stated: dict[int, Counter[str]] = defaultdict(Counter)
    for row, name, text, count in connection.execute(_STATED_COUNTS, {"bank": bank, "categories": touched}):
        names[row] = name
        if count:
            stated[row][text] = count
    kept = {row: kept_name(names[row], texts) for row, texts in stated.items()}
    renamed = [{"of": bank, "row": row, "name": name} for row, name in kept.items() if name != names[row]]
    run_many(connection, _UPDATE_CATEGORY, renamed)
    spellings = [
        {"bank": bank, "row": row, "names": sorted({spelling_key(text) for text in (name, *stated[row])})}
        for row, name in kept.items()
    ]
    run_many(connection, _DELETE_OTHER_SPELLINGS, spellings)
    unused = sorted(names.keys() - kept.keys())
    return _delete_categories(connection, bank, unused)


def _delete_categories(connection: Connection, bank: int, rows: Sequence[int]) -> int:
    values = {"bank": bank, "categories": rows}
    return connection.execute(_DELETE_CATEGORIES, values).rowcount if rows else 0


def kept_name(name: str, stated: Mapping[str, int]) -> str:
    """Return a category's new name, given its remaining spellings and the number of records with each."""
    words = set(re.findall(r"\w+", spelling_key(name)))
    if any(words <= set(re.findall(r"\w+", spelling_key(text))) for text in stated) or not any(stated):
        return name
    return min((text for text in stated if text), key=lambda text: (-stated[text], text))


_SEPARATOR = "\x1f"
_SPARE_BITS = 4  # a digest has 60 of 64 bits, so that adding a unit's `closed_at` cannot overflow
_ORDINAL, _STATED = 1, 7  # positions in a row of _SEALED


def digest(values: Iterable[object]) -> int:
    """Hash stored values with BLAKE2b, to 60 bits."""
    text = _SEPARATOR.join([value if isinstance(value, str) else str(value) for value in values])
    body = blake2b(text.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(body, "big") >> _SPARE_BITS


_ADD_RECORD = insert(records)


def write_records(
    connection: Connection, bank: int, units: Iterable[tuple[int, Sequence[Record]]], categories: CategoryRows
) -> None:
    """Insert the records of new units.

    Args:
        connection: the writer.
        bank: row id of the bank.
        units: row ids of units, each with its records.
        categories: row ids of all categories that the records use.
    """
    rows: list[Values] = []
    for unit, unit_records in units:
        for ordinal, record in enumerate(unit_records):
            category = categories.get((record.kind, spelling_key(record.category)))
            row = (unit, ordinal, record.kind.value, category, *record_fields(record))
            rows.append({**_named(row), "checksum": digest(row), "bank": bank})
    run_many(connection, _ADD_RECORD, rows)


def _named(row: Row) -> Values:
    """Map a row of _SEALED to its columns."""
    return {column.name: value for column, value in zip(_SEALED, row, strict=True)}


_RECORDS_OF = (
    select(*_SEALED, records.c.checksum, record_categories.c.name)
    .outerjoin(record_categories, refers(records.c.category, record_categories))
    .where(in_bank(records), among(records.c.unit, "units"))
    .order_by(records.c.unit, records.c.ordinal)
)


def records_of(connection: Connection, bank: int, counts: Mapping[int, int]) -> dict[int, tuple[Record, ...]]:
    """Return the records of units, in order, by row id of the unit; units with damaged records are omitted.

    Args:
        connection: connection to read from.
        bank: row id of the bank.
        counts: expected number of records by row id of the unit.
    """
    sound: dict[int, tuple[Record, ...]] = {unit: () for unit, count in counts.items() if not count}
    units = [unit for unit, count in counts.items() if count]
    if not units:
        return sound
    stored = fetched(connection, _RECORDS_OF, {"bank": bank, "units": units})
    for unit, group in groupby(stored, lambda row: int(row[0])):
        rows = list(group)
        if len(rows) == counts[unit] and all(
            (digest(row[:-2]), row[_ORDINAL]) == (row[-2], place) for place, row in enumerate(rows)
        ):
            sound[unit] = tuple(record_from(row[:-2], row[-1]) for row in rows)
    return sound


_UPDATE_RECORD = update(records).where(
    in_bank(records, "of"), records.c.unit == bindparam("of_unit"), records.c.ordinal == bindparam("place")
)


def _move_records(connection: Connection, bank: int, rows: Iterable[Row], category: int) -> None:
    """Move records (rows of _SEALED, then the checksum) to another category.

    A damaged row keeps its old checksum, so that the damage stays detectable.
    """
    changes = []
    for *before, checksum in rows:
        after = (*before[:3], category, *before[4:])
        sealed = digest(after) if digest(before) == checksum else checksum
        changes.append({**_place(bank, after), "category": category, "checksum": sealed})
    run_many(connection, _UPDATE_RECORD, changes)


def _place(bank: int, row: Row) -> dict[str, object]:
    """Return the parameters that identify a record in an update."""
    return {"of": bank, "of_unit": row[0], "place": row[_ORDINAL]}


_RECORDS_OF_UNIT = (
    select(*_SEALED).where(in_bank(records), records.c.unit == bindparam("unit")).order_by(records.c.ordinal)
)


def rewrite_values(connection: Connection, bank: int, unit: int, records: Sequence[Record]) -> None:
    """Update the values of an undamaged unit's records."""
    changes = []
    stored = connection.execute(_RECORDS_OF_UNIT, {"bank": bank, "unit": unit})
    for row, record in zip(stored, records, strict=True):
        value, is_number, measure, _ = record_fields(record)
        checksum = digest((*row[:4], value, is_number, measure, row[_STATED]))
        new = {"value": value, "is_number": is_number, "measure": measure, "checksum": checksum}
        changes.append({**_place(bank, row), **new})
    run_many(connection, _UPDATE_RECORD, changes)


_RECORDS_OF_BANK = select(*_SEALED).where(records.c.bank == bindparam("bank"))
_COUNT_RECORDS = (
    update(units)
    .values(
        records=select(func.count())
        .select_from(records)
        .where(refers(records.c.unit, units))
        .scalar_subquery()
    )
    .where(units.c.bank == bindparam("of_bank"))
)


def seal_records(connection: Connection, bank: int) -> None:
    """Recompute the checksums of a bank's records and the number of records of each unit."""
    rows = fetched(connection, _RECORDS_OF_BANK, {"bank": bank})
    run_many(connection, _UPDATE_RECORD, [{**_place(bank, row), "checksum": digest(row)} for row in rows])
    connection.execute(_COUNT_RECORDS, {"of_bank": bank})


_UNITS_WITH_RECORDS = (
    select(records.c.unit).distinct().where(records.c.bank == bindparam("bank")).order_by(records.c.unit)
)
_MEASURES = (
    select(record_categories.c.kind, record_categories.c.name, records.c.measure)
    .join(record_categories, refers(records.c.category, record_categories))
    .where(records.c.bank == bindparam("bank"), among(records.c.kind, "kinds"), records.c.measure != "")
    .group_by(record_categories.c.bank, record_categories.c.id, records.c.measure)
    .order_by(func.count().desc(), records.c.measure)
)


_OF_KINDS = (
    select(records.c.unit, records.c.kind, record_categories.c.name)
    .outerjoin(record_categories, refers(records.c.category, record_categories))
    .where(records.c.bank == bindparam("bank"), among(records.c.kind, "kinds"))
    .order_by(records.c.unit, records.c.ordinal)
)


_KINDS = {kind.value: kind for kind in RecordKind}  # ten times faster than the enumeration's call


class RecordReader(Reader):
    """Reads of records."""

    def of_kinds(
        self, bank: str, kinds: Iterable[RecordKind], units: IntArray | None = None
    ) -> list[tuple[int, RecordKind, str]]:
        """Return (row id of the unit, kind, category) of the records of these kinds, invalid units included, by unit.

        Args:
            bank: the bank's name.
            kinds: the kinds.
            units: row ids of the units to read; None reads all.
        """
        statement, values = _OF_KINDS, {"kinds": {kind.value for kind in kinds}}
        if units is not None:
            statement, values = (
                statement.where(among(records.c.unit, "units")),
                values | {"units": units.tolist()},
            )
        with self._at(bank) as (connection, row):
            stored = connection.execute(statement, {"bank": row, **values}).all()
        return [(unit, _KINDS[kind], name or "") for unit, kind, name in stored]

    def rows(self, bank: str, *, kind: RecordKind | None = None, category: str | None = None) -> IntArray:
        """Return the row ids of all units with a record of this kind and category (None means any), ascending.

        Closed units are included. Any spelling of a category matches, ignoring case and white space; "" means no category.
        The result is complete, so that sums are exact. Uses one indexed query.
        """
        statement, name = _UNITS_WITH_RECORDS, spelling_key(category or "")
        spelled = select(_SPELLINGS.category).where(
            _SPELLINGS.bank == bindparam("bank"), _SPELLINGS.name == bindparam("name")
        )
        if kind:
            statement = statement.where(records.c.kind == bindparam("kind"))
            spelled = spelled.where(_SPELLINGS.kind == bindparam("kind"))
        if category is not None:
            of_category = records.c.category.in_(spelled) if name else records.c.category.is_(None)
            statement = statement.where(of_category)
        with self._at(bank) as (connection, row):
            rows = connection.scalars(statement, {"bank": row, "kind": kind and kind.value, "name": name})
            return np.fromiter(rows, np.int64)

    def categories(self, bank: str, kind: RecordKind | None = None) -> list[RecordCategory]:
        """Return the categories of all records, or of one kind, by kind, most used first, then by name."""
        with self._at(bank) as (connection, row):
            return list(listed_categories(connection, row, kind).values())

    def category_units(
        self, bank: str, kind: RecordKind | None = None
    ) -> dict[tuple[RecordKind, str], tuple[str, ...]]:
        """Return the measurement units used in each category, by kind and name, most used first.

        Categories without measurement units are omitted.
        """
        measures: dict[tuple[RecordKind, str], list[str]] = defaultdict(list)
        with self._at(bank) as (connection, row):
            for of_kind, name, measure in connection.execute(_MEASURES, {"bank": row, "kinds": _kinds(kind)}):
                measures[RecordKind(of_kind), name].append(measure)
        return {key: tuple(values) for key, values in measures.items()}


_RECORDS_OF_CATEGORY = select(*_SEALED, records.c.checksum).where(
    in_bank(records), records.c.category == bindparam("category")
)
_MOVE_SPELLINGS = (
    update(record_category_names)
    .values(category=bindparam("target"))
    .where(in_bank(record_category_names, "of"), _SPELLINGS.category == bindparam("source"))
)
_MOVE_SOME_SPELLINGS = _MOVE_SPELLINGS.where(among(_SPELLINGS.name, "names"))


class RecordEditor(RecordReader):
    """Reads records, and merges and splits their categories."""

    def __init__(self, at: At, database: Database) -> None:
        super().__init__(at)
        self._database = database

    def merge_categories(self, bank: str, kind: RecordKind, keep: str, merged: str) -> RecordCategory:
        """Move all records and spellings of category `merged` to `keep`, delete `merged`, and return `keep`.

        Either may be named by any of its spellings. Each record keeps its spelling, so calling `split_category` with the
        spellings of the merged category undoes the merge.

        Raises:
            InvalidRequest: one of them is unknown, or both are the same category.
        """
        with self._database.writing(bank) as connection:
            stored = find_bank(connection, bank)
            bank_row = stored.id
            target, source = (_category_row(connection, bank_row, kind, name) for name in (keep, merged))
            if target == source:
                raise InvalidRequest(
                    "merge", f"{merged!r} already belongs to {keep!r}", "Name two categories."
                )
            _move_records(connection, bank_row, _records(connection, bank_row, source), target)
            connection.execute(_MOVE_SPELLINGS, {"of": bank_row, "target": target, "source": source})
            _delete_categories(connection, bank_row, [source])
            advance(connection, bank_row, stored.revision + 1)
            return listed_categories(connection, bank_row, kind)[target]

    def split_category(
        self, bank: str, kind: RecordKind, name: str, spellings: Sequence[str]
    ) -> RecordCategory:
        """Move some spellings of a category, with the records that use them, to a new category.

        The first spelling becomes its name. Merging the two categories undoes the split.

        Raises:
            InvalidRequest: the category is unknown, does not have one of the spellings, or one of them is its name.
        """
        with self._database.writing(bank) as connection:
            stored = find_bank(connection, bank)
            bank_row = stored.id
            source = _category_row(connection, bank_row, kind, name)
            keys = [spelling_key(text) for text in spellings]
            _check_split(listed_categories(connection, bank_row, kind)[source], keys)
            target = _add_category(connection, bank_row, kind, spellings[0])
            moved = {"of": bank_row, "target": target, "source": source, "names": keys}
            connection.execute(_MOVE_SOME_SPELLINGS, moved)
            stored_records = _records(connection, bank_row, source)
            rows = [row for row in stored_records if spelling_key(str(row[_STATED])) in keys]
            _move_records(connection, bank_row, rows, target)
            advance(connection, bank_row, stored.revision + 1)
            return listed_categories(connection, bank_row, kind)[target]


def _category_row(connection: Connection, bank: int, kind: RecordKind, name: str) -> int:
    """Return the row id of the category with this spelling."""
    key = kind, spelling_key(name)
    rows = category_rows(connection, bank, [key])
    if key not in rows:
        raise InvalidRequest(
            "category",
            f"no {kind} has the category {name!r}",
            "List the categories with categories(); any spelling of a category is accepted.",
        )
    return rows[key]


def _records(connection: Connection, bank: int, category: int) -> list[Row]:
    """Return the category's records, each with its checksum."""
    return fetched(connection, _RECORDS_OF_CATEGORY, {"bank": bank, "category": category})


def _check_split(category: RecordCategory, keys: Sequence[str]) -> None:
    unknown = [key for key in keys if key not in category.spellings]
    if not keys or unknown:
        reason = f"{category.name!r} has no spelling {unknown[0]!r}" if unknown else "the list is empty"
        raise InvalidRequest("spellings", reason, f"Choose from {', '.join(category.spellings)}.")
    if spelling_key(category.name) in keys:
        raise InvalidRequest(
            "spellings",
            f"{category.name!r} is the category's name, which must stay",
            "Split off other spellings.",
        )
