"""Reads of units, messages, documents and validity. Every query is bounded by its arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.checksums import (
    CHECKSUM,
    damaged_units,
    damaged_vectors,
    is_sound,
)
from hindsight_integrations.ledger.records import records_of
from hindsight_integrations.ledger.rows import (
    PARAMETERS,
    SEALED,
    UNIT_COLUMNS,
    BankReads,
    Row,
    batches,
    event_from,
    fetched,
    unit_from,
    unit_rows,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.time import from_micros
from hindsight_integrations.model.units import MemoryUnit, UnitKind, ValidityEvent
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, MessageKey
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.ports.ledger import StoredDocument

RECORDS = UNIT_COLUMNS.split(", ").index("records") + 2  # of what `units` selects

_newest = tables.units.alias("newest")
_LATEST_MENTION = select(func.max(tables.units.c.mentioned_at)).where(
    tables.units.c.bank == bindparam("bank"),
    tables.units.c.created
    == select(func.max(_newest.c.created)).where(_newest.c.bank == bindparam("bank")).scalar_subquery(),
)


class UnitReader(BankReads):
    """The part of `LedgerReader` about units and what they stand on."""

    def count(self, bank: str) -> int:
        """How many memories the bank holds, closed ones included."""
        with self._at(bank) as (connection, row):
            return count_memories(connection, row)

    def latest_mention(self, bank: str) -> datetime | None:
        """The mention time of what was written last; one query by the index on `created`."""
        with self._at(bank) as (connection, row):
            micros = connection.scalar(_LATEST_MENTION, {"bank": row})
            return None if micros is None else from_micros(micros)

    def units(self, bank: str, ids: IntArray) -> dict[int, MemoryUnit]:
        """Units by row id; unknown ids, those of other banks and damaged ones are left out."""
        with self._at(bank) as (connection, row):
            return sound_units(connection, bank, row, ids)

    def damaged(self, bank: str, ids: IntArray | None = None) -> tuple[str, ...]:
        """Unit ids of those that are not what was written."""
        with self._at(bank) as (connection, row):
            return tuple(damaged_units(connection, row, ids).values())

    def damaged_vectors(self, bank: str) -> tuple[str, ...]:
        """Unit ids of the units whose vector is not what was written."""
        with self._at(bank) as (connection, row):
            return tuple(damaged_vectors(connection, row).values())

    def row_ids(self, bank: str, unit_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of unit ids; unknown ones are left out."""
        with self._at(bank) as (connection, row):
            return unit_rows(connection, row, unit_ids)

    def unit_ids(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Unit ids of row ids; unknown ids and those of other banks are left out."""
        with self._at(bank) as (connection, row):
            return dict(_of_units(connection, "unit_id", row, ids))

    def vectors_of(self, bank: str, ids: IntArray) -> dict[int, Vector]:
        """Stored vectors (dimension,) by row id; unknown ids are left out."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT unit, vector FROM json_each(?) AS given CROSS JOIN vectors ON vectors.unit = given.value "
                "WHERE vectors.bank = ?",
                (json.dumps(ids.tolist()), row),
            )
            return {unit: np.frombuffer(vector, "<f4").astype(np.float32) for unit, vector in found}

    def link_counts(self, bank: str, ids: IntArray, code: int) -> dict[int, int]:
        """How many links of one code each of these units has, in either direction; units without any are left out."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT given.value, (SELECT count(*) FROM links WHERE source = given.value AND code = :code) + "
                "(SELECT count(*) FROM links WHERE target = given.value AND code = :code AND source <> target) AS held "
                "FROM json_each(:units) AS given CROSS JOIN units ON units.id = given.value "
                "WHERE held AND +units.bank = :bank",
                {"units": json.dumps(ids.tolist()), "code": code, "bank": row},
            )
            return dict(found.fetchall())

    def validity(self, bank: str, unit_id: str) -> list[ValidityEvent]:
        """A unit's validity log, by effective time, then in the order recorded."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT event.kind, effective_at, stating.unit_id, reason FROM validity_events AS event "
                "JOIN units ON units.id = event.unit LEFT JOIN units AS stating ON stating.id = event.by_unit "
                "WHERE units.bank = ? AND units.unit_id = ? ORDER BY effective_at, event.id",
                (row, unit_id),
            )
            return [event_from(each, unit_id) for each in found]

    def stated_by(self, bank: str, unit_ids: Sequence[str]) -> list[ValidityEvent]:
        """What these units say of others: every closing by them, in the order recorded."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT units.unit_id, event.kind, effective_at, stating.unit_id, reason FROM json_each(?) AS given "
                "CROSS JOIN units AS stating ON stating.unit_id = given.value "
                "JOIN validity_events AS event ON event.by_unit = stating.id JOIN units ON units.id = event.unit "
                "WHERE stating.bank = ? ORDER BY event.id",
                (json.dumps(list(unit_ids)), row),
            )
            return [event_from(each[1:], each[0]) for each in found]

    def items_of(self, bank: str, ids: IntArray) -> dict[int, tuple[int, ...]]:
        """Row ids of the items of these documents, closed ones included, by number; units without any are left out."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT head, units.id FROM json_each(?) AS given CROSS JOIN units ON head = given.value "
                "WHERE +bank = ? ORDER BY head, number, units.id",
                (json.dumps(ids.tolist()), row),
            )
            items: dict[int, tuple[int, ...]] = {}
            for head, item in found:
                items[head] = (*items.get(head, ()), item)
            return items

    def unit_edits(self, bank: str, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """(when, fields) of a unit's corrections, oldest first."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT made_at, fields FROM unit_edits JOIN units ON units.id = unit "
                "WHERE units.bank = ? AND unit_id = ? ORDER BY unit_edits.id",
                (row, unit_id),
            )
            return [(from_micros(made_at), tuple(json.loads(fields))) for made_at, fields in found]

    def known_messages(self, bank: str, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
        """Which of the messages are in the ledger, with no other version of them retained later."""
        known: set[MessageKey] = set()
        with self._at(bank) as (connection, row):
            for some in batches(keys, PARAMETERS // 3):
                values = ",".join(["(?,?,?)"] * len(some))
                found = raw(connection).execute(
                    f"WITH given (thread, message, content_hash) AS (VALUES {values}) "
                    "SELECT thread, message, content_hash FROM given CROSS JOIN message_keys AS known "
                    "USING (thread, message, content_hash) WHERE bank = ? AND NOT EXISTS ("
                    "SELECT 1 FROM message_keys AS later WHERE later.bank = known.bank AND later.thread = known.thread "
                    "AND later.message = known.message AND later.revision > known.revision)",
                    (*(part for key in some for part in (key.thread, key.message_id, key.content_hash)), row),
                )
                known.update(MessageKey(*each) for each in found)
        return frozenset(known)

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """A document and its present chunks, in order; None if it was never retained."""
        with self._at(bank) as (connection, row):
            found = (
                raw(connection)
                .execute(
                    "SELECT content_hash, (SELECT coalesce(max(ordinal), -1) + 1 FROM chunks "
                    "WHERE chunks.bank = documents.bank AND chunks.document = documents.id) "
                    "FROM documents WHERE bank = ? AND id = ?",
                    (row, document_id),
                )
                .fetchone()
            )
            if found is None:
                return None
            chunks = fetched(
                connection,
                "SELECT document, ordinal, text, content_hash, position FROM chunks "
                "WHERE bank = ? AND document = ? AND position <> ? ORDER BY position",
                (row, document_id, NOWHERE),
            )
            return StoredDocument(
                document_id, found[0], tuple(ChunkWrite(*each) for each in chunks), found[1]
            )

    def units_of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Row ids of the valid units made from these chunks of a document, ascending."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT id FROM units WHERE bank = ? AND document = ? AND closed_at IS NULL "
                "AND chunk IN (SELECT value FROM json_each(?)) ORDER BY id",
                (row, document_id, json.dumps(list(ordinals))),
            )
            return np.fromiter((each[0] for each in found), np.int64)

    def units_of_messages(
        self, bank: str, messages: Sequence[tuple[str, str]], *, closed: bool = False, waiting: bool = False
    ) -> IntArray:
        """Row ids of the valid (or of the closed) units with one of these (thread, message id) among their sources, ascending."""
        kinds = (UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM, UnitKind.TURN if waiting else UnitKind.MEMORY)
        units: set[int] = set()
        with self._at(bank) as (connection, row):
            for some in batches(messages, PARAMETERS // 2):
                values = ",".join(["(?,?)"] * len(some))
                found = raw(connection).execute(
                    f"WITH given (thread, message) AS (VALUES {values}) "
                    "SELECT unit FROM given CROSS JOIN unit_sources USING (thread, message) "
                    "JOIN units ON units.id = unit WHERE unit_sources.bank = ? AND (closed_at IS NOT NULL) = ? "
                    "AND kind IN (?, ?, ?)",
                    (*(part for pair in some for part in pair), row, closed, *kinds),
                )
                units.update(each[0] for each in found)
        return np.array(sorted(units), np.int64)

    def places_of_messages(self, bank: str, messages: Sequence[str]) -> list[tuple[str, str]]:
        """The (thread, message id) of any thread with one of these ids on which a memory stands, in order."""
        places: set[tuple[str, str]] = set()
        with self._at(bank) as (connection, row):
            for some in batches(messages, PARAMETERS // 2):
                marks = ",".join("?" * len(some))
                places.update(
                    raw(connection).execute(
                        f"SELECT DISTINCT thread, message FROM unit_sources WHERE bank = ? AND message IN ({marks})",
                        (row, *some),
                    )
                )
        return sorted(places)


def sound_units(connection: Connection, bank: str, row: int, ids: IntArray) -> dict[int, MemoryUnit]:
    """Units by row id, those of the bank that are what was written.

    Args:
        connection: of a reader or the writer.
        bank: its name.
        row: its row id.
        ids: row ids of units.
    """
    found = _of_units(connection, f"{CHECKSUM}, {UNIT_COLUMNS}", row, ids)
    sound = [each for each in found if is_sound(each[2 : 2 + SEALED], each[1])]
    records = records_of(connection, {each[0]: each[RECORDS] for each in sound})
    return {each[0]: unit_from(each[2:], bank, records[each[0]]) for each in sound if each[0] in records}


def _of_units(connection: Connection, columns: str, bank: int, ids: IntArray) -> list[Row]:
    """Row id and these columns of units of the bank; the others are left out."""
    return fetched(
        connection,
        f"SELECT units.id, {columns} FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value "
        "WHERE +bank = ?",
        (json.dumps(ids.tolist()), bank),
    )


def count_units(connection: Connection, bank: int) -> int:
    """How many units a bank holds, turns that wait and texts of items included."""
    (units,) = raw(connection).execute("SELECT count(*) FROM units WHERE bank = ?", (bank,)).fetchone()
    return int(units)


def count_memories(connection: Connection, bank: int) -> int:
    """How many memories a bank holds."""
    # Written out, so that SQLite sees that the partial indexes serve.
    others: list[int] = [
        raw(connection)
        .execute(f"SELECT count(*) FROM units WHERE bank = ? AND kind = '{kind}'", (bank,))
        .fetchone()[0]
        for kind in (UnitKind.TURN.value, UnitKind.ITEM.value, UnitKind.DOCUMENT_ITEM.value)
    ]
    return count_units(connection, bank) - sum(others)
