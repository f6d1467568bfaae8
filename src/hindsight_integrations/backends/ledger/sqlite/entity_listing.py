"""Reads for the entity verbs: listings, mention texts, the audit log and the graph's epoch."""

from __future__ import annotations

from sqlite3 import Connection

from hindsight_integrations.backends.ledger.entity_changes import LoggedChange
from hindsight_integrations.backends.ledger.sqlite.rows import ENTITY_COLUMNS, entity_from
from hindsight_integrations.model.entities import Entity, EntityChangeKind
from hindsight_integrations.model.time import from_micros


def listed(connection: Connection, bank: int, prefix: str, limit: int) -> list[Entity]:
    """Entities with a name that starts so, the most mentioned first, then by name and id."""
    rows = connection.execute(
        f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = ?1 AND (?2 = '' OR id IN (SELECT entity FROM entity_names "
        "WHERE entity_names.bank = ?1 AND entity_names.name >= ?2 AND substr(entity_names.name, 1, length(?2)) = ?2)) "
        "ORDER BY mentions DESC, name, entity_id LIMIT ?3",
        (bank, prefix, limit),
    )
    return [entity_from(row) for row in rows]


def found(connection: Connection, bank: int, name: str) -> list[Entity]:
    """Entities of that id or exact normalised name, by falling mentions, then id."""
    rows = connection.execute(
        f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = ?1 AND (entity_id = ?2 OR id IN "
        "(SELECT entity FROM entity_names WHERE entity_names.bank = ?1 AND entity_names.name = ?2)) "
        "ORDER BY mentions DESC, entity_id",
        (bank, name),
    )
    return [entity_from(row) for row in rows]


def mention_texts(connection: Connection, bank: int, entity_id: str) -> list[tuple[str, str]]:
    """(unit id, text as written) of an entity's mentions, in unit order."""
    rows = connection.execute(
        "SELECT unit_id, mentions.text FROM entities JOIN mentions ON entity = entities.id "
        "JOIN units ON units.id = mentions.unit WHERE entities.bank = ? AND entity_id = ? ORDER BY units.id",
        (bank, entity_id),
    )
    return [(unit, text) for unit, text in rows]


def changes(connection: Connection, bank: int) -> list[LoggedChange]:
    """The audit log, oldest first."""
    rows = connection.execute(
        "SELECT id, kind, detail, made_at, undone FROM entity_changes WHERE bank = ? ORDER BY id", (bank,)
    )
    return [
        LoggedChange(number, EntityChangeKind(kind), detail, from_micros(made_at), bool(undone))
        for number, kind, detail, made_at, undone in rows
    ]


def graph_epoch(connection: Connection, bank: int) -> int:
    """The last revision that changed links or mentions in place; 0 if none did."""
    row = connection.execute("SELECT revision FROM graph_epochs WHERE bank = ?", (bank,)).fetchone()
    return int(row[0]) if row else 0


def set_graph_epoch(connection: Connection, bank: int, revision: int) -> None:
    """Graphs older than this revision start over; the bank stands at it from now on."""
    connection.execute("INSERT OR REPLACE INTO graph_epochs VALUES (?, ?)", (bank, revision))
    connection.execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, bank))
