"""Reads of entities: by name, by shared blocks, by unit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

import numpy as np

from hindsight_integrations.backends.ledger.rules import (
    COMMON_BLOCK,
    NEIGHBOUR_LIMIT,
    NEIGHBOUR_UNITS,
    blocks,
)
from hindsight_integrations.backends.ledger.sqlite.reading import batches, marks
from hindsight_integrations.backends.ledger.sqlite.rows import ENTITY_COLUMNS, entity_from
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.ports.arrays import IntArray


def named(connection: Connection, bank: int, names: Sequence[str]) -> dict[str, Entity]:
    """Entity by name or alias; of several the most mentioned, then the lowest id."""
    best: dict[str, int] = {}
    for some in batches(names):
        rows = connection.execute(
            "SELECT entity_names.name, entities.id FROM entity_names JOIN entities ON entities.id = entity "
            f"WHERE entity_names.bank = ? AND entity_names.name IN ({marks(len(some))}) "
            "ORDER BY mentions DESC, entity_id",
            (bank, *some),
        )
        for name, row in rows:
            best.setdefault(name, row)
    found = _by_row(connection, set(best.values()))
    return {name: found[row] for name, row in best.items()}


def candidates(
    connection: Connection, bank: int, names: Sequence[str], limit: int
) -> dict[str, list[Entity]]:
    """For each name the entities sharing a block with it, at most `limit`; see the port for the order."""
    rare = _rare(connection, bank, {block for name in names for block in blocks(name)})
    rows = {name: _blocked(connection, bank, name, blocks(name) & rare, limit) for name in names}
    found = _by_row(connection, {row for some in rows.values() for row in some})
    return {name: [found[row] for row in some] for name, some in rows.items()}


def of_units(connection: Connection, bank: int, ids: IntArray) -> dict[int, list[Entity]]:
    """The entities each unit mentions, by name."""
    # The + keeps the planner from walking the whole bank by the feed's index.
    rows = connection.execute(
        f"SELECT mentions.unit, {ENTITY_COLUMNS} FROM json_each(?) AS given "
        "CROSS JOIN mentions ON mentions.unit = given.value CROSS JOIN entities ON entities.id = mentions.entity "
        "WHERE +mentions.bank = ? ORDER BY entities.name, entity_id",
        (json.dumps(sorted(set(ids.tolist()))), bank),
    )
    found: dict[int, list[Entity]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(entity_from(row[1:]))
    return found


def row_ids(connection: Connection, bank: int, entity_ids: Sequence[str]) -> dict[str, int]:
    """Row ids of entity ids; unknown ones are left out."""
    found: dict[str, int] = {}
    for some in batches(entity_ids):
        query = f"SELECT entity_id, id FROM entities WHERE bank = ? AND entity_id IN ({marks(len(some))})"
        found.update(connection.execute(query, (bank, *some)))
    return found


def with_roles(connection: Connection, bank: int) -> IntArray:
    """Row ids of entities that have a role, ascending."""
    rows = connection.execute("SELECT id FROM entities WHERE bank = ? AND role <> '' ORDER BY id", (bank,))
    return np.array([row[0] for row in rows], np.int64)


def _rare(connection: Connection, bank: int, keys: set[str]) -> frozenset[str]:
    """The keys that some entity has, and not too many; counting stops at the limit."""
    rows = connection.execute(
        "SELECT given.value, (SELECT count(*) FROM (SELECT 1 FROM entity_blocks WHERE bank = ? AND block = given.value "
        "LIMIT ?)) AS size FROM json_each(?) AS given",
        (bank, COMMON_BLOCK + 1, json.dumps(sorted(keys))),
    )
    return frozenset(key for key, size in rows if 0 < size <= COMMON_BLOCK)


def _blocked(connection: Connection, bank: int, name: str, keys: frozenset[str], limit: int) -> list[int]:
    """Rows of the entities named `name` or sharing a key with it, best first."""
    if limit <= 0:
        return []
    shared: Counter[int] = Counter()
    for some in batches(sorted(keys)):
        query = (
            f"SELECT entity, count(*) FROM entity_blocks WHERE bank = ? AND block IN ({marks(len(some))}) "
            "GROUP BY entity"
        )
        shared.update(dict(connection.execute(query, (bank, *some)).fetchall()))
    query = "SELECT entity FROM entity_names WHERE bank = ? AND name = ?"
    exact = {row[0] for row in connection.execute(query, (bank, name))}
    near = json.dumps(sorted(exact | shared.keys()))
    rows = connection.execute(
        "SELECT id, mentions, entity_id FROM entities WHERE id IN (SELECT value FROM json_each(?))", (near,)
    ).fetchall()
    rows.sort(key=lambda row: (row[0] not in exact, -shared[row[0]], -row[1], row[2]))
    return [row[0] for row in rows[:limit]]


def neighbours(connection: Connection, bank: int, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """Names each entity was mentioned with in its latest units, the most frequent ones."""
    rows = row_ids(connection, bank, entity_ids)
    names = {row: entity_id for entity_id, row in rows.items()}
    met: dict[str, list[str]] = {}
    for entity, name in connection.execute(
        "SELECT given.value, json_extract(entities.names, '$[0]') FROM json_each(?) AS given CROSS JOIN mentions AS other "
        "ON other.unit IN (SELECT unit FROM mentions WHERE entity = given.value ORDER BY unit DESC LIMIT ?) "
        "AND other.entity <> given.value JOIN entities ON entities.id = other.entity "
        "GROUP BY given.value, other.entity ORDER BY given.value, count(*) DESC, other.entity",
        (json.dumps(sorted(names)), NEIGHBOUR_UNITS),
    ):
        if name is not None and len(known := met.setdefault(names[entity], [])) < NEIGHBOUR_LIMIT:
            known.append(name)
    return {entity_id: frozenset(known) for entity_id, known in met.items()}


def _by_row(connection: Connection, rows: Iterable[int]) -> dict[int, Entity]:
    found = connection.execute(
        f"SELECT entities.id, {ENTITY_COLUMNS} FROM entities WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(rows)),),
    )
    return {row[0]: entity_from(row[1:]) for row in found}
