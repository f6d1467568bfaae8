"""Checksums of units and vectors, which detect damage by the disk or by other programs.

They are not a security measure: anyone who can write the file can write a matching checksum.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, exc, func, or_, select, type_coerce, update
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import NullType

from hindsight_integrations.ledger.records import digest, records_of
from hindsight_integrations.ledger.rows import SEALED_COLUMNS, fetched
from hindsight_integrations.ledger.sql import among, in_bank, refers, run_many, unindexed
from hindsight_integrations.ledger.tables import units, vectors
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.units import UnitKind

logger = logging.getLogger("hindsight_integrations")

T = TypeVar("T")

_CLOSED_AT, _RECORDS = map(SEALED_COLUMNS.index, ("closed_at", "records"))
_PAGE = 2000
NEVER_CLOSED = 1 << 61
"""Stands for a `closed_at` of NULL in checksums."""

_OF_BANK = select(units.c.id).where(units.c.bank == bindparam("bank"))
_SEALED = select(units.c.id, *(units.c[name] for name in SEALED_COLUMNS), units.c.checksum).where(
    among(units.c.id, "ids"), unindexed(units.c.bank) == bindparam("bank")
)
_SEALED_IN_ORDER = _SEALED.order_by(units.c.id)
_SEAL_UNIT = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("row"))
    .values(checksum=bindparam("sum"))
)
_VECTORS = select(vectors.c.unit, vectors.c.vector).where(in_bank(vectors), among(vectors.c.unit, "ids"))
_SEAL_VECTOR = (
    update(vectors)
    .where(in_bank(vectors, "of"), vectors.c.unit == bindparam("row"))
    .values(checksum=bindparam("sum"))
)
# Damage can turn a vector into text, which SQLAlchemy cannot convert. A waiting turn may have no vector.
_VECTORS_IN_BANK = (
    select(units.c.id, units.c.unit_id, type_coerce(vectors.c.vector, NullType()), vectors.c.checksum)
    .select_from(units.outerjoin(vectors, refers(vectors.c.unit, units)))
    .where(
        units.c.bank == bindparam("bank"),
        or_(vectors.c.unit.is_not(None), units.c.kind == UnitKind.MEMORY.value),
    )
    .order_by(units.c.id)
)


def closing(moment: ColumnElement[Any]) -> dict[str, ColumnElement[Any]]:
    """Return the values of an UPDATE that sets `closed_at` of units (NULL restores them) and adjusts their checksums."""
    before = func.coalesce(units.c.closed_at, NEVER_CLOSED)
    return {"closed_at": moment, "checksum": units.c.checksum - before + func.coalesce(moment, NEVER_CLOSED)}


def unit_checksum(row: Sequence[Any]) -> int:
    """Compute the checksum of a row of SEALED_COLUMNS.

    `closed_at` is added to the digest of the other columns, so that closing a unit adjusts the checksum without reading the
    rest of the row. Recomputing it from a damaged row would hide the damage.
    """
    closed_at = row[_CLOSED_AT]
    body = digest((*row[:_CLOSED_AT], *row[_CLOSED_AT + 1 :]))
    return body + (NEVER_CLOSED if closed_at is None else int(closed_at))


def vector_checksum(vector: bytes) -> int:
    """Compute the checksum of a stored vector."""
    return zlib.crc32(vector)


def is_sound(row: Sequence[Any], checksum: object) -> bool:
    """Return whether a row of SEALED_COLUMNS is undamaged."""
    with suppress(ValueError, TypeError):  # `closed_at` may no longer be a number
        return unit_checksum(row) == checksum
    return False


def damaged_units(connection: Connection, bank: int, ids: IntArray | None = None) -> dict[int, str]:
    """Return the unit ids, by row id, of the damaged units among `ids`, or in the whole bank if None."""
    damaged: dict[int, str] = {}
    for page in pages(connection, bank) if ids is None else [ids.tolist()]:
        rows = fetched(connection, _SEALED_IN_ORDER, {"ids": page, "bank": bank})
        counts = {row[0]: row[_RECORDS + 1] for row in rows if is_sound(row[1:-1], row[-1])}
        sound = records_of(connection, bank, counts)
        damaged.update({row[0]: str(row[1]) for row in rows if row[0] not in sound})
    return damaged


def damaged_vectors(connection: Connection, bank: int) -> dict[int, str]:
    """Return the unit ids, by row id, of the bank's units whose vector is missing or damaged."""
    return {
        row: unit
        for row, unit, vector, checksum in connection.execute(_VECTORS_IN_BANK, {"bank": bank})
        if not isinstance(vector, bytes) or vector_checksum(vector) != checksum
    }


def seal_units(connection: Connection, bank: int, ids: Sequence[int] | None = None) -> None:
    """Recompute the checksums of units (of the whole bank if None) from their stored values, whether damaged or not."""
    for page in pages(connection, bank) if ids is None else [ids]:
        rows = fetched(connection, _SEALED, {"ids": page, "bank": bank})
        sums = [{"of": bank, "row": row[0], "sum": unit_checksum(row[1:-1])} for row in rows]
        run_many(connection, _SEAL_UNIT, sums)


def seal_vectors(connection: Connection, bank: int) -> None:
    """Recompute the checksums of the bank's vectors from their stored values."""
    for page in pages(connection, bank):
        rows = connection.execute(_VECTORS, {"ids": page, "bank": bank})
        sums = [{"of": bank, "row": row, "sum": vector_checksum(vector)} for row, vector in rows]
        run_many(connection, _SEAL_VECTOR, sums)


_UNREADABLE = (
    sqlite3.IntegrityError,
    sqlite3.OperationalError,
    exc.IntegrityError,
    exc.OperationalError,
)
"""Exceptions that SQLAlchemy or the conversion of values raises when a damaged text or number is read."""


def well_formed(read: Callable[[Collection[int]], T], connection: Connection, bank: int) -> T:
    """Call `read(())`. If that fails, call `read` again with the row ids of damaged units, which it must skip."""
    try:
        return read(())
    except (ValueError, TypeError, KeyError, OverflowError, *_UNREADABLE):
        if connection.invalidated:  # the server closed the connection, so nothing is damaged
            raise
        damaged = damaged_units(connection, bank)
        if not damaged:
            raise
        logger.warning("skipped memories that cannot be read: %s", ", ".join(damaged.values()))
        return read(damaged)


def pages(connection: Connection, bank: int) -> Iterator[Sequence[int]]:
    """Yield the row ids of the bank's units in pages, ascending."""
    ids = sorted(connection.scalars(_OF_BANK, {"bank": bank}))
    for start in range(0, len(ids), _PAGE):
        yield ids[start : start + _PAGE]
