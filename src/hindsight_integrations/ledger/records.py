"""Records of units: their rows and checksums (decision 112)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import (
    RECORD_COLUMNS,
    BankReads,
    Row,
    batches,
    fetched,
    find_bank,
    marks,
    record_fields,
    record_from,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.records import Record, RecordCategory, RecordKind, spelling_key
from hindsight_integrations.model.writes import CategoryWrite
from hindsight_integrations.ports.arrays import IntArray

CategoryRows = dict[tuple[RecordKind, str], int]
"""Row ids of categories by kind and spelling key."""


def category_rows(
    connection: Connection, bank: int, wanted: Iterable[tuple[RecordKind, str]]
) -> CategoryRows:
    """Row ids of the categories of these kinds and spelling keys; unknown ones are left out."""
    by_kind: dict[RecordKind, list[str]] = {}
    for kind, key in wanted:
        by_kind.setdefault(kind, []).append(key)
    found: CategoryRows = {}
    for kind, keys in by_kind.items():
        for some in batches(keys):
            rows = raw(connection).execute(
                "SELECT name, category FROM record_category_names "
                f"WHERE bank = ? AND kind = ? AND name IN ({marks(len(some))})",
                (bank, kind.value, *some),
            )
            found.update({(kind, name): row for name, row in rows})
    return found


def categories_of(records: Iterable[Record]) -> list[CategoryWrite]:
    """The categories that records name, with the spellings they were given in."""
    return [CategoryWrite(r.kind, r.category, (r.stated,)) for r in records if spelling_key(r.category)]


def write_categories(connection: Connection, bank: int, writes: Sequence[CategoryWrite]) -> CategoryRows:
    """Make the categories that are not there, and give all of them their further spellings; row ids of those named.

    A spelling that is another category's stays that one's.
    """
    keys = [
        (write.kind, key)
        for write in writes
        for key in map(spelling_key, (write.name, *write.spellings))
        if key
    ]
    rows = category_rows(connection, bank, keys)
    for write in writes:
        name, *others = [(write.kind, spelling_key(text)) for text in (write.name, *write.spellings)]
        if not name[1]:
            continue
        if name not in rows:
            made = raw(connection).execute(
                "INSERT INTO record_categories (bank, kind, name) VALUES (?, ?, ?)",
                (bank, write.kind.value, " ".join(write.name.split())),
            )
            rows[name] = int(made.lastrowid or 0)
            _add_spelling(connection, bank, name, rows[name])
        for other in others:
            if other[1] and other not in rows:
                rows[other] = rows[name]
                _add_spelling(connection, bank, other, rows[name])
    return rows


def _add_spelling(connection: Connection, bank: int, spelling: tuple[RecordKind, str], category: int) -> None:
    kind, key = spelling
    raw(connection).execute(
        "INSERT INTO record_category_names (bank, kind, name, category) VALUES (?, ?, ?, ?)",
        (bank, kind.value, key, category),
    )


def listed_categories(
    connection: Connection, bank: int, kind: RecordKind | None = None
) -> dict[int, RecordCategory]:
    """The bank's categories by row id: by kind, the most used first, then by name."""
    where, values = ("bank = ?", (bank,)) if kind is None else ("bank = ? AND kind = ?", (bank, kind.value))
    spellings: dict[int, list[str]] = {}
    for category, name in raw(connection).execute(
        f"SELECT category, name FROM record_category_names WHERE {where} ORDER BY name", values
    ):
        spellings.setdefault(category, []).append(name)
    found = raw(connection).execute(
        "SELECT id, kind, name, (SELECT count(*) FROM records WHERE category = record_categories.id) AS held "
        f"FROM record_categories WHERE {where} ORDER BY kind, held DESC, name",
        values,
    )
    return {
        row: RecordCategory(RecordKind(kind), name, tuple(spellings.get(row, ())), held)
        for row, kind, name, held in found
    }


