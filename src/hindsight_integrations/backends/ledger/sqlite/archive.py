"""A bank as archive rows, and back. One table of kinds: what is selected, and how it is inserted again."""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules import archives as kinds
from hindsight_integrations.backends.ledger.rules.archives import batched, check_empty, unreadable
from hindsight_integrations.backends.ledger.rules.commits import blocks
from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.reader import count_units
from hindsight_integrations.backends.ledger.sqlite.rows import UNIT_COLUMNS, find_bank
from hindsight_integrations.ports.ledger import ArchiveRow, Json

JSON_FIELDS = frozenset(
    {"metadata", "tags", "sources", "record", "names", "embedder", "profile", "fields", "detail"}
)
_UNIT = "(SELECT id FROM units WHERE bank = :bank AND unit_id = :{0})"
_ENTITY = "(SELECT id FROM entities WHERE bank = :bank AND entity_id = :{0})"


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of row leaves and enters; `:bank` is the bank's row id, `:now` the revision the import makes."""

    select: str
    inserts: tuple[str, ...]


def _plain(table: str, columns: str) -> _Kind:
    """A table of the bank whose rows stand by themselves."""
    names = ", ".join(f":{name.strip()}" for name in columns.split(","))
    return _Kind(
        f"SELECT {columns} FROM {table} WHERE bank = :bank ORDER BY rowid"
        if table in {"chunks", "entity_changes", "tasks"}
        else f"SELECT {columns} FROM {table} WHERE bank = :bank",
        (f"INSERT INTO {table} (bank, {columns}) VALUES (:bank, {names})",),
    )


_UNIT_VALUES = ", ".join(f":{name.strip()}" for name in UNIT_COLUMNS.split(","))
_KINDS = {
    kinds.DOCUMENT: _plain("documents", "id, content_hash, context, mentioned_at, metadata, tags"),
    kinds.CHUNK: _plain("chunks", "document, ordinal, text, content_hash, position"),
    kinds.MESSAGE: _plain("message_keys", "thread, message, content_hash, revision"),
    kinds.UNIT: _Kind(
        f"SELECT {UNIT_COLUMNS}, vector FROM units JOIN vectors ON unit = units.id WHERE units.bank = :bank ORDER BY id",
        (
            f"INSERT INTO units ({UNIT_COLUMNS}, bank, created, changed) VALUES ({_UNIT_VALUES}, :bank, :now, :now)",
            f"INSERT INTO vectors (unit, bank, revision, vector) VALUES ({_UNIT.format('unit_id')}, :bank, :now, :vector)",
        ),
    ),
    kinds.EVENT: _Kind(
        "SELECT own.unit_id AS unit, kind, effective_at, revision, stating.unit_id AS by_unit, reason "
        "FROM validity_events AS event JOIN units AS own ON own.id = event.unit LEFT JOIN units AS stating "
        "ON stating.id = event.by_unit WHERE own.bank = :bank ORDER BY event.id",
        (
            (
                "INSERT INTO validity_events (unit, kind, effective_at, revision, by_unit, reason) VALUES "
                f"({_UNIT.format('unit')}, :kind, :effective_at, :revision, {_UNIT.format('by_unit')}, :reason)"
            ),
        ),
    ),
    kinds.ENTITY: _Kind(
        "SELECT entity_id, name, type, role, names FROM entities WHERE bank = :bank ORDER BY id",
        (
            (
                "INSERT INTO entities (bank, entity_id, name, type, role, names) "
                "VALUES (:bank, :entity_id, :name, :type, :role, :names)"
            ),
            (
                "INSERT INTO entity_names (bank, name, entity) "
                f"SELECT :bank, value, {_ENTITY.format('entity_id')} FROM json_each(:names)"
            ),
            (
                "INSERT INTO entity_blocks (bank, block, entity) "
                f"SELECT :bank, value, {_ENTITY.format('entity_id')} FROM json_each(:blocks)"
            ),
        ),
    ),
    kinds.MENTION: _Kind(
        "SELECT unit_id AS unit, entity_id AS entity, mentions.text AS text FROM mentions JOIN units "
        "ON units.id = unit JOIN entities ON entities.id = entity WHERE mentions.bank = :bank",
        (
            (
                "INSERT INTO mentions (unit, entity, bank, revision, text) VALUES "
                f"({_UNIT.format('unit')}, {_ENTITY.format('entity')}, :bank, :now, :text)"
            ),
        ),
    ),
    kinds.LINK: _Kind(
        "SELECT one.unit_id AS source, two.unit_id AS target, code, weight FROM links "
        "JOIN units AS one ON one.id = source JOIN units AS two ON two.id = target WHERE links.bank = :bank",
        (
            (
                "INSERT INTO links (source, target, code, weight, bank, revision) VALUES "
                f"({_UNIT.format('source')}, {_UNIT.format('target')}, :code, :weight, :bank, :now)"
            ),
        ),
    ),
    kinds.EDIT: _Kind(
        "SELECT unit_id AS unit, made_at, fields FROM unit_edits JOIN units ON units.id = unit "
        "WHERE units.bank = :bank ORDER BY unit_edits.id",
        (
            (
                "INSERT INTO unit_edits (bank, unit, revision, made_at, fields) "
                f"VALUES (:bank, {_UNIT.format('unit')}, :now, :made_at, :fields)"
            ),
        ),
    ),
    kinds.CHANGE: _plain("entity_changes", "kind, detail, made_at, undone"),
    kinds.EVIDENCE: _Kind(
        "SELECT one.unit_id AS opinion, two.unit_id AS evidence, assessment, effective_at FROM evidence "
        "JOIN units AS one ON one.id = opinion JOIN units AS two ON two.id = evidence WHERE one.bank = :bank",
        (
            (
                "INSERT INTO evidence (opinion, evidence, assessment, effective_at) VALUES "
                f"({_UNIT.format('opinion')}, {_UNIT.format('evidence')}, :assessment, :effective_at)"
            ),
        ),
    ),
    kinds.TASK: _plain("tasks", "kind, payload, state, attempts, lease_until, not_before, last_error"),
}


