"""Reads of amendments and of single vectors."""

from __future__ import annotations

import json
from sqlite3 import Connection

import numpy as np

from hindsight_integrations.model.time import from_micros
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.ports.validity_log import Amendment

# Written out, so that SQLite sees that the partial index of schema.py serves.
_AMENDED = f"event.kind = '{ValidityKind.AMENDED.value}' AND event.by_unit IS NOT NULL"


def amended(connection: Connection, bank: int) -> IntArray:
    """Row ids of amended units, ascending."""
    rows = connection.execute(
        f"SELECT DISTINCT event.unit FROM validity_events AS event JOIN units ON units.id = event.unit "
        f"WHERE {_AMENDED} AND units.bank = ? ORDER BY event.unit",
        (bank,),
    )
    return np.fromiter((row for (row,) in rows), np.int64)


def amendments(connection: Connection, bank: int, ids: IntArray) -> list[Amendment]:
    """Amendments of these units, each statement of a unit once, at its first effective time."""
    rows = connection.execute(
        f"SELECT event.unit, event.by_unit, min(event.effective_at) AS since, event.reason FROM json_each(?) AS given "
        f"CROSS JOIN validity_events AS event ON event.unit = given.value JOIN units ON units.id = event.unit "
        f"WHERE {_AMENDED} AND units.bank = ? GROUP BY event.unit, event.by_unit, event.reason "
        f"ORDER BY event.unit, since, event.by_unit, event.reason",
        (json.dumps(ids.tolist()), bank),
    )
    return [Amendment(unit, by, from_micros(since), statement) for unit, by, since, statement in rows]


def vectors_of(connection: Connection, bank: int, ids: IntArray) -> dict[int, Vector]:
    """Vectors by row id."""
    rows = connection.execute(
        "SELECT unit, vector FROM json_each(?) AS given CROSS JOIN vectors ON vectors.unit = given.value "
        "WHERE vectors.bank = ?",
        (json.dumps(ids.tolist()), bank),
    )
    return {unit: np.frombuffer(vector, "<f4").astype(np.float32) for unit, vector in rows}