def touched_categories(connection: Connection, given: str) -> list[int]:
    """Row ids of the categories of the records of units, whose row ids are given as JSON."""
    rows = raw(connection).execute(
        "SELECT DISTINCT category FROM records WHERE unit IN (SELECT value FROM json_each(?)) "
        "AND category IS NOT NULL ORDER BY category",
        (given,),
    )
    return [row[0] for row in rows]


def erase_unused(connection: Connection, touched: Sequence[int]) -> int:
    """Of categories some of whose records were erased, erase what nothing says any more; how many went wholly.

    A category without records goes, and a spelling in which no record is given. A name whose words no record says gives
    way to the commonest spelling that is left.
    """
    gone = 0
    for category in touched:
        stated = dict(
            raw(connection)
            .execute("SELECT stated, count(*) FROM records WHERE category = ? GROUP BY stated", (category,))
            .fetchall()
        )
        if not stated:
            gone += (
                raw(connection).execute("DELETE FROM record_categories WHERE id = ?", (category,)).rowcount
            )
            continue
        (name,) = (
            raw(connection).execute("SELECT name FROM record_categories WHERE id = ?", (category,)).fetchone()
        )
        kept = kept_name(name, stated)
        raw(connection).execute("UPDATE record_categories SET name = ? WHERE id = ?", (kept, category))
        keys = sorted({spelling_key(text) for text in (kept, *stated)})
        raw(connection).execute(
            f"DELETE FROM record_category_names WHERE category = ? AND name NOT IN ({marks(len(keys))})",
            (category, *keys),
        )
    return gone


def kept_name(name: str, stated: Mapping[str, int]) -> str:
    """What a category is called of which only these spellings are left, each with how many records are given in it."""
    words = set(re.findall(r"\w+", spelling_key(name)))
    if any(words <= set(re.findall(r"\w+", spelling_key(text))) for text in stated) or not any(stated):
        return name
    return min((text for text in stated if text), key=lambda text: (-stated[text], text))


_SEPARATOR = "\x1f"
_SPARE_BITS = 4  # of 64: room for a unit's `closed_at`, which is added to what is left
_ORDINAL = 1  # its place in RECORD_COLUMNS


