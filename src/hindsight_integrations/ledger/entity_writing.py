"""The part of a commit that concerns entities: their names, blocks, roles and mentions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from hindsight_integrations.ledger.rows import (
    IS_FACT,
    NOT_OBSERVED,
    batches,
    entity_rows,
    marks,
)
from hindsight_integrations.ledger.rules import (
    blocks,
    check_known,
    merged_names,
    merged_role,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.entities import EntityRole
from hindsight_integrations.model.writes import EntityWrite, WriteSet


@dataclass(frozen=True, slots=True)
class Target:
    """Where a commit writes: the connection, the bank's row id, and the revision it makes."""

    connection: Connection
    bank: int
    revision: int


def write_entities(target: Target, writes: Mapping[str, EntityWrite]) -> None:
    """Insert new entities; give known ones the names and the role they lack."""
    known = _known_entities(target, list(writes))
    raw(target.connection).executemany(
        "INSERT INTO entities (bank, entity_id, name, type, role, names) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (target.bank, new.id, new.name, new.type.value, new.role.value, json.dumps(new.names))
            for new in writes.values()
            if new.id not in known
        ],
    )
    changed = []
    for entity_id, (row, role, names) in known.items():
        write = writes[entity_id]
        after = merged_role(role, write.role), merged_names(names, write.names)
        if after != (role, names):
            changed.append((after[0].value, json.dumps(after[1]), row))
    raw(target.connection).executemany("UPDATE entities SET role = ?, names = ? WHERE id = ?", changed)
    rows = entity_rows(target.connection, target.bank, list(writes))
    pairs = ((name, rows[write.id]) for write in writes.values() for name in write.names)
    write_names(target.connection, target.bank, pairs)


def _known_entities(
    target: Target, entity_ids: list[str]
) -> dict[str, tuple[int, EntityRole, tuple[str, ...]]]:
    """(row id, role, names) of the entities that are there already."""
    known = {}
    for some in batches(entity_ids):
        rows = raw(target.connection).execute(
            "SELECT entity_id, id, role, names FROM entities "
            f"WHERE bank = ? AND entity_id IN ({marks(len(some))})",
            (target.bank, *some),
        )
        for entity_id, row, role, names in rows:
            known[entity_id] = row, EntityRole(role), tuple(json.loads(names))
    return known


def write_names(connection: Connection, bank: int, pairs: Iterable[tuple[str, int]]) -> None:
    """Make entities findable by the names and blocks of these (normalised name, row id) pairs."""
    names = set(pairs)
    raw(connection).executemany(
        "INSERT INTO entity_names (bank, name, entity) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(bank, name, row) for name, row in sorted(names)],
    )
    keys = {(block, row) for name, row in names for block in blocks(name)}
    raw(connection).executemany(
        "INSERT INTO entity_blocks (bank, block, entity) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(bank, block, row) for block, row in sorted(keys)],
    )


def write_mentions(target: Target, writes: WriteSet, units: Mapping[str, int]) -> list[int]:
    """Insert new mentions and count them on their entities; those of observations are not counted.

    Args:
        target: where to write.
        writes: the write set; its units and entities are in the tables already.
        units: row ids of the units it mentions.

    Returns:
        Row ids of the entities whose valid facts became more, which is written down with them.

    Raises:
        InvalidRequest: a mention names an entity the bank does not hold.
    """
    if not writes.mentions:
        return []
    wanted = sorted({mention.entity_id for mention in writes.mentions})
    rows = entity_rows(target.connection, target.bank, wanted)
    check_known("mentions", wanted, rows, writes.bank)
    raw(target.connection).executemany(
        "INSERT INTO mentions (unit, entity, bank, revision, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (units[mention.unit_id], rows[mention.entity_id], target.bank, target.revision, mention.text)
            for mention in writes.mentions
        ],
    )
    fresh = (
        raw(target.connection)
        .execute(
            "SELECT count(*), max(mentioned_at), max(mentioned_at), "
            f"CASE WHEN max({IS_FACT} AND closed_at IS NULL) THEN ? ELSE 0 END, entity FROM mentions "
            "JOIN units ON units.id = unit "
            f"WHERE mentions.bank = ? AND revision = ? AND {NOT_OBSERVED} GROUP BY entity",
            (target.revision, target.bank, target.revision),
        )
        .fetchall()
    )
    raw(target.connection).executemany(
        "UPDATE entities SET mentions = mentions + ?, last_seen = max(coalesce(last_seen, ?), ?), "
        "facts_changed = max(facts_changed, ?) WHERE id = ?",
        fresh,
    )
    return [entity for *_, changed, entity in fresh if changed]
