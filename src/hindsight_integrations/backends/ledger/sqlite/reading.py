"""Reads of units, messages and validity. Every query is bounded by what was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from sqlite3 import Connection
from typing import TypeVar

from hindsight_integrations.backends.ledger.sqlite.rows import UNIT_COLUMNS, event_from, unit_from
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.ports.arrays import IntArray

T = TypeVar("T")

PARAMETERS = 900  # below SQLite's oldest limit of 999 bound values, with room for the bank's


def batches(values: Sequence[T], size: int = PARAMETERS) -> Iterator[Sequence[T]]:
    """The distinct values in lists short enough to bind in one statement."""
    distinct = list(dict.fromkeys(values))
    for start in range(0, len(distinct), size):
        yield distinct[start : start + size]


def marks(count: int) -> str:
    """`count` question marks for an IN list."""
    return ",".join("?" * count)


def units(connection: Connection, bank: int, name: str, ids: IntArray) -> dict[int, MemoryUnit]:
    """Units by row id; unknown ids and those of other banks are left out."""
    rows = connection.execute(
        f"SELECT units.id, {UNIT_COLUMNS} FROM json_each(?) AS given CROSS JOIN units "
        "ON units.id = given.value WHERE +bank = ?",
        (json.dumps(ids.tolist()), bank),
    )
    return {row[0]: unit_from(row[1:], name) for row in rows}


def row_ids(connection: Connection, bank: int, unit_ids: Sequence[str]) -> dict[str, int]:
    """Row ids of unit ids; unknown ones are left out."""
    found: dict[str, int] = {}
    for some in batches(unit_ids):
        query = f"SELECT unit_id, id FROM units WHERE bank = ? AND unit_id IN ({marks(len(some))})"
        found.update(connection.execute(query, (bank, *some)))
    return found


def unit_ids(connection: Connection, bank: int, ids: IntArray) -> dict[int, str]:
    """Unit ids of row ids; unknown ids and those of other banks are left out."""
    return dict(
        connection.execute(
            "SELECT units.id, unit_id FROM json_each(?) AS given CROSS JOIN units "
            "ON units.id = given.value WHERE +bank = ?",
            (json.dumps(ids.tolist()), bank),
        )
    )


def validity(connection: Connection, bank: int, unit_id: str) -> list[ValidityEvent]:
    """A unit's validity log, by effective time, then in the order recorded."""
    rows = connection.execute(
        "SELECT kind, effective_at, stating.unit_id, reason FROM validity_events AS event "
        "JOIN units ON units.id = event.unit LEFT JOIN units AS stating ON stating.id = event.by_unit "
        "WHERE units.bank = ? AND units.unit_id = ? ORDER BY effective_at, event.id",
        (bank, unit_id),
    )
    return [event_from(row, unit_id) for row in rows]
