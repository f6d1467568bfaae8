"""A bank as archive rows, and back. One table of kinds: what is selected, and how it is inserted again."""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules import archives as kinds
from hindsight_integrations.backends.ledger.rules.archives import batched, check_empty, unreadable
from hindsight_integrations.backends.ledger.rules.commits import blocks
from hindsight_integrations.backends.ledger.sqlite.archive_kinds import KINDS
from hindsight_integrations.backends.ledger.sqlite.checksums import (
    damaged_units,
    damaged_vectors,
    seal_units,
    seal_vectors,
)
from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.erasure import BANK_CONTENT
from hindsight_integrations.backends.ledger.sqlite.item_reader import damaged_items, seal_items
from hindsight_integrations.backends.ledger.sqlite.observation_tasks import observe_bank
from hindsight_integrations.backends.ledger.sqlite.reader import count_units
from hindsight_integrations.backends.ledger.sqlite.records import seal_records
from hindsight_integrations.backends.ledger.sqlite.rows import NOT_OBSERVED, find_bank
from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.ports.ledger import ArchiveRow, Json

JSON_FIELDS = frozenset(
    {
        "metadata",
        "tags",
        "sources",
        "spellings",
        "names",
        "embedder",
        "profile",
        "fields",
        "detail",
        "left_out",
        "restates",
    }
)
REPLACED = ("profile_changes", "mental_models", "directives")
"""Tables of what an empty bank may have been given; the archive's rows come in their place."""

UNFIT = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    KeyError,
    OverflowError,
    UnicodeEncodeError,
)
"""What a row that does not fit the tables raises. The bank has checked each line before; see validation/archive_check."""


class SqliteArchive:
    """The part of `LedgerMaintenance` that hands out a whole bank and takes one in."""

    _connections: Connections

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, itself first, units before what refers to them."""
        with self._connections.reading() as connection:
            row = find_bank(connection, bank).id
            if items := damaged_items(connection, row):
                raise MemoryDamaged(bank, items)
            if damaged := {**damaged_units(connection, row), **damaged_vectors(connection, row)}:
                raise MemoryDamaged(bank, tuple(damaged.values()))
            query = "SELECT revision, embedder, profile FROM banks WHERE id = :bank"
            (header,) = _selected(connection, query, row)
            yield ArchiveRow(kinds.BANK, header)
            for kind, how in KINDS.items():
                for fields in _selected(connection, how.select, row):
                    yield ArchiveRow(kind, fields)

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; see the port."""
        with self._connections.writing() as connection:
            found = find_bank(connection, bank)
            check_empty(count_units(connection, found.id), _count_others(connection, found.id))
            now, units = found.revision + 1, 0
            try:
                for kind, batch in batched(rows):
                    if kind == kinds.BANK:
                        now = max(now, _restore_bank(connection, found.id, batch[0].fields))
                        continue
                    values = [{**_bound(row.fields), "bank": found.id, "now": now} for row in batch]
                    _insert(connection, kind, values)
                    units += len(batch) if kind == kinds.UNIT else 0
            except UNFIT as error:
                raise unreadable(f"a row does not fit: {error}") from error
            _finish(connection, found.id, now)
            observe_bank(self._connections, connection, found.id)
        return units


def _insert(connection: Connection, kind: str, values: list[dict[str, object]]) -> None:
    if kind not in KINDS:
        raise unreadable(f"it holds rows of an unknown kind, {kind!r}")
    if kind == kinds.ENTITY:
        for value in values:
            names = json.loads(str(value["names"]))
            value["blocks"] = json.dumps(sorted({key for name in names for key in blocks(name)}))
    for statement in KINDS[kind].inserts:
        connection.executemany(statement, values)


def _count_others(connection: Connection, bank: int) -> int:
    """How many rows of other kinds the bank holds."""
    return sum(
        int(connection.execute(f"SELECT count(*) FROM {table} WHERE bank = ?", (bank,)).fetchone()[0])
        for table in BANK_CONTENT
        if table != "units"
    )


def _restore_bank(connection: Connection, bank: int, fields: Mapping[str, Json]) -> int:
    """Profile and embedder of the archived bank; the revision it stood at. What the bank was given before goes."""
    values = _bound(fields)
    embedder, revision = fields["embedder"], fields["revision"]
    dimension = embedder["dimension"] if isinstance(embedder, dict) else None
    for table in REPLACED:
        connection.execute(f"DELETE FROM {table} WHERE bank = ?", (bank,))
    connection.execute(
        "UPDATE banks SET profile = ?, embedder = ?, dimension = ? WHERE id = ?",
        (values["profile"], values["embedder"], dimension, bank),
    )
    return revision if isinstance(revision, int) else 0


def _finish(connection: Connection, bank: int, revision: int) -> None:
    """What follows from the rows: mention counts, the units that messages stand for, and the bank's revision."""
    connection.execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        f"JOIN units ON units.id = unit WHERE entity = entities.id AND {NOT_OBSERVED}) WHERE bank = ?",
        (bank,),
    )
    connection.execute(
        "INSERT INTO unit_sources (bank, thread, message, unit) SELECT DISTINCT bank, thread, value, units.id "
        "FROM units, json_each(sources) WHERE bank = ?",
        (bank,),
    )
    seal_records(connection, bank)
    seal_items(connection, bank)
    seal_units(connection, bank)
    seal_vectors(connection, bank)
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