class SqliteArchive:
    """The part of `LedgerMaintenance` that hands out a whole bank and takes one in."""

    _connections: Connections

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, itself first, units before what refers to them."""
        with self._connections.reading() as connection:
            row = find_bank(connection, bank).id
            query = "SELECT revision, embedder, profile FROM banks WHERE id = :bank"
            (header,) = _selected(connection, query, row)
            yield ArchiveRow(kinds.BANK, header)
            for kind, how in _KINDS.items():
                for fields in _selected(connection, how.select, row):
                    yield ArchiveRow(kind, fields)

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; see the port."""
        with self._connections.writing() as connection:
            found = find_bank(connection, bank)
            check_empty(count_units(connection, found.id))
            now, units = found.revision + 1, 0
            try:
                for kind, batch in batched(rows):
                    if kind == kinds.BANK:
                        now = max(now, _restore_bank(connection, found.id, batch[0].fields))
                        continue
                    _insert(
                        connection,
                        kind,
                        [{**_bound(row.fields), "bank": found.id, "now": now} for row in batch],
                    )
                    units += len(batch) if kind == kinds.UNIT else 0
            except (
                sqlite3.IntegrityError,
                sqlite3.ProgrammingError,
                sqlite3.InterfaceError,
                KeyError,
            ) as error:
                raise unreadable(f"a row does not fit: {error}") from error
            _finish(connection, found.id, now)
        return units


def _insert(connection: Connection, kind: str, values: list[dict[str, object]]) -> None:
    if kind not in _KINDS:
        raise unreadable(f"it holds rows of an unknown kind, {kind!r}")
    if kind == kinds.ENTITY:
        for value in values:
            names = json.loads(str(value["names"]))
            value["blocks"] = json.dumps(sorted({key for name in names for key in blocks(name)}))
    for statement in _KINDS[kind].inserts:
        connection.executemany(statement, values)


def _restore_bank(connection: Connection, bank: int, fields: Mapping[str, Json]) -> int:
    """Profile and embedder of the archived bank; the revision it stood at."""
    values = _bound(fields)
    embedder, revision = fields["embedder"], fields["revision"]
    dimension = embedder["dimension"] if isinstance(embedder, dict) else None
    connection.execute(
        "UPDATE banks SET profile = ?, embedder = ?, dimension = ? WHERE id = ?",
        (values["profile"], values["embedder"], dimension, bank),
    )
    return revision if isinstance(revision, int) else 0


def _finish(connection: Connection, bank: int, revision: int) -> None:
    """What follows from the rows: mention counts, the units that messages stand for, and the bank's revision."""
    connection.execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        "JOIN units ON units.id = unit WHERE entity = entities.id) WHERE bank = ?",
        (bank,),
    )
    connection.execute(
        "INSERT INTO unit_sources (bank, thread, message, unit) SELECT DISTINCT bank, thread, value, units.id "
        "FROM units, json_each(sources) WHERE bank = ?",
        (bank,),
    )
    connection.execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, bank))


def _selected(connection: Connection, query: str, bank: int) -> Iterator[dict[str, Json]]:
    found = connection.execute(query, {"bank": bank})
    names = [column[0] for column in found.description]
    for row in found:
        yield {name: _json(name, value) for name, value in zip(names, row, strict=True)}


def _json(name: str, value: Json | bytes) -> Json:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if name in JSON_FIELDS and isinstance(value, str):
        parsed: Json = json.loads(value)
        return parsed
    return value


def _bound(fields: Mapping[str, Json]) -> dict[str, object]:
    """Fields as SQLite takes them."""
    values: dict[str, object] = {
        name: json.dumps(value) if name in JSON_FIELDS and value is not None else value
        for name, value in fields.items()
    }
    if isinstance(vector := values.get("vector"), str):
        try:
            values["vector"] = base64.b64decode(vector, validate=True)
        except binascii.Error as error:
            raise unreadable(f"a vector cannot be decoded: {error}") from error
    return values
