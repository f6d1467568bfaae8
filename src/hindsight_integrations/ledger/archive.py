"""A bank as archive rows, and back. One table of kinds: what is selected, and how it is inserted again."""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from itertools import groupby, islice

from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.ledger.checksums import (
    damaged_units,
    damaged_vectors,
    seal_units,
    seal_vectors,
)
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.erasure import BANK_CONTENT
from hindsight_integrations.ledger.items import damaged_items, seal_items
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import WITHDRAWN
from hindsight_integrations.ledger.observations import observe_bank
from hindsight_integrations.ledger.records import seal_records
from hindsight_integrations.ledger.rows import IS_FACT, NOT_OBSERVED, OWN_COLUMNS, find_bank
from hindsight_integrations.ledger.rules import blocks
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.units import count_units
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.ports.ledger import ArchiveRow, Json

BATCH = 500  # rows written at once: bounds memory, and is past the point where larger ones are quicker

BANK, DOCUMENT, CHUNK, MESSAGE, UNIT = "bank", "document", "chunk", "message", "unit"
CATEGORY, RECORD = "category", "record"
TURN, WAITING = "turn", "waiting_turn"
OBSERVATION, OBSERVATION_FACT, OBSERVED = "observation", "observation_fact", "observed"
EVENT, ENTITY, MENTION, LINK = "event", "entity", "mention", "link"
PROFILE_CHANGE = "profile_change"
MENTAL_MODEL, MENTAL_MODEL_GROUND, DIRECTIVE = "mental_model", "mental_model_ground", "directive"
EDIT, CHANGE, TASK = "edit", "entity_change", "task"
OPINION, WORDING, GROUND = "opinion", "opinion_wording", "opinion_ground"
EVIDENCE, OPERATION = "evidence", "opinion_operation"
ITEM, ITEM_TEXT = "item", "item_text"


def batched(rows: Iterator[ArchiveRow]) -> Iterator[tuple[str, list[ArchiveRow]]]:
    """Rows of one kind together, at most BATCH of them."""
    for kind, same in groupby(rows, lambda row: row.kind):
        while batch := list(islice(same, BATCH)):
            yield kind, batch


def check_empty(units: int, others: int) -> None:
    """Refuse a bank that rows could mix with.

    Args:
        units: memories it holds.
        others: what else it holds: documents, entities, message keys, tasks.

    Raises:
        InvalidRequest: it holds something.
    """
    if units or others:
        held = f"{units} memories" if units else "no memories, but traces of earlier ones"
        remedy = "Import into an empty bank, or empty this one by forget(everything=True)."
        raise InvalidRequest("bank", f"it holds {held}", remedy)


def unreadable(reason: str) -> InvalidRequest:
    """The error for an archive that does not make sense."""
    return InvalidRequest("archive", reason, "It is damaged; export it again. The bank was left as it was.")


ROWS_IN_ORDER = frozenset({"chunks", "entity_changes"})
"""Tables whose rows have an order of their own; the others lie by their keys."""


ARCHIVED_COLUMNS = OWN_COLUMNS.replace(", records", "")
"""Of a unit; how many records it has, its lines of records say."""


class Kind:
    """How one kind of row leaves and enters; `:bank` is the bank's row id, `:now` the revision the import makes."""

    def __init__(self, select: str, *inserts: str) -> None:
        self.select, self.inserts = select, inserts


def _unit(field: str) -> str:
    """The row id of the unit named by a field of the archived row."""
    return f"(SELECT id FROM units WHERE bank = :bank AND unit_id = :{field})"


def _entity(field: str) -> str:
    return f"(SELECT id FROM entities WHERE bank = :bank AND entity_id = :{field})"


_CATEGORY = "(SELECT id FROM record_categories WHERE bank = :bank AND kind = :kind AND name = :{})"
"""The row id of the category named by a field of the archived row."""


_UNLEASED = f"replace(state, '{TaskState.LEASED.value}', '{TaskState.PENDING.value}')"


def _into(table: str, columns: str, **expressions: str) -> str:
    """An INSERT of these columns, each from the field of its name unless an expression says from what."""
    values = [expressions.get(name, f":{name}") for name in columns.split(", ")]
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join(values)})"


