"""Units as they were before version 7 of the schema, with one record each at most, and how they become units with several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.sqlite.checksums import (
    is_sound,
    pages,
    seal_units,
    seal_vectors,
    unit_checksum,
)
from hindsight_integrations.backends.ledger.sqlite.record_categories import categories_of, write_categories
from hindsight_integrations.backends.ledger.sqlite.records import write_records
from hindsight_integrations.backends.ledger.sqlite.rows import SEALED_COLUMNS, fetched
from hindsight_integrations.model.record_kinds import canonical_kind
from hindsight_integrations.model.records import Record

SEALED_WITH_ONE_RECORD = SEALED_COLUMNS.removesuffix("records") + "record"
"""What a unit's checksum was of in versions 4 to 6."""


def seal_everything(connection: Connection) -> None:
    """Of a ledger older than checksums: from here on it is known what was there. A step to version 4."""
    for (bank,) in connection.execute("SELECT id FROM banks").fetchall():
        seal_units(connection, bank, columns=SEALED_WITH_ONE_RECORD)
        seal_vectors(connection, bank)


def only_record(fields: Sequence[str | bool]) -> Record:
    """The record of [kind, value, whether the value is a number, category, unit]; the kind may be any word."""
    kind, value, number, category, measure = fields
    known, finer = canonical_kind(str(kind), str(category))
    return Record(known, Decimal(str(value)) if number else str(value), finer, str(measure), stated=finer)


def write_only_records(connection: Connection, bank: int, units: Sequence[tuple[int, Record]]) -> None:
    """Insert the records of units that have one each, with their categories."""
    categories = write_categories(connection, bank, categories_of(record for _, record in units))
    write_records(connection, bank, [(unit, (record,)) for unit, record in units], categories)


def take_records(connection: Connection) -> None:
    """Move every unit's record to the table of records, and seal it anew; a damaged unit stays one. A step to version 7."""
    for (bank,) in connection.execute("SELECT id FROM banks").fetchall():
        for page in pages(connection, bank):
            _take_page(connection, bank, page)


def _take_page(connection: Connection, bank: int, page: Sequence[int]) -> None:
    rows = fetched(
        connection,
        f"SELECT units.id, checksum, {SEALED_WITH_ONE_RECORD} FROM json_each(?) AS given "
        "CROSS JOIN units ON units.id = given.value",
        (json.dumps(list(page)),),
    )
    records: dict[int, Record] = {}
    sealed = []
    for unit, checksum, *row in rows:
        sound = is_sound(row, checksum)
        if sound and row[-1] is not None:
            records[unit] = only_record(json.loads(row[-1]))
        count = int(unit in records)
        with suppress(ValueError, TypeError):  # of a damaged unit, which keeps a checksum that is not its own
            sealed.append((count, unit_checksum((*row[:-1], count)) + (not sound), unit))
    write_only_records(connection, bank, list(records.items()))
    connection.executemany("UPDATE units SET records = ?, checksum = ? WHERE id = ?", sealed)
