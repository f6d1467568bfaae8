"""Reads of entities: by name, by shared blocks, by unit, and the log of changes made by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from hindsight_integrations.ledger.logged_changes import LoggedChange
from hindsight_integrations.ledger.reader import BankReads
from hindsight_integrations.ledger.rows import (
    ENTITY_COLUMNS,
    batches,
    entity_from,
    entity_rows,
    marks,
)
from hindsight_integrations.ledger.rules import (
    COMMON_BLOCK,
    NEIGHBOUR_LIMIT,
    NEIGHBOUR_UNITS,
    blocks,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.entities import Entity, EntityChange, EntityChangeKind
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.time import from_micros
from hindsight_integrations.ports.arrays import IntArray


# Which names are an entity's for certain, and which were only found alike (decision 095).
def exact_names(entity_id: str, name: str, log: Sequence[LoggedChange]) -> frozenset[str]:
    """The normalised name an entity goes by, and those that somebody gave it by hand.

    Every other name it answers to came by resolution, which takes names for one that look alike. An entity merged into it
    by hand brings what was certain of that entity then, and no more: who merged two may not have seen a third inside.

    Args:
        entity_id: whose names.
        name: what it is called.
        log: all changes by hand in the bank, oldest first.
    """
    exact = {normalise_name(name)}
    for place, change in enumerate(log):
        moved = change.moved
        if change.undone:
            continue
        if change.kind is EntityChangeKind.SPLIT and moved.other_id == entity_id:
            exact |= set(moved.names)
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.ALIAS:
            exact |= {*moved.names, *moved.other_names}
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.MERGE:
            exact |= exact_names(moved.other_id, moved.name, log[:place])
    return frozenset(exact)


class EntityReader(BankReads):
    """The part of `LedgerReader` about entities."""

    def entities_named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Entity by name or alias; of several the most mentioned, then the lowest id."""
        best: dict[str, int] = {}
        with self._at(bank) as (connection, row):
            for some in batches(names):
                found = raw(connection).execute(
                    "SELECT entity_names.name, entities.id FROM entity_names JOIN entities ON entities.id = entity "
                    f"WHERE entity_names.bank = ? AND entity_names.name IN ({marks(len(some))}) "
                    "ORDER BY mentions DESC, entity_id",
                    (row, *some),
                )
                for name, entity in found:
                    best.setdefault(name, entity)
            entities = _by_row(connection, set(best.values()))
        return {name: entities[entity] for name, entity in best.items()}

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """Entities of that id or exact normalised name, by falling mentions, then id."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = :bank AND (entity_id = :name OR id IN "
                "(SELECT entity FROM entity_names WHERE entity_names.bank = :bank AND entity_names.name = :name)) "
                "ORDER BY mentions DESC, entity_id",
                {"bank": row, "name": name},
            )
            return [entity_from(each) for each in found]

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities with a name that starts so, the most mentioned first, then by name and id."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = :bank AND (:prefix = '' OR id IN "
                "(SELECT entity FROM entity_names WHERE entity_names.bank = :bank AND entity_names.name >= :prefix "
                "AND substr(entity_names.name, 1, length(:prefix)) = :prefix)) "
                "ORDER BY mentions DESC, name, entity_id LIMIT :limit",
                {"bank": row, "prefix": prefix, "limit": limit},
            )
            return [entity_from(each) for each in found]

    def entity_candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """For each name the entities sharing a block with it, at most `limit`; see the port for the order."""
        with self._at(bank) as (connection, row):
            rare = _rare(connection, row, {block for name in names for block in blocks(name)})
            rows = {name: _blocked(connection, row, name, blocks(name) & rare, limit) for name in names}
            found = _by_row(connection, {entity for some in rows.values() for entity in some})
        return {name: [found[entity] for entity in some] for name, some in rows.items()}

    def entity_neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Names each entity was mentioned with in its latest units, the most frequent ones."""
        met: dict[str, list[str]] = {}
        with self._at(bank) as (connection, row):
            names = {entity: key for key, entity in entity_rows(connection, row, entity_ids).items()}
            for entity, name in raw(connection).execute(
                "SELECT given.value, json_extract(entities.names, '$[0]') FROM json_each(?) AS given "
                "CROSS JOIN mentions AS other ON other.unit IN "
                "(SELECT unit FROM mentions WHERE entity = given.value "
                "AND NOT EXISTS (SELECT 1 FROM observations WHERE observations.unit = mentions.unit) "
                "ORDER BY unit DESC LIMIT ?) "
                "AND other.entity <> given.value JOIN entities ON entities.id = other.entity "
                "GROUP BY given.value, other.entity ORDER BY given.value, count(*) DESC, other.entity",
                (json.dumps(sorted(names)), NEIGHBOUR_UNITS),
            ):
                if name is not None and len(known := met.setdefault(names[entity], [])) < NEIGHBOUR_LIMIT:
                    known.append(name)
        return {entity_id: frozenset(known) for entity_id, known in met.items()}

    def entities_of(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """The entities each unit mentions, by name."""
        found: dict[int, list[Entity]] = {}
        read: dict[str, Entity] = {}  # an entity that many units mention is read once
        with self._at(bank) as (connection, row):
            # The + keeps the planner from walking the whole bank by the feed's index.
            rows = raw(connection).execute(
                f"SELECT mentions.unit, {ENTITY_COLUMNS} FROM json_each(?) AS given "
                "CROSS JOIN mentions ON mentions.unit = given.value CROSS JOIN entities ON entities.id = mentions.entity "
                "WHERE +mentions.bank = ? ORDER BY entities.name, entity_id",
                (json.dumps(sorted(set(ids.tolist()))), row),
            )
            for unit, *fields in rows:
                entity = read.get(fields[0]) or read.setdefault(fields[0], entity_from(tuple(fields)))
                found.setdefault(unit, []).append(entity)
        return found

    def entity_rows(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of entities, as the graph names them."""
        with self._at(bank) as (connection, row):
            return entity_rows(connection, row, entity_ids)

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        with self._at(bank) as (connection, row):
            return mention_texts(connection, row, entity_id)

    def exact_names(self, bank: str, entity_id: str) -> frozenset[str]:
        """Names that are the entity's for certain; see the port."""
        with self._at(bank) as (connection, row):
            query = "SELECT name FROM entities WHERE bank = ? AND entity_id = ?"
            (name,) = raw(connection).execute(query, (row, entity_id)).fetchone()
            return exact_names(entity_id, name, logged_changes(connection, row))

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """The audit log, oldest first."""
        with self._at(bank) as (connection, row):
            return [change.public() for change in logged_changes(connection, row)]


def mention_texts(connection: Connection, bank: int, entity_id: str) -> list[tuple[str, str]]:
    """(unit id, text as written) of an entity's mentions, in unit order."""
    rows = raw(connection).execute(
        "SELECT unit_id, mentions.text FROM entities JOIN mentions ON entity = entities.id "
        "JOIN units ON units.id = mentions.unit WHERE entities.bank = ? AND entity_id = ? ORDER BY units.id",
        (bank, entity_id),
    )
    return [(unit, text) for unit, text in rows]


def logged_changes(connection: Connection, bank: int) -> list[LoggedChange]:
    """The audit log of entity changes, oldest first."""
    rows = raw(connection).execute(
        "SELECT id, kind, detail, made_at, undone FROM entity_changes WHERE bank = ? ORDER BY id", (bank,)
    )
    return [
        LoggedChange(number, EntityChangeKind(kind), detail, from_micros(made_at), bool(undone))
        for number, kind, detail, made_at, undone in rows
    ]


def _rare(connection: Connection, bank: int, keys: set[str]) -> frozenset[str]:
    """The keys that some entity has, and not too many; counting stops at the limit."""
    rows = raw(connection).execute(
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
        shared.update(dict(raw(connection).execute(query, (bank, *some)).fetchall()))
    query = "SELECT entity FROM entity_names WHERE bank = ? AND name = ?"
    exact = {row[0] for row in raw(connection).execute(query, (bank, name))}
    near = json.dumps(sorted(exact | shared.keys()))
    rows = (
        raw(connection)
        .execute(
            "SELECT id, mentions, entity_id FROM entities WHERE id IN (SELECT value FROM json_each(?))",
            (near,),
        )
        .fetchall()
    )
    rows.sort(key=lambda row: (row[0] not in exact, -shared[row[0]], -row[1], row[2]))
    return [row[0] for row in rows[:limit]]


def _by_row(connection: Connection, rows: Iterable[int]) -> dict[int, Entity]:
    found = raw(connection).execute(
        f"SELECT entities.id, {ENTITY_COLUMNS} FROM entities WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(rows)),),
    )
    return {row[0]: entity_from(row[1:]) for row in found}