def _into_each(table: str, column: str) -> str:
    """An INSERT of an entity's values of one column, which are a list in the field of the column's plural."""
    values = f"SELECT :bank, value, {_entity('entity_id')} FROM json_each(:{column}s)"
    return f"INSERT INTO {table} (bank, {column}, entity) {values}"


def _plain(table: str, columns: str) -> Kind:
    """A table of the bank whose rows stand by themselves."""
    order = " ORDER BY rowid" if table in ROWS_IN_ORDER else ""
    select = f"SELECT {columns} FROM {table} WHERE bank = :bank{order}"
    return Kind(select, _into(table, f"bank, {columns}"))


_PART_OF = "(SELECT unit_id FROM units AS document WHERE document.id = units.head) AS part_of"


def _units(*kinds: UnitKind) -> Kind:
    """Units of some kinds, with their vectors (a turn that could not be embedded has none), documents before their items."""
    wanted = ", ".join(f"'{kind.value}'" for kind in kinds)
    return Kind(
        f"SELECT {ARCHIVED_COLUMNS}, {_PART_OF}, vector FROM units LEFT JOIN vectors ON unit = units.id "
        f"WHERE units.bank = :bank AND kind IN ({wanted}) ORDER BY head IS NOT NULL, id",
        _into(
            "units",
            f"{ARCHIVED_COLUMNS}, head, bank, created, changed",
            head=_unit("part_of"),
            created=":now",
            changed=":now",
        ),
        "INSERT INTO vectors (unit, bank, revision, vector) "
        f"SELECT {_unit('unit_id')}, :bank, :now, :vector WHERE :vector IS NOT NULL",
    )


