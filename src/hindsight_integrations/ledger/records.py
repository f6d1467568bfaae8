"""Records of units: their rows and checksums (decision 112)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby

from sqlalchemy import Connection

from hindsight_integrations.ledger.record_categories import CategoryRows
from hindsight_integrations.ledger.rows import (
    RECORD_COLUMNS,
    Row,
    fetched,
    marks,
    record_fields,
    record_from,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.records import Record, spelling_key

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
