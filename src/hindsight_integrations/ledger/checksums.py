"""Checksums of units and vectors: what a disk or a stray write changed afterwards is not served as what was retained.

No security: whoever can write the file can write the checksum too.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.ledger.records import digest, records_of
from hindsight_integrations.ledger.rows import SEALED_COLUMNS, fetched
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.ports.arrays import IntArray

logger = logging.getLogger("hindsight_integrations")

T = TypeVar("T")

CHECKSUM = "units.checksum"
_CLOSED_AT, _RECORDS = map(SEALED_COLUMNS.split(", ").index, ("closed_at", "records"))
_PAGE = 2000
NEVER_CLOSED = 1 << 61
"""What stands for no `closed_at`; the trigger `units_closed` of the schema has it too."""


def unit_checksum(row: Sequence[Any]) -> int:
    """The checksum of a row of SEALED_COLUMNS, as they are stored.

    `closed_at` is added to the digest of the others, so that closing a unit changes the sum by the difference, without
    reading the rest: a checksum made anew from a row that was damaged meanwhile would vouch for the damage.
    """
    closed_at = row[_CLOSED_AT]
    body = digest((*row[:_CLOSED_AT], *row[_CLOSED_AT + 1 :]))
    return body + (NEVER_CLOSED if closed_at is None else int(closed_at))


def vector_checksum(vector: bytes) -> int:
    """The checksum of a stored vector."""
    return zlib.crc32(vector)


def is_sound(row: Sequence[Any], checksum: object) -> bool:
    """Whether a row of SEALED_COLUMNS is what was written."""
    with suppress(ValueError, TypeError):  # of a `closed_at` that is no number any more
        return unit_checksum(row) == checksum
    return False


def damaged_units(connection: Connection, bank: int, ids: IntArray | None = None) -> dict[int, str]:
    """Unit ids by row id of the units (of all the bank's, if None) that are not what was written."""
    found: dict[int, str] = {}
    for page in pages(connection, bank) if ids is None else [ids.tolist()]:
        rows = fetched(
            connection,
            f"SELECT units.id, {SEALED_COLUMNS}, {CHECKSUM} FROM json_each(?) AS given "
            "CROSS JOIN units ON units.id = given.value WHERE +bank = ? ORDER BY units.id",
            (json.dumps(page), bank),
        )
        sound = {row[0]: row[_RECORDS + 1] for row in rows if is_sound(row[1:-1], row[-1])}
        held = records_of(connection, sound)
        found.update({row[0]: str(row[1]) for row in rows if row[0] not in held})
    return found


def damaged_vectors(connection: Connection, bank: int) -> dict[int, str]:
    """Unit ids by row id of the bank's units whose vector is missing or is not what was written."""
    rows = raw(
        connection
    ).execute(
        "SELECT units.id, unit_id, vector, vectors.checksum FROM units LEFT JOIN vectors ON unit = units.id "
        "WHERE units.bank = ? AND (unit IS NOT NULL OR kind = ?) ORDER BY units.id",  # a turn that waits may have none
        (bank, UnitKind.MEMORY),
    )
    return {
        row: unit
        for row, unit, vector, checksum in rows
        if vector is None or not _is_vector(vector, checksum)
    }


def seal_units(connection: Connection, bank: int, ids: Sequence[int] | None = None) -> None:
    """Give units (all the bank's, if None) the checksum of what is stored now, damaged or not."""
    for page in pages(connection, bank) if ids is None else [ids]:
        rows = fetched(
            connection,
            f"SELECT {SEALED_COLUMNS}, units.id FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value",
            (json.dumps(list(page)),),
        )
        raw(connection).executemany(
            "UPDATE units SET checksum = ? WHERE id = ?", [(unit_checksum(row[:-1]), row[-1]) for row in rows]
        )


def seal_vectors(connection: Connection, bank: int) -> None:
    """Give the bank's vectors the checksum of what is stored now."""
    for page in pages(connection, bank):
        rows = (
            raw(connection)
            .execute(
                "SELECT vector, unit FROM json_each(?) AS given CROSS JOIN vectors ON unit = given.value",
                (json.dumps(page),),
            )
            .fetchall()
        )
        raw(connection).executemany(
            "UPDATE vectors SET checksum = ? WHERE unit = ?",
            [(vector_checksum(blob), row) for blob, row in rows],
        )


def well_formed(read: Callable[[Collection[int]], T], connection: Connection, bank: int) -> T:
    """What `read` makes of a bank's units; if some cannot be read, of all but the damaged ones, whose row ids it is given."""
    try:
        return read(())
    except (ValueError, TypeError, KeyError, OverflowError, sqlite3.IntegrityError, sqlite3.OperationalError):
        damaged = damaged_units(connection, bank)
        if not damaged:
            raise
        logger.warning("memories that cannot be read are left out: %s", ", ".join(damaged.values()))
        return read(damaged)


def _is_vector(vector: object, checksum: object) -> bool:
    return isinstance(vector, bytes) and vector_checksum(vector) == checksum


def pages(connection: Connection, bank: int) -> Iterator[list[int]]:
    """Row ids of the bank's units, a few at a time."""
    ids = np.array(
        [row[0] for row in raw(connection).execute("SELECT id FROM units WHERE bank = ?", (bank,))], np.int64
    )
    ids.sort()
    for start in range(0, len(ids), _PAGE):
        yield ids[start : start + _PAGE].tolist()