KINDS = {
    PROFILE_CHANGE: Kind(
        "SELECT number, profile, effective_at, recorded_at, reason FROM profile_changes WHERE bank = :bank ORDER BY number",
        _into("profile_changes", "bank, number, profile, effective_at, recorded_at, reason"),
    ),
    DOCUMENT: _plain("documents", "id, content_hash, context, mentioned_at, metadata, tags"),
    CHUNK: _plain("chunks", "document, ordinal, text, content_hash, position"),
    MESSAGE: _plain("message_keys", "thread, message, content_hash, revision"),
    CATEGORY: Kind(
        "SELECT kind, name, (SELECT json_group_array(name) FROM (SELECT name FROM record_category_names "
        "WHERE category = record_categories.id ORDER BY name)) AS spellings "
        "FROM record_categories WHERE bank = :bank ORDER BY id",
        _into("record_categories", "bank, kind, name"),
        f"INSERT INTO record_category_names SELECT :bank, :kind, value, {_CATEGORY.format('name')} "
        "FROM json_each(:spellings)",
    ),
    UNIT: _units(UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM),
    RECORD: Kind(
        "SELECT unit_id AS unit, ordinal, records.kind AS kind, name AS category, value, is_number, measure, stated "
        "FROM records JOIN units ON units.id = unit "
        "LEFT JOIN record_categories ON record_categories.id = category WHERE records.bank = :bank "
        "ORDER BY unit, ordinal",
        _into(
            "records",
            "unit, ordinal, bank, kind, category, value, is_number, measure, stated, checksum",
            unit=_unit("unit"),
            category=_CATEGORY.format("category"),
            checksum="0",
        ),
    ),
    WAITING: _units(UnitKind.TURN),
    TURN: Kind(
        "SELECT turns.thread, message, unit_id AS unit, turns.text, turns.speaker, role, said_at, turns.tags FROM turns "
        "LEFT JOIN units ON units.id = unit WHERE turns.bank = :bank",
        _into("turns", "bank, thread, message, unit, text, speaker, role, said_at, tags", unit=_unit("unit")),
    ),
    EVENT: Kind(
        "SELECT own.unit_id AS unit, event.kind AS kind, effective_at, revision, stating.unit_id AS by_unit, reason "
        "FROM validity_events AS event JOIN units AS own ON own.id = event.unit LEFT JOIN units AS stating "
        "ON stating.id = event.by_unit WHERE own.bank = :bank ORDER BY event.id",
        _into(
            "validity_events",
            "unit, kind, effective_at, revision, by_unit, reason",
            unit=_unit("unit"),
            by_unit=_unit("by_unit"),
        ),
    ),
    ENTITY: Kind(
        "SELECT entity_id, name, type, role, names, facts_changed, observed_at FROM entities WHERE bank = :bank "
        "ORDER BY id",
        _into("entities", "bank, entity_id, name, type, role, names, facts_changed, observed_at"),
        _into_each("entity_names", "name"),
        _into_each("entity_blocks", "block"),
    ),
    MENTION: Kind(
        "SELECT unit_id AS unit, entity_id AS entity, mentions.text AS text FROM mentions JOIN units "
        "ON units.id = unit JOIN entities ON entities.id = entity WHERE mentions.bank = :bank",
        _into(
            "mentions",
            "unit, entity, bank, revision, text",
            unit=_unit("unit"),
            entity=_entity("entity"),
            revision=":now",
        ),
    ),
    OBSERVATION: Kind(
        "SELECT unit_id AS unit, entity_id AS entity FROM observations JOIN units ON units.id = unit "
        "JOIN entities ON entities.id = entity WHERE units.bank = :bank ORDER BY unit",
        _into("observations", "unit, entity", unit=_unit("unit"), entity=_entity("entity")),
    ),
    OBSERVATION_FACT: Kind(
        "SELECT one.unit_id AS observation, two.unit_id AS fact FROM observation_facts "
        "JOIN units AS one ON one.id = observation JOIN units AS two ON two.id = fact WHERE one.bank = :bank "
        "ORDER BY observation, fact",
        _into("observation_facts", "observation, fact", observation=_unit("observation"), fact=_unit("fact")),
    ),
    OBSERVED: Kind(
        "SELECT entity_id AS entity, (SELECT json_group_array(unit_id) FROM (SELECT unit_id FROM json_each(facts) AS fact "
        "CROSS JOIN units ON units.id = fact.value ORDER BY units.id)) AS left_out "
        "FROM observed_left_out JOIN entities ON entities.id = entity WHERE bank = :bank ORDER BY entities.id",
        "INSERT INTO observed_left_out (entity, facts) SELECT "
        f"{_entity('entity')}, (SELECT json_group_array(id) FROM (SELECT units.id AS id FROM json_each(:left_out) AS fact "
        "CROSS JOIN units ON unit_id = fact.value WHERE bank = :bank ORDER BY units.id))",
    ),
    MENTAL_MODEL: Kind(
        "SELECT model_id, name, question, tags, refreshes, max_tokens, created_at, iif(withdrawn, '', text) AS text, "
        "iif(withdrawn, 0, extractive) AS extractive, refreshed_at, withdrawn, NOT EXISTS (SELECT 1 FROM units "
        f"WHERE bank = :bank AND changed > checked_to AND {IS_FACT}) AS checked "
        f"FROM (SELECT *, {WITHDRAWN} AS withdrawn FROM mental_models WHERE bank = :bank) ORDER BY id",
        _into(
            "mental_models",
            "bank, model_id, name, question, tags, refreshes, max_tokens, created_at, text, extractive, refreshed_at, "
            "revision, checked_to, forgotten",
            revision=":now",
            checked_to="iif(:checked, :now, 0)",
            forgotten=":withdrawn",
        ),
    ),
    MENTAL_MODEL_GROUND: Kind(
        "SELECT model_id AS model, unit_id AS unit, cited FROM mental_model_grounds JOIN units ON units.id = unit "
        f"JOIN mental_models ON mental_models.id = model WHERE units.bank = :bank AND NOT {WITHDRAWN} ORDER BY model, unit",
        _into(
            "mental_model_grounds",
            "model, unit, cited",
            model="(SELECT id FROM mental_models WHERE bank = :bank AND model_id = :model)",
            unit=_unit("unit"),
        ),
    ),
    DIRECTIVE: Kind(
        "SELECT directive_id, text, tags, created_at FROM directives WHERE bank = :bank ORDER BY id",
        _into("directives", "bank, directive_id, text, tags, created_at"),
    ),
    LINK: Kind(
        "SELECT one.unit_id AS source, two.unit_id AS target, code, weight FROM links "
        "JOIN units AS one ON one.id = source JOIN units AS two ON two.id = target WHERE links.bank = :bank",
        _into(
            "links",
            "source, target, code, weight, bank, revision",
            source=_unit("source"),
            target=_unit("target"),
            revision=":now",
        ),
    ),
    EDIT: Kind(
        "SELECT unit_id AS unit, made_at, fields FROM unit_edits JOIN units ON units.id = unit "
        "WHERE units.bank = :bank ORDER BY unit_edits.id",
        _into("unit_edits", "bank, unit, revision, made_at, fields", unit=_unit("unit"), revision=":now"),
    ),
    CHANGE: _plain("entity_changes", "kind, detail, made_at, undone"),
    OPINION: Kind(
        "SELECT unit_id AS unit, opinions.confidence AS confidence, formed_at, recorded_at, revision, origin, operation, "
        "opinions.profile AS profile_change, reasoning, assessed_to FROM opinions JOIN units ON units.id = unit "
        "WHERE opinions.bank = :bank ORDER BY unit",
        _into(
            "opinions",
            "unit, bank, confidence, formed_at, recorded_at, revision, origin, operation, profile, reasoning, assessed_to",
            unit=_unit("unit"),
            profile=":profile_change",
            assessed_to="min(:assessed_to, :now)",
        ),
    ),
    WORDING: Kind(
        "SELECT own.unit_id AS unit, first.unit_id AS opinion, opinion_wordings.number AS number, opinion_wordings.reason AS reason, "
        "opinion_wordings.revision AS revision FROM opinions JOIN opinion_wordings ON opinion = opinions.unit "
        "JOIN units AS own ON own.id = opinion_wordings.unit JOIN units AS first ON first.id = opinion "
        "WHERE opinions.bank = :bank ORDER BY opinion, opinion_wordings.number",
        _into(
            "opinion_wordings",
            "unit, opinion, number, reason, revision",
            unit=_unit("unit"),
            opinion=_unit("opinion"),
        ),
    ),
    GROUND: Kind(
        "SELECT one.unit_id AS wording, two.unit_id AS fact FROM opinion_grounds "
        "JOIN units AS one ON one.id = wording JOIN units AS two ON two.id = fact WHERE one.bank = :bank "
        "ORDER BY wording, fact",
        _into("opinion_grounds", "wording, fact", wording=_unit("wording"), fact=_unit("fact")),
    ),
    EVIDENCE: Kind(
        "SELECT one.unit_id AS opinion, two.unit_id AS fact, evidence.sources AS sources, (SELECT json_group_array(unit_id) "
        "FROM (SELECT unit_id FROM json_each(restates) AS other CROSS JOIN units ON units.id = other.value "
        "ORDER BY units.id)) AS restates, assessment, strength, rule, step, evidence.reason AS reason, "
        "judged.unit_id AS version, effective_at, evidence.recorded_at AS recorded_at, evidence.revision AS revision "
        "FROM opinions JOIN evidence ON opinion = opinions.unit JOIN units AS one ON one.id = opinion "
        "JOIN units AS two ON two.id = fact JOIN units AS judged ON judged.id = version "
        "WHERE opinions.bank = :bank ORDER BY opinion, fact",
        _into(
            "evidence",
            "opinion, fact, sources, restates, assessment, strength, rule, step, reason, version, effective_at, "
            "recorded_at, revision",
            opinion=_unit("opinion"),
            fact=_unit("fact"),
            restates="(SELECT json_group_array(id) FROM (SELECT units.id AS id FROM json_each(:restates) AS other "
            "CROSS JOIN units ON unit_id = other.value WHERE bank = :bank ORDER BY units.id))",
            version=_unit("version"),
        ),
    ),
    OPERATION: Kind(
        "SELECT key AS operation FROM opinion_operations WHERE bank = :bank",
        _into("opinion_operations", "bank, key", key=":operation"),
    ),
    ITEM: Kind(
        "SELECT namespace, key AS item_key, value, created_at, updated_at, ttl, expires_at FROM items "
        "WHERE bank = :bank ORDER BY id",
        _into(
            "items", "bank, namespace, key, value, created_at, updated_at, ttl, expires_at", key=":item_key"
        ),
    ),
    ITEM_TEXT: Kind(
        f"SELECT {ARCHIVED_COLUMNS}, {_PART_OF}, vector, namespace, key AS item_key FROM items "
        "JOIN item_units ON item = items.id JOIN units ON units.id = item_units.unit "
        "JOIN vectors ON vectors.unit = units.id WHERE items.bank = :bank ORDER BY units.id",
        *_units(UnitKind.ITEM).inserts,
        f"INSERT INTO item_units (unit, item) SELECT {_unit('unit_id')}, id FROM items "
        "WHERE bank = :bank AND namespace = :namespace AND key = :item_key",
    ),
    TASK: Kind(  # a lease is of this ledger: a leased task leaves as a pending one
        f"SELECT kind, key AS task_key, payload, {_UNLEASED} AS state, attempts, not_before, last_error FROM tasks "
        "WHERE bank = :bank ORDER BY id",
        _into(
            "tasks",
            "bank, kind, key, payload, state, attempts, not_before, last_error",
            key=":task_key",
        ),
    ),
}
"""In the order in which they leave: what is referred to before what refers to it."""


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

    _database: Database

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, itself first, units before what refers to them."""
        with self._database.reading() as connection:
            row = find_bank(connection, bank).id
            if items := damaged_items(connection, row):
                raise MemoryDamaged(bank, items)
            if damaged := {**damaged_units(connection, row), **damaged_vectors(connection, row)}:
                raise MemoryDamaged(bank, tuple(damaged.values()))
            query = "SELECT revision, embedder, profile FROM banks WHERE id = :bank"
            (header,) = _selected(connection, query, row)
            yield ArchiveRow(BANK, header)
            for kind, how in KINDS.items():
                for fields in _selected(connection, how.select, row):
                    yield ArchiveRow(kind, fields)

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; see the port."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            check_empty(count_units(connection, found.id), _count_others(connection, found.id))
            now, units = found.revision + 1, 0
            try:
                for kind, batch in batched(rows):
                    if kind == BANK:
                        now = max(now, _restore_bank(connection, found.id, batch[0].fields))
                        continue
                    values = [{**_bound(row.fields), "bank": found.id, "now": now} for row in batch]
                    _insert(connection, kind, values)
                    units += len(batch) if kind == UNIT else 0
            except UNFIT as error:
                raise unreadable(f"a row does not fit: {error}") from error
            _finish(connection, found.id, now)
            observe_bank(self._database, connection, found.id)
        return units


def _insert(connection: Connection, kind: str, values: list[dict[str, object]]) -> None:
    if kind not in KINDS:
        raise unreadable(f"it holds rows of an unknown kind, {kind!r}")
    if kind == ENTITY:
        for value in values:
            names = json.loads(str(value["names"]))
            value["blocks"] = json.dumps(sorted({key for name in names for key in blocks(name)}))
    for statement in KINDS[kind].inserts:
        raw(connection).executemany(statement, values)


def _count_others(connection: Connection, bank: int) -> int:
    """How many rows of other kinds the bank holds."""
    return sum(
        int(raw(connection).execute(f"SELECT count(*) FROM {table} WHERE bank = ?", (bank,)).fetchone()[0])
        for table in BANK_CONTENT
        if table != "units"
    )


def _restore_bank(connection: Connection, bank: int, fields: Mapping[str, Json]) -> int:
    """Profile and embedder of the archived bank; the revision it stood at. What the bank was given before goes."""
    values = _bound(fields)
    embedder, revision = fields["embedder"], fields["revision"]
    dimension = embedder["dimension"] if isinstance(embedder, dict) else None
    for table in REPLACED:
        raw(connection).execute(f"DELETE FROM {table} WHERE bank = ?", (bank,))
    raw(connection).execute(
        "UPDATE banks SET profile = ?, embedder = ?, dimension = ? WHERE id = ?",
        (values["profile"], values["embedder"], dimension, bank),
    )
    return revision if isinstance(revision, int) else 0


def _finish(connection: Connection, bank: int, revision: int) -> None:
    """What follows from the rows: mention counts, the units that messages stand for, and the bank's revision."""
    raw(connection).execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        f"JOIN units ON units.id = unit WHERE entity = entities.id AND {NOT_OBSERVED}) WHERE bank = ?",
        (bank,),
    )
    raw(connection).execute(
        "INSERT INTO unit_sources (bank, thread, message, unit) SELECT DISTINCT bank, thread, value, units.id "
        "FROM units, json_each(sources) WHERE bank = ?",
        (bank,),
    )
    seal_records(connection, bank)
    seal_items(connection, bank)
    seal_units(connection, bank)
    seal_vectors(connection, bank)
    advance(connection, bank, revision)


def _selected(connection: Connection, query: str, bank: int) -> Iterator[dict[str, Json]]:
    found = raw(connection).execute(query, {"bank": bank})
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
