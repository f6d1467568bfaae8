"""Reads of units, their validity, documents and messages. The size of every result is bounded by the arguments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import Connection, Executable, bindparam, func, literal, select

from hindsight_integrations.ledger.checksums import damaged_units, damaged_vectors, is_sound
from hindsight_integrations.ledger.entities import OF_UNITS, by_unit
from hindsight_integrations.ledger.records import records_of
from hindsight_integrations.ledger.rows import (
    SEALED,
    SEALED_COLUMNS,
    UNIT_FIELDS,
    Reader,
    Row,
    event_from,
    fetched,
    fetched_together,
    unit_from,
    unit_rows,
)
from hindsight_integrations.ledger.sql import (
    among,
    ask,
    is_at_place,
    place_list,
    place_values,
    refers,
    unindexed,
)
from hindsight_integrations.ledger.tables import (
    chunks,
    documents,
    links,
    unit_edits,
    unit_sources,
    units,
    validity_events,
    vectors,
)
from hindsight_integrations.ledger.values import StoredDocument
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.time import from_micros
from hindsight_integrations.model.units import MemoryUnit, UnitKind, ValidityEvent
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, Place

_RECORDS = SEALED_COLUMNS.index("records")

_newest, _stating = units.alias("newest"), units.alias("stating")
_LATEST_MENTION = select(func.max(units.c.mentioned_at)).where(
    units.c.bank == bindparam("bank"),
    units.c.created
    == select(func.max(_newest.c.created)).where(_newest.c.bank == bindparam("bank")).scalar_subquery(),
)
_BY_ROWS = among(units.c.id, "ids"), unindexed(units.c.bank) == bindparam("bank")
_UNITS = select(units.c.id, units.c.checksum, *UNIT_FIELDS).where(*_BY_ROWS)
_NAMES = select(units.c.id, units.c.unit_id).where(*_BY_ROWS)
_VECTORS = select(vectors.c.unit, vectors.c.vector).where(
    among(vectors.c.unit, "ids"), unindexed(vectors.c.bank) == bindparam("bank")
)
_LINKS = select(func.count()).where(links.c.code == bindparam("code"))
_LINK_COUNTS = select(
    units.c.id,
    _LINKS.where(refers(links.c.source, units)).scalar_subquery()
    + _LINKS.where(refers(links.c.target, units), links.c.source != units.c.id).scalar_subquery(),
).where(*_BY_ROWS)
_EVENTS = (
    select(
        validity_events.c.kind,
        validity_events.c.effective_at,
        _stating.c.unit_id,
        validity_events.c.reason,
        units.c.unit_id,
    )
    .select_from(validity_events)
    .join(units, refers(validity_events.c.unit, units))
)
_VALIDITY = (
    _EVENTS.outerjoin(_stating, refers(validity_events.c.by_unit, _stating))
    .where(units.c.bank == bindparam("bank"), units.c.unit_id == bindparam("unit_id"))
    .order_by(validity_events.c.effective_at, validity_events.c.id)
)
_STATED_BY = (
    _EVENTS.join(_stating, refers(validity_events.c.by_unit, _stating))
    .where(_stating.c.bank == bindparam("bank"), among(_stating.c.unit_id, "ids"))
    .order_by(validity_events.c.id)
)
_ITEMS = (
    select(units.c.head, units.c.id)
    .where(among(units.c.head, "ids"), unindexed(units.c.bank) == bindparam("bank"))
    .order_by(units.c.head, units.c.number, units.c.id)
)
_EDITS = (
    select(unit_edits.c.made_at, unit_edits.c.fields)
    .join(units, refers(unit_edits.c.unit, units))
    .where(units.c.bank == bindparam("bank"), units.c.unit_id == bindparam("unit_id"))
    .order_by(unit_edits.c.id)
)
_DOCUMENT = select(
    documents.c.content_hash,
    select(func.coalesce(func.max(chunks.c.ordinal), -1) + 1)
    .where(chunks.c.bank == documents.c.bank, chunks.c.document == documents.c.id)
    .scalar_subquery(),
).where(documents.c.bank == bindparam("bank"), documents.c.id == bindparam("document"))
_CHUNKS = (
    select(chunks.c.document, chunks.c.ordinal, chunks.c["text"], chunks.c.content_hash, chunks.c.position)
    .where(
        chunks.c.bank == bindparam("bank"),
        chunks.c.document == bindparam("document"),
        chunks.c.position != NOWHERE,
    )
    .order_by(chunks.c.position)
)
_OF_CHUNKS = (
    select(units.c.id)
    .where(
        units.c.bank == bindparam("bank"),
        units.c.document == bindparam("document"),
        units.c.closed_at.is_(None),
        among(units.c.chunk, "ordinals"),
    )
    .order_by(units.c.id)
)
_OF_MESSAGES = (
    select(units.c.id)
    .distinct()
    .select_from(unit_sources)
    .join(place_list, is_at_place(unit_sources))
    .join(units, refers(unit_sources.c.unit, units))
    .where(
        units.c.closed_at.is_not(None) == bindparam("closed"),
        among(units.c.kind, "kinds"),
    )
    .order_by(units.c.id)
)
_COUNT = select(func.count()).where(units.c.bank == bindparam("bank"))
# The kinds are literals, so that SQLite can use the partial indexes.
_OTHERS = [
    _COUNT.where(units.c.kind == literal(kind.value, literal_execute=True)).scalar_subquery()
    for kind in (UnitKind.TURN, UnitKind.ITEM, UnitKind.DOCUMENT_ITEM)
]
_COUNT_MEMORIES = select(_COUNT.scalar_subquery() - _OTHERS[0] - _OTHERS[1] - _OTHERS[2])


class UnitReader(Reader):
    """Reads of units and their sources."""

    def count(self, bank: str) -> int:
        """Return the number of memories, including closed ones but not turns that wait for extraction."""
        with self._at(bank) as (connection, row):
            return count_memories(connection, row)

    def latest_mention(self, bank: str) -> datetime | None:
        """Return the latest mention time of the units in the newest commit; None if the bank is empty."""
        with self._at(bank) as (connection, row):
            micros = connection.scalar(_LATEST_MENTION, {"bank": row})
            return None if micros is None else from_micros(micros)

    def get(self, bank: str, ids: IntArray) -> dict[int, MemoryUnit]:
        """Return the units with these row ids. Unknown ids and damaged units are omitted. Uses two queries."""
        with self._at(bank) as (connection, row):
            return sound_units(connection, bank, row, ids)

    def get_with_entities(
        self, bank: str, ids: IntArray, mentioning: IntArray
    ) -> tuple[dict[int, MemoryUnit], dict[int, list[Entity]]]:
        """Return the units `ids`, as `get` does, and the entities that the units `mentioning` mention, sorted by name.

        Both are read in one round trip on PostgreSQL, records of units in a second one.
        """
        with self._at(bank) as (connection, row):
            stored, mentioned = fetched_together(
                connection,
                (_UNITS, {"bank": row, "ids": ids.tolist()}),
                (OF_UNITS, {"bank": row, "units": mentioning.tolist()}),
            )
            return _sound(connection, bank, row, stored), by_unit(mentioned)

    def damaged(self, bank: str, ids: IntArray | None = None) -> tuple[str, ...]:
        """Return the unit ids of damaged units among these row ids (in the whole bank if None), in row order."""
        with self._at(bank) as (connection, row):
            return tuple(damaged_units(connection, row, ids).values())

    def damaged_vectors(self, bank: str) -> tuple[str, ...]:
        """Return the unit ids of units whose stored vector is damaged, in row order."""
        with self._at(bank) as (connection, row):
            return tuple(damaged_vectors(connection, row).values())

    def row_ids(self, bank: str, unit_ids: Sequence[str]) -> dict[str, int]:
        """Return the row ids of these unit ids; unknown ids are omitted."""
        with self._at(bank) as (connection, row):
            return unit_rows(connection, row, unit_ids)

    def unit_ids(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Return the unit ids of these row ids; unknown ids and those of other banks are omitted."""
        with self._at(bank) as (connection, row):
            return dict(_by_rows(connection, _NAMES, row, ids))

    def vectors(self, bank: str, ids: IntArray) -> dict[int, Vector]:
        """Return stored vectors (dimension,) by row id; unknown ids are omitted."""
        with self._at(bank) as (connection, row):
            rows = connection.execute(_VECTORS, {"ids": ids.tolist(), "bank": row}) if len(ids) else ()
            return {unit: np.frombuffer(vector, "<f4").astype(np.float32) for unit, vector in rows}

    def link_ends(
        self, bank: str, ids: IntArray, counted: IntArray, code: int
    ) -> tuple[dict[int, str], dict[int, int]]:
        """Return what new links need to know of the units that they lead to, in one round trip on PostgreSQL.

        Args:
            bank: the bank's name.
            ids: row ids of the units.
            counted: row ids of the units whose links are counted.
            code: the kind of links to count (LINK_CODES).

        Returns:
            The unit ids by row id, and the number of links in either direction by row id, without units that have none.
        """
        with self._at(bank) as (connection, row):
            names, counts = ask(
                connection,
                (_NAMES, {"bank": row, "ids": ids.tolist()}),
                (_LINK_COUNTS, {"bank": row, "ids": counted.tolist(), "code": code}),
            )
        return dict(map(tuple, names)), {unit: count for unit, count in counts if count}

    def validity(self, bank: str, unit_id: str) -> list[ValidityEvent]:
        """Return a unit's validity log by effective time, then by recording order; empty for an unknown unit."""
        with self._at(bank) as (connection, row):
            events = connection.execute(_VALIDITY, {"bank": row, "unit_id": unit_id})
            return [event_from(event[:-1], event[-1]) for event in events]

    def stated_by(self, bank: str, unit_ids: Sequence[str]) -> list[ValidityEvent]:
        """Return the events that these units caused in other units, in recording order."""
        with self._at(bank) as (connection, row):
            events = connection.execute(_STATED_BY, {"bank": row, "ids": unit_ids}) if unit_ids else ()
            return [event_from(event[:-1], event[-1]) for event in events]

    def items_of(self, bank: str, ids: IntArray) -> dict[int, tuple[int, ...]]:
        """Return the row ids of the items of these documents (by row id), ordered by number, including closed items."""
        items: dict[int, tuple[int, ...]] = {}
        with self._at(bank) as (connection, row):
            rows = connection.execute(_ITEMS, {"ids": ids.tolist(), "bank": row}) if len(ids) else ()
            for head, item in rows:
                items[head] = (*items.get(head, ()), item)
        return items

    def edits(self, bank: str, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """Return the time and the changed fields of each correction of a unit, oldest first."""
        with self._at(bank) as (connection, row):
            edits = connection.execute(_EDITS, {"bank": row, "unit_id": unit_id})
            return [(from_micros(made_at), tuple(json.loads(fields))) for made_at, fields in edits]

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """Return a document with its current chunks, in order; None if it was never retained."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "document": document_id}
            document = connection.execute(_DOCUMENT, values).first()
            if document is None:
                return None
            present = tuple(ChunkWrite(*chunk) for chunk in fetched(connection, _CHUNKS, values))
        content_hash, ordinal = document
        return StoredDocument(document_id, content_hash, present, ordinal)

    def of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Return the row ids of the valid units made from these chunks of a document, ascending."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "document": document_id, "ordinals": ordinals}
            rows = connection.scalars(_OF_CHUNKS, values).all() if ordinals else ()
        return np.array(rows, np.int64)

    def of_messages(
        self, bank: str, messages: Sequence[Place], *, closed: bool = False, waiting: bool = False
    ) -> IntArray:
        """Return the row ids of the valid (or the closed) memories made from these messages, ascending.

        Items of documents are included. Turns that wait for extraction are included if `waiting`.
        """
        kinds = [UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM, *([UnitKind.TURN] if waiting else [])]
        with self._at(bank) as (connection, row):
            values = {"closed": closed, "kinds": kinds, **place_values(row, messages)}
            rows = connection.scalars(_OF_MESSAGES, values).all() if messages else ()
        return np.array(rows, np.int64)


def sound_units(connection: Connection, bank: str, row: int, ids: IntArray) -> dict[int, MemoryUnit]:
    """Return the bank's undamaged units among `ids`, by row id.

    Args:
        connection: a reader's or the writer's connection.
        bank: the bank's name.
        row: the bank's row id.
        ids: row ids of units.
    """
    return _sound(connection, bank, row, _by_rows(connection, _UNITS, row, ids))


def _sound(connection: Connection, bank: str, row: int, rows: Sequence[Row]) -> dict[int, MemoryUnit]:
    """Build the undamaged units among rows of _UNITS, and read their records."""
    sound = {unit: fields for unit, checksum, *fields in rows if is_sound(fields[:SEALED], checksum)}
    records = records_of(connection, row, {unit: fields[_RECORDS] for unit, fields in sound.items()})
    return {
        unit: unit_from(tuple(fields), bank, records[unit])
        for unit, fields in sound.items()
        if unit in records
    }


def _by_rows(connection: Connection, statement: Executable, bank: int, ids: IntArray) -> list[Row]:
    """Select the bank's units with these row ids, in the order of `ids`; other ids are omitted."""
    if not len(ids):
        return []
    rows = {row[0]: row for row in fetched(connection, statement, {"ids": ids.tolist(), "bank": bank})}
    return [rows[unit] for unit in ids.tolist() if unit in rows]


def count_units(connection: Connection, bank: int) -> int:
    """Return the number of units in a bank, including turns that wait for extraction and texts of items."""
    return int(connection.execute(_COUNT, {"bank": bank}).scalar_one())


def count_memories(connection: Connection, bank: int) -> int:
    """Return the number of memories in a bank."""
    return int(connection.execute(_COUNT_MEMORIES, {"bank": bank}).scalar_one())