def digest(values: Iterable[object]) -> int:
    """BLAKE2b of values as they are stored, 60 bits."""
    text = _SEPARATOR.join([value if isinstance(value, str) else str(value) for value in values])
    body = blake2b(text.encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(body, "big") >> _SPARE_BITS


def write_records(
    connection: Connection, bank: int, units: Iterable[tuple[int, Sequence[Record]]], categories: CategoryRows
) -> None:
    """Insert the records of new units.

    Args:
        connection: the writer.
        bank: row id of the bank.
        units: row ids of units, each with its records.
        categories: row ids of all categories the records name.
    """
    rows = []
    for unit, records in units:
        for ordinal, record in enumerate(records):
            category = categories.get((record.kind, spelling_key(record.category)))
            row = (unit, ordinal, record.kind.value, category, *record_fields(record))
            rows.append((*row, digest(row), bank))
    raw(connection).executemany(
        "INSERT INTO records (unit, ordinal, kind, category, value, is_number, measure, stated, checksum, bank) "
        f"VALUES ({marks(10)})",
        rows,
    )


def records_of(connection: Connection, counts: Mapping[int, int]) -> dict[int, tuple[Record, ...]]:
    """The records of units in order, by the unit's row id; units whose records are not what was written are left out.

    Args:
        connection: where to read.
        counts: row ids of units, each with how many records it has.
    """
    found: dict[int, tuple[Record, ...]] = {unit: () for unit, count in counts.items() if not count}
    given = [unit for unit, count in counts.items() if count]
    if not given:
        return found
    rows = fetched(
        connection,
        f"SELECT {RECORD_COLUMNS}, records.checksum, record_categories.name FROM json_each(?) AS given "
        "CROSS JOIN records ON records.unit = given.value "
        "LEFT JOIN record_categories ON record_categories.id = records.category ORDER BY records.unit, ordinal",
        (json.dumps(given),),
    )
    for unit, group in groupby(rows, lambda row: int(row[0])):
        held = list(group)
        if len(held) == counts[unit] and all(
            (digest(row[:-2]), row[_ORDINAL]) == (row[-2], place) for place, row in enumerate(held)
        ):
            found[unit] = tuple(record_from(row[:-2], row[-1]) for row in held)
    return found


def move_record(connection: Connection, row: Row, category: int) -> None:
    """Give a record (a row of RECORD_COLUMNS, then its checksum) another category.

    The checksum of a damaged row stays as it is: it is not vouched for.
    """
    *held, checksum = row
    after = (*held[:3], category, *held[4:])
    raw(connection).execute(
        "UPDATE records SET category = ?, checksum = ? WHERE unit = ? AND ordinal = ?",
        (category, digest(after) if digest(held) == checksum else checksum, after[0], after[1]),
    )


def rewrite_values(connection: Connection, unit: int, records: Sequence[Record]) -> None:
    """Give the records of a unit, which is sound, new values."""
    rows = (
        raw(connection)
        .execute(f"SELECT {RECORD_COLUMNS} FROM records WHERE unit = ? ORDER BY ordinal", (unit,))
        .fetchall()
    )
    for row, record in zip(rows, records, strict=True):
        value, is_number, measure, _ = record_fields(record)
        after = (*row[:4], value, is_number, measure, row[7])
        raw(connection).execute(
            "UPDATE records SET value = ?, is_number = ?, measure = ?, checksum = ? WHERE unit = ? AND ordinal = ?",
            (value, is_number, measure, digest(after), *row[:2]),
        )


def seal_records(connection: Connection, bank: int) -> None:
    """Count the records of a bank's units, and give each the checksum of what is stored now."""
    rows = fetched(connection, f"SELECT {RECORD_COLUMNS} FROM records WHERE bank = ?", (bank,))
    raw(connection).executemany(
        "UPDATE records SET checksum = ? WHERE unit = ? AND ordinal = ?",
        [(digest(row), row[0], row[1]) for row in rows],
    )
    raw(connection).execute(
        "UPDATE units SET records = (SELECT count(*) FROM records WHERE unit = units.id) WHERE bank = ?",
        (bank,),
    )


class RecordReader(BankReads):
    """The part of `LedgerReader` about records."""

    def record_rows(
        self, bank: str, *, kind: RecordKind | None = None, category: str | None = None
    ) -> IntArray:
        """Row ids of every unit with a record of this kind and category, ascending."""
        with self._at(bank) as (connection, row):
            values = {
                "bank": row,
                "kind": kind.value if kind else None,
                "name": None if category is None else spelling_key(category),
            }
            of_kind = " AND kind = :kind" if kind else ""
            named = f"SELECT category FROM record_category_names WHERE bank = :bank{of_kind} AND name = :name"
            if values["name"] == "":
                of_category = " AND category IS NULL"
            else:
                of_category = f" AND category IN ({named})" if category is not None else ""
            found = raw(connection).execute(
                f"SELECT DISTINCT unit FROM records WHERE bank = :bank{of_kind}{of_category} ORDER BY unit",
                values,
            )
            return np.fromiter((each[0] for each in found), np.int64)

    def categories(self, bank: str, kind: RecordKind | None = None) -> list[RecordCategory]:
        """Categories of records: by kind, the most used first, then by name."""
        with self._at(bank) as (connection, row):
            return list(listed_categories(connection, row, kind).values())

    def category_units(
        self, bank: str, kind: RecordKind | None = None
    ) -> dict[tuple[RecordKind, str], tuple[str, ...]]:
        """Units of the values of each category's records, by kind and name, the most used first."""
        with self._at(bank) as (connection, row):
            found = (
                raw(connection)
                .execute(
                    "SELECT record_categories.kind, name, measure FROM records "
                    "JOIN record_categories ON record_categories.id = category "
                    "WHERE records.bank = :bank AND (:kind IS NULL OR records.kind = :kind) AND measure <> '' "
                    "GROUP BY category, measure ORDER BY count(*) DESC, measure",
                    {"bank": row, "kind": kind.value if kind else None},
                )
                .fetchall()
            )
        units: dict[tuple[RecordKind, str], tuple[str, ...]] = {}
        for of_kind, name, unit in found:
            key = RecordKind(of_kind), name
            units[key] = (*units.get(key, ()), unit)
        return units


_STATED = RECORD_COLUMNS.split(", ").index("records.stated")


class SqliteCategoryChanges:
    """The part of `LedgerMaintenance` that says which spellings are one category."""

    _database: SqliteDatabase

    def merge_categories(self, bank: str, kind: RecordKind, keep: str, merged: str) -> RecordCategory:
        """Move all records and spellings of one category to another; the merged one is removed."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            target, source = (_known(connection, found.id, kind, name) for name in (keep, merged))
            if target == source:
                raise InvalidRequest("merge", f"{merged!r} is {keep!r} already", "Name two categories.")
            for row in _records(connection, source):
                move_record(connection, row, target)
            raw(connection).execute(
                "UPDATE record_category_names SET category = ? WHERE category = ?", (target, source)
            )
            raw(connection).execute("DELETE FROM record_categories WHERE id = ?", (source,))
            raw(connection).execute("UPDATE banks SET revision = revision + 1 WHERE id = ?", (found.id,))
            return listed_categories(connection, found.id, kind)[target]

    def split_category(
        self, bank: str, kind: RecordKind, name: str, spellings: Sequence[str]
    ) -> RecordCategory:
        """Make a new category of some spellings of another, with the records that were given in them."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            source = _known(connection, found.id, kind, name)
            before = listed_categories(connection, found.id, kind)[source]
            keys = [spelling_key(text) for text in spellings]
            _check_split(before, keys)
            made = raw(connection).execute(
                "INSERT INTO record_categories (bank, kind, name) VALUES (?, ?, ?)",
                (found.id, kind.value, " ".join(spellings[0].split())),
            )
            target = int(made.lastrowid or 0)
            raw(connection).executemany(
                "UPDATE record_category_names SET category = ? WHERE category = ? AND name = ?",
                [(target, source, key) for key in keys],
            )
            for row in _records(connection, source):
                if spelling_key(str(row[_STATED])) in keys:
                    move_record(connection, row, target)
            raw(connection).execute("UPDATE banks SET revision = revision + 1 WHERE id = ?", (found.id,))
            return listed_categories(connection, found.id, kind)[target]


def _known(connection: Connection, bank: int, kind: RecordKind, name: str) -> int:
    """The row of the category that has this spelling."""
    key = kind, spelling_key(name)
    rows = category_rows(connection, bank, [key])
    if key not in rows:
        raise InvalidRequest(
            "category",
            f"no {kind} has the category {name!r}",
            "See categories(); any spelling of one will do.",
        )
    return rows[key]


def _records(connection: Connection, category: int) -> list[Row]:
    """The category's records, each with its checksum."""
    return fetched(
        connection, f"SELECT {RECORD_COLUMNS}, checksum FROM records WHERE category = ?", (category,)
    )


def _check_split(category: RecordCategory, keys: Sequence[str]) -> None:
    unknown = [key for key in keys if key not in category.spellings]
    if not keys or unknown:
        reason = f"{category.name!r} is not given as {unknown[0]!r}" if unknown else "none is given"
        raise InvalidRequest("spellings", reason, f"It has {', '.join(category.spellings)}.")
    if spelling_key(category.name) in keys:
        raise InvalidRequest(
            "spellings", f"{category.name!r} is its name, which stays", "Split off the other spellings."
        )
