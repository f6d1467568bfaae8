"""The feed: a whole bank as arrays. Rows leave in revision order and are put in row order in numpy."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from sqlite3 import IntegrityError

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.ledger.checksums import well_formed
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.losses import found_loss, token_of
from hindsight_integrations.ledger.rows import fetched, find_bank
from hindsight_integrations.ledger.rules import bank_key, past_gaps
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.units import count_units
from hindsight_integrations.model.namespaces import namespace_from
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.ports.arrays import (
    IN_DOCUMENT,
    NEVER,
    STORED,
    UNDATED,
    WAITING,
    FloatArray,
    IntArray,
    Matrix,
)
from hindsight_integrations.ports.ledger import ItemUnits, UnitColumns
from hindsight_integrations.ports.memory_graph import Edges, Mentions
from hindsight_integrations.ports.watermark import IndexMark, Watermark

BLOCK = 65_536  # links in one text: 2 MB, whatever the bank

_CODE_SHIFT = 54
_WEIGHT_STEPS = 2.0**53  # a weight in [0, 1] is a whole number of these, so it comes back as it was

_LINKS = (
    "SELECT group_concat(source), group_concat(target), "
    "group_concat(code << 54 | CAST(weight * 9007199254740992.0 AS INTEGER)), max(revision) FROM "
    "(SELECT * FROM links WHERE bank = ? AND (revision, source, target, code) > (?, ?, ?, ?) "
    "ORDER BY revision, source, target, code LIMIT ?)"
)


# Packed reads: whole columns of integers as one text each, which numpy reads three times as fast as rows. A
# row costs Python a tuple and an integer for each of its columns. SQLite's `group_concat` costs it one string
# a column.
def integers(text: str | None) -> IntArray:
    """The integers of a comma-separated text, (n,); none for the NULL that no row gives."""
    if not text:
        return np.empty(0, np.int64)
    found: IntArray = np.fromstring(text, np.int64, sep=",")
    return found


def integer_columns(
    connection: Connection, columns: Sequence[str], where: str, parameters: Sequence[object]
) -> list[IntArray]:
    """Expressions over the units a condition selects, each as an (n,) array, in no order.

    Raises:
        IntegrityError: one is not an integer for some unit.
    """
    picked = ", ".join(f"group_concat({column})" for column in columns)
    row = raw(connection).execute(f"SELECT {picked} FROM units WHERE {where}", tuple(parameters)).fetchone()
    found = [integers(text) for text in row]
    if len({len(array) for array in found}) > 1:
        raise IntegrityError(f"not every {' and '.join(columns)} is an integer")
    return found


def links_since(connection: Connection, bank: int, since: int) -> Edges:
    """A bank's links created after `since`, by source, target and code."""
    blocks = list(_link_blocks(connection, bank, since))
    edges = Edges(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    del blocks
    if _ordered(edges):
        return edges
    order = np.lexsort((edges.codes, edges.targets, edges.sources))
    return Edges(edges.sources[order], edges.targets[order], edges.codes[order], edges.weights[order])


def _ordered(edges: Edges) -> bool:
    """Whether they stand by source, target and code: in a bank that was only added to they mostly do."""
    sources, targets = np.diff(edges.sources), np.diff(edges.targets)
    tied = (sources == 0) & (targets == 0) & (np.diff(edges.codes) <= 0)
    return not bool(np.any((sources < 0) | ((sources == 0) & (targets < 0)) | tied))


def _link_blocks(
    connection: Connection, bank: int, since: int
) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Sources, targets, codes and weights of links, BLOCK at a time, by revision, source, target and code."""
    after = (since, np.iinfo(np.int64).max, 0, 0)
    while True:
        first, second, rest, revision = raw(connection).execute(_LINKS, (bank, *after, BLOCK)).fetchone()
        sources, targets, weighed = integers(first), integers(second), integers(rest)
        codes, steps = weighed >> _CODE_SHIFT, weighed & ((1 << _CODE_SHIFT) - 1)
        yield sources, targets, codes, (steps / _WEIGHT_STEPS).astype(np.float32)
        if len(sources) < BLOCK:
            return
        after = (revision, int(sources[-1]), int(targets[-1]), int(codes[-1]))


_TYPE_CODE = " ".join(f"WHEN '{fact_type.value}' THEN {code}" for code, fact_type in enumerate(FactType))
_KIND_CODE = (
    f"CASE kind WHEN '{UnitKind.TURN.value}' THEN {WAITING} WHEN '{UnitKind.ITEM.value}' THEN {STORED} "
    f"WHEN '{UnitKind.DOCUMENT_ITEM.value}' THEN {IN_DOCUMENT} ELSE 0 END"
)
_COLUMNS = (
    "id",
    f"CASE fact_type {_TYPE_CODE} END + {_KIND_CODE}",
    f"coalesce(occurred_start, {UNDATED})",
    f"coalesce(occurred_end, {UNDATED})",
    "mentioned_at",
    f"coalesce(closed_at, {NEVER})",
    "tokens",
    "coalesce(min(compact_tokens, tokens), tokens)",
    "coalesce(head, 0)",
    "lasting",
)
# A unit that is a message word for word was told in its own words alone.
_TOLD = f"""
SELECT units.id, units.text, iif(said.id IS NULL, turns.speaker || ': ' || turns.text, said.text)
FROM json_each(?) CROSS JOIN units ON units.id = json_each.value
CROSS JOIN unit_sources AS source ON source.unit = units.id
JOIN turns ON turns.bank = source.bank AND turns.thread = source.thread AND turns.message = source.message
LEFT JOIN units AS said ON said.id = turns.unit
WHERE source.bank = ? AND units.kind = '{UnitKind.MEMORY.value}' AND units.speaker = ''
ORDER BY units.id, coalesce(said.mentioned_at, turns.said_at), turns.message
"""
VECTORS_AT_ONCE = 8_192  # 12 MB at 384 dimensions

_MENTION = np.dtype([("unit", "i8"), ("entity", "i8")])


class SqliteFeed:
    """A bank at the revision its connection sees; see the port."""

    def __init__(self, connection: Connection, bank: str, database: SqliteDatabase) -> None:
        self._connection, found = connection, find_bank(connection, bank)
        self._path, self._accept_loss = database.path, database.accept_loss
        self._name, self._bank, self._revision = bank, found.id, found.revision

    @property
    def revision(self) -> int:
        """The revision everything here stands at."""
        return self._revision

    @property
    def mark(self) -> Watermark:
        """The commit everything here stands at."""
        (ledger,) = raw(self._connection).execute("SELECT id FROM ledger").fetchone()
        return Watermark(
            ledger, self._bank, self._revision, token_of(self._connection, self._bank, self._revision)
        )

    def knows(self, mark: Watermark) -> bool:
        """Whether a mark is of this bank's history; see the port."""
        (ledger,) = raw(self._connection).execute("SELECT id FROM ledger").fetchone()
        token = token_of(self._connection, self._bank, mark.revision)
        if (mark.ledger, mark.generation, mark.token) == (ledger, self._bank, token):
            return True
        loss = found_loss(self._connection, (), [IndexMark("index", bank_key(self._name), mark)])
        if loss and not self._accept_loss:
            raise loss.error(self._path)
        return False

    @property
    def graph_epoch(self) -> int:
        """The last revision that changed links or mentions in place; 0 if none did."""
        query = "SELECT revision FROM graph_epochs WHERE bank = ?"
        row = raw(self._connection).execute(query, (self._bank,)).fetchone()
        return int(row[0]) if row else 0

    def count(self) -> int:
        """How many units the bank holds, turns that wait included."""
        return count_units(self._connection, self._bank)

    def waiting(self) -> int:
        """How many of them are turns that wait for extraction."""
        query = f"SELECT count(*) FROM units WHERE bank = ? AND kind = '{UnitKind.TURN.value}'"
        return int(raw(self._connection).execute(query, (self._bank,)).fetchone()[0])

    def vector_count(self) -> int:
        """How many of them have a vector."""
        query = "SELECT count(*) FROM vectors WHERE bank = ?"
        return int(raw(self._connection).execute(query, (self._bank,)).fetchone()[0])

    def columns(self, since: int) -> UnitColumns:
        """The filterable columns of units changed after `since`."""
        return well_formed(partial(self._columns, since), self._connection, self._bank)

    def _columns(self, since: int, without: Collection[int]) -> UnitColumns:
        """The columns of all units changed after `since` but those of some row ids."""
        where, parameters = "bank = ? AND changed > ?", (self._bank, since)
        if without:
            where += f" AND id NOT IN ({', '.join(map(str, without))})"
        ids, types, starts, ends, mentioned, closed, tokens, compact, heads, lasting = integer_columns(
            self._connection, _COLUMNS, where, parameters
        )
        order = np.argsort(ids, kind="stable")
        tags, turns, metadata = self._words(ids[order], where, parameters)
        return UnitColumns(
            ids=ids[order],
            types=types[order],
            starts=starts[order],
            ends=ends[order],
            mentioned=mentioned[order],
            closed=closed[order],
            tokens=tokens[order],
            compact=compact[order],
            heads=heads[order],
            lasting=lasting[order],
            tags=tags,
            turns=turns,
            metadata=metadata,
            gaps=self._gaps(since),
        )

    def _words(
        self, ids: IntArray, where: str, parameters: tuple[int, int]
    ) -> tuple[list[tuple[str, ...]], list[tuple[str, str]], list[str]]:
        """Tags, thread and speaker of turns, and metadata of the units a condition selects (`ids`, ascending). Most have none of them."""
        tags: list[tuple[str, ...]] = [()] * len(ids)
        turns, metadata = [("", "")] * len(ids), [""] * len(ids)
        rows = (
            raw(self._connection)
            .execute(
                "SELECT id, tags, CASE speaker WHEN '' THEN '' ELSE thread END, speaker, metadata FROM units "
                f"WHERE {where} AND (tags <> '[]' OR speaker <> '' OR metadata <> '{{}}')",
                parameters,
            )
            .fetchall()
        )
        places = np.searchsorted(ids, np.fromiter((row[0] for row in rows), np.int64, len(rows)))
        parsed = {text: tuple(json.loads(text)) for text in {row[1] for row in rows}}
        for place, (_, written, thread, speaker, own) in zip(places.tolist(), rows, strict=True):
            tags[place], turns[place] = parsed[written], (thread, speaker)
            metadata[place] = "" if own == "{}" else own
        return tags, turns, metadata

    def embedded(self, since: int) -> IntArray:
        """Row ids whose vectors were written after `since`, ascending."""
        return self._ids("SELECT unit FROM vectors WHERE bank = ? AND revision > ?", since)

    def vectors(self, since: int) -> Iterator[tuple[IntArray, Matrix]]:
        """Row ids and vectors written after `since`, VECTORS_AT_ONCE at a time."""
        query = "SELECT unit, vector FROM vectors WHERE bank = ? AND revision > ?"
        found = raw(self._connection).execute(query, (self._bank, since))
        while rows := found.fetchmany(VECTORS_AT_ONCE):
            yield _with_vectors(rows)

    def vectors_of(self, ids: IntArray) -> Matrix:
        """The vectors of these row ids, in row order."""
        query = "SELECT unit, vector FROM vectors WHERE bank = ? AND unit IN (SELECT value FROM json_each(?))"
        rows = raw(self._connection).execute(query, (self._bank, json.dumps(ids.tolist()))).fetchall()
        return _with_vectors(rows)[1] if rows else np.empty((0, 0), np.float32)

    def texts(self, since: int) -> tuple[IntArray, list[str]]:
        """Row ids and texts of units created, edited, or made of turns that were erased, after `since`."""
        again = " ".join(
            f"UNION SELECT units.id, units.text FROM {table} JOIN units ON units.id = unit "
            f"WHERE {table}.bank = :bank AND {table}.revision > :since"
            for table in ("unit_edits", "retold")
        )
        rows = fetched(
            self._connection,
            f"SELECT id, text FROM units WHERE bank = :bank AND created > :since {again}",
            {"bank": self._bank, "since": since},
        )
        rows.sort(key=lambda row: int(row[0]))
        return np.fromiter((row[0] for row in rows), np.int64, len(rows)), [
            row[1] if isinstance(row[1], str) else "" for row in rows
        ]

    def told(self, ids: IntArray) -> list[str]:
        """The texts of these units with the turns they were made from; empty for those without any beside themselves."""
        lines: dict[int, list[str]] = {}
        for unit, text, line in fetched(self._connection, _TOLD, (json.dumps(ids.tolist()), self._bank)):
            lines.setdefault(unit, [text]).append(line)
        return ["\n".join(lines.get(row, ())) for row in ids.tolist()]

    def graph(self, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Units by row, links by (source, target, code) and mentions by (unit, entity) created after `since`."""
        memories = f"SELECT id FROM units WHERE bank = ? AND created > ? AND kind = '{UnitKind.MEMORY.value}'"
        units = self._ids(memories, since)
        edges = links_since(self._connection, self._bank, since)
        found = raw(self._connection).execute(
            "SELECT unit, entity FROM mentions WHERE bank = ? AND revision > ?", (self._bank, since)
        )
        pairs = np.fromiter(found, _MENTION)
        pairs = pairs[np.lexsort((pairs["entity"], pairs["unit"]))]
        mentions = Mentions(*(np.ascontiguousarray(pairs[name]) for name in ("unit", "entity")))
        return units, edges, mentions

    def mentioned(self, more_than: float) -> tuple[IntArray, IntArray]:
        """Row ids and degrees of entities that more than so many units mention, ascending."""
        rows = (
            raw(self._connection)
            .execute(
                "SELECT id, mentions FROM entities WHERE bank = ? AND mentions > ? ORDER BY id",
                (self._bank, more_than),
            )
            .fetchall()
        )
        entities, degrees = np.array(rows, np.int64).reshape(-1, 2).T
        return entities, degrees

    def item_units(self, since: int) -> ItemUnits:
        """Texts of items that came after `since`."""
        rows = (
            raw(self._connection)
            .execute(
                "SELECT units.id, items.id, namespace FROM units CROSS JOIN item_units ON unit = units.id "
                f"JOIN items ON items.id = item WHERE units.bank = ? AND kind = '{UnitKind.ITEM.value}' AND created > ? "
                "ORDER BY units.id",
                (self._bank, since),
            )
            .fetchall()
        )
        units, items = (np.fromiter((row[at] for row in rows), np.int64, len(rows)) for at in (0, 1))
        return ItemUnits(units, items, [namespace_from(row[2]) for row in rows])

    def removed(self, since: int) -> IntArray:
        """Row ids of units forgotten or, being turns, extracted, or, being texts of items, replaced or deleted after `since`, ascending."""
        return self._ids("SELECT unit FROM removed WHERE bank = ? AND revision > ?", since)

    def erased(self, since: int) -> bool:
        """Whether anything was erased after `since`."""
        query = "SELECT 1 FROM erasures WHERE bank = ? AND revision > ?"
        return raw(self._connection).execute(query, (self._bank, since)).fetchone() is not None

    def roles(self) -> IntArray:
        """Row ids of entities that have a role, ascending."""
        query = "SELECT id FROM entities WHERE bank = ? AND role <> '' ORDER BY id"
        return np.array([row[0] for row in raw(self._connection).execute(query, (self._bank,))], np.int64)

    def _gaps(self, since: int) -> IntArray:
        """Past gaps in the validity of units changed after `since`, from the logs of those ever restored."""
        log = raw(self._connection).execute(
            "SELECT unit, kind, effective_at FROM validity_events WHERE unit IN "
            "(SELECT back.unit FROM units CROSS JOIN validity_events AS back ON back.unit = units.id AND back.kind = ? "
            "WHERE units.bank = ? AND units.changed > ?) ORDER BY id",
            (ValidityKind.RESTORED.value, self._bank, since),
        )
        return past_gaps((row, ValidityKind(kind), moment) for row, kind, moment in log)

    def _ids(self, query: str, since: int) -> IntArray:
        ids = np.fromiter(
            (row[0] for row in raw(self._connection).execute(query, (self._bank, since))), np.int64
        )
        ids.sort()
        return ids


def _with_vectors(rows: list[tuple[int, bytes]]) -> tuple[IntArray, Matrix]:
    """Row ids (n,), ascending, and their vectors (n, dimension)."""
    rows.sort(key=lambda row: int(row[0]))
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    # A bytearray, so that the caller gets an array it may write to without a second copy.
    matrix = np.frombuffer(bytearray().join(row[1] for row in rows), "<f4").reshape(len(rows), -1)
    return ids, matrix
