"""A correction of one unit: its row, its vector, its links, and an audit row without the old text."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.ledger.checksums import (
    damaged_units,
    seal_units,
    vector_checksum,
)
from hindsight_integrations.ledger.commit import write_links
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.entities import set_graph_epoch
from hindsight_integrations.ledger.mental_models import enqueue_refreshes
from hindsight_integrations.ledger.observations import change_facts, move_documents, observe_changed
from hindsight_integrations.ledger.opinions import enqueue_reinforcement, judge_corrected
from hindsight_integrations.ledger.records import rewrite_values
from hindsight_integrations.ledger.rows import (
    Target,
    compact_row,
    find_bank,
    mapping_text,
    marks,
    unit_rows,
)
from hindsight_integrations.ledger.rules import check_known, check_shape
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.links import LinkType
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.writes import UnitWrite, WriteSet
from hindsight_integrations.ports.ledger import UnitEdit
from hindsight_integrations.ports.memory_graph import LINK_CODES

REBUILT = [code for (kind, _), code in LINK_CODES.items() if kind in (LinkType.TEMPORAL, LinkType.SEMANTIC)]


class SqliteEdits:
    """The part of `LedgerMaintenance` that corrects units."""

    _database: SqliteDatabase

    def edit_unit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Write a correction; returns the new revision."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            if edit.vector is not None:
                writes = WriteSet(bank, found.revision, units=(UnitWrite(edit.unit, edit.vector),))
                check_shape(writes, found.dimension)
            ends = {end for link in edit.links or () for end in (link.source, link.target)}
            wanted = sorted(ends | {edit.unit.id})
            rows = unit_rows(connection, found.id, wanted)
            check_known("unit_id", wanted, rows, bank)
            revision, row = found.revision + 1, rows[edit.unit.id]
            if damaged_units(connection, found.id, np.array([row])):
                raise MemoryDamaged(bank, (edit.unit.id,))
            target = Target(connection, found.id, revision)
            _write_unit(connection, row, edit, revision)
            seal_units(connection, found.id, [row, *_with_tags_of(target, row, edit)])
            if edit.links is not None:
                raw(connection).execute(
                    f"DELETE FROM links WHERE (source = ? OR target = ?) AND code IN ({marks(len(REBUILT))})",
                    (row, row, *REBUILT),
                )
                write_links(target, edit.links, rows)
                set_graph_epoch(connection, found.id, revision)
            changed = [row, *move_documents(target, [row])]
            change_facts(target, changed)
            if "text" in edit.fields:
                for unit in changed:
                    judge_corrected(connection, unit)
            raw(connection).execute(
                "INSERT INTO unit_edits (bank, unit, revision, made_at, fields) VALUES (?, ?, ?, ?, ?)",
                (found.id, row, revision, to_micros(made_at), json.dumps(edit.fields)),
            )
            raw(connection).execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, found.id))
            observe_changed(self._database, connection, found.id, revision)
            enqueue_refreshes(self._database, connection, found.id)
            enqueue_reinforcement(self._database, connection, found.id)
        return revision


def _with_tags_of(target: Target, document: int, edit: UnitEdit) -> list[int]:
    """Give the items of a document its new tags; their row ids. Damaged ones stay as they are."""
    if "tags" not in edit.fields:
        return []
    items = [
        row for (row,) in raw(target.connection).execute("SELECT id FROM units WHERE head = ?", (document,))
    ]
    damaged = damaged_units(target.connection, target.bank, np.array(items, np.int64)) if items else {}
    sound = [row for row in items if row not in damaged]
    raw(target.connection).executemany(
        "UPDATE units SET tags = ?, changed = ? WHERE id = ?",
        [(json.dumps(edit.unit.tags), target.revision, row) for row in sound],
    )
    return sound


def _write_unit(connection: Connection, row: int, change: UnitEdit, revision: int) -> None:
    unit = change.unit
    start, end = (
        (to_micros(unit.occurred.start), to_micros(unit.occurred.end)) if unit.occurred else (None, None)
    )
    raw(connection).execute(
        "UPDATE units SET text = ?, occurred_start = ?, occurred_end = ?, metadata = ?, tags = ?, tokens = ?, "
        "compact = ?, compact_tokens = ?, changed = ? WHERE id = ?",
        (
            unit.text,
            start,
            end,
            mapping_text(unit.metadata),
            json.dumps(unit.tags),
            unit.tokens,
            *compact_row(unit),
            revision,
            row,
        ),
    )
    if change.records:
        rewrite_values(connection, row, unit.records)
    if change.vector is not None:
        raw(connection).execute(
            "UPDATE vectors SET vector = ?, revision = ?, checksum = ? WHERE unit = ?",
            (change.vector, revision, vector_checksum(change.vector), row),
        )
