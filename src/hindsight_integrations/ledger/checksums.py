"""Checksums of units and vectors: what a disk or a stray write changed afterwards is not served as what was retained.

No security: whoever can write the file can write the checksum too.
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
from hindsight_integrations.ledger.sql import among, run_many, unindexed
from hindsight_integrations.ledger.tables import units, vectors
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.units import UnitKind

logger = logging.getLogger("hindsight_integrations")

T = TypeVar("T")

_CLOSED_AT, _RECORDS = map(SEALED_COLUMNS.index, ("closed_at", "records"))
_PAGE = 2000
NEVER_CLOSED = 1 << 61
"""What stands for no `closed_at`."""

_OF_BANK = select(units.c.id).where(units.c.bank == bindparam("bank"))
_SEALED = select(units.c.id, *(units.c[name] for name in SEALED_COLUMNS), units.c.checksum).where(
    among(units.c.id, "ids")
)
_SEALED_IN_BANK = _SEALED.where(unindexed(units.c.bank) == bindparam("bank")).order_by(units.c.id)
_SEAL_UNIT = update(units).where(units.c.id == bindparam("row")).values(checksum=bindparam("sum"))
_VECTORS = select(vectors.c.unit, vectors.c.vector).where(among(vectors.c.unit, "ids"))
_SEAL_VECTOR = update(vectors).where(vectors.c.unit == bindparam("row")).values(checksum=bindparam("sum"))
# Damage may have made a vector text, of which SQLAlchemy cannot make bytes. A turn that waits may have no vector.
_VECTORS_IN_BANK = (
    select(units.c.id, units.c.unit_id, type_coerce(vectors.c.vector, NullType()), vectors.c.checksum)
    .select_from(units.outerjoin(vectors, vectors.c.unit == units.c.id))
    .where(
        units.c.bank == bindparam("bank"),
        or_(vectors.c.unit.is_not(None), units.c.kind == UnitKind.MEMORY.value),
    )
    .order_by(units.c.id)
)


def closing(moment: ColumnElement[Any]) -> dict[str, ColumnElement[Any]]:
    """What an UPDATE of units sets to close them at a moment, or with NULL to open them: also the checksum, by the difference."""
    before = func.coalesce(units.c.closed_at, NEVER_CLOSED)
    return {"closed_at": moment, "checksum": units.c.checksum - before + func.coalesce(moment, NEVER_CLOSED)}


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
    damaged: dict[int, str] = {}
    for page in pages(connection, bank) if ids is None else [ids.tolist()]:
        rows = fetched(connection, _SEALED_IN_BANK, {"ids": page, "bank": bank})
        counts = {row[0]: row[_RECORDS + 1] for row in rows if is_sound(row[1:-1], row[-1])}
        sound = records_of(connection, counts)
        damaged.update({row[0]: str(row[1]) for row in rows if row[0] not in sound})
    return damaged


def damaged_vectors(connection: Connection, bank: int) -> dict[int, str]:
    """Unit ids by row id of the bank's units whose vector is missing or is not what was written."""
    return {
        row: unit
        for row, unit, vector, checksum in connection.execute(_VECTORS_IN_BANK, {"bank": bank})
        if not isinstance(vector, bytes) or vector_checksum(vector) != checksum
    }


def seal_units(connection: Connection, bank: int, ids: Sequence[int] | None = None) -> None:
    """Give units (all the bank's, if None) the checksum of what is stored now, damaged or not."""
    for page in pages(connection, bank) if ids is None else [ids]:
        rows = fetched(connection, _SEALED, {"ids": page})
        sums = [{"row": row[0], "sum": unit_checksum(row[1:-1])} for row in rows]
        run_many(connection, _SEAL_UNIT, sums)


def seal_vectors(connection: Connection, bank: int) -> None:
    """Give the bank's vectors the checksum of what is stored now."""
    for page in pages(connection, bank):
        rows = connection.execute(_VECTORS, {"ids": page})
        sums = [{"row": row, "sum": vector_checksum(vector)} for row, vector in rows]
        run_many(connection, _SEAL_VECTOR, sums)


_UNREADABLE = (
    sqlite3.IntegrityError,
    sqlite3.OperationalError,
    exc.IntegrityError,
    exc.OperationalError,
)
"""What reading raises of text or numbers that damage made invalid, with and without SQLAlchemy."""


def well_formed(read: Callable[[Collection[int]], T], connection: Connection, bank: int) -> T:
    """What `read` makes of a bank's units; if some cannot be read, of all but the damaged ones, whose row ids it is given."""
    try:
        return read(())
    except (ValueError, TypeError, KeyError, OverflowError, *_UNREADABLE):
        damaged = damaged_units(connection, bank)
        if not damaged:
            raise
        logger.warning("memories that cannot be read are left out: %s", ", ".join(damaged.values()))
        return read(damaged)


def pages(connection: Connection, bank: int) -> Iterator[Sequence[int]]:
    """Row ids of the bank's units, ascending, a few at a time."""
    ids = sorted(connection.scalars(_OF_BANK, {"bank": bank}))
    for start in range(0, len(ids), _PAGE):
        yield ids[start : start + _PAGE]
