"""Correction of a unit in place. The audit row does not contain the old text."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np
from sqlalchemy import bindparam, delete, or_, select, update

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.ledger.checksums import (
    damaged_units,
    seal_units,
    vector_checksum,
)
from hindsight_integrations.ledger.commit import Following, write_links
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.entities import set_graph_epoch
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.observations import change_facts, move_documents
from hindsight_integrations.ledger.opinions import judge_corrected
from hindsight_integrations.ledger.records import rewrite_values
from hindsight_integrations.ledger.rows import (
    At,
    CommitTarget,
    compact_row,
    find_bank,
    mapping_text,
    unit_rows,
)
from hindsight_integrations.ledger.rules import check_known, check_shape
from hindsight_integrations.ledger.sql import among, in_bank, insert
from hindsight_integrations.ledger.tables import links, unit_edits, units, vectors
from hindsight_integrations.ledger.tasks import Schedule
from hindsight_integrations.ledger.units import UnitReader
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.links import LINK_CODES, LinkType
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.writes import UnitWrite, WriteSet

_REBUILT = [code for (kind, _), code in LINK_CODES.items() if kind in (LinkType.TEMPORAL, LinkType.SEMANTIC)]

# Parameters are named after the columns.
_UPDATE_UNIT = update(units).where(in_bank(units, "of"), units.c.id == bindparam("row"))
_UPDATE_UNITS = update(units).where(in_bank(units, "of"), among(units.c.id, "rows"))
_UPDATE_VECTOR = update(vectors).where(in_bank(vectors, "of"), vectors.c.unit == bindparam("row"))
_DELETE_LINKS = delete(links).where(
    in_bank(links),
    or_(links.c.source == bindparam("row"), links.c.target == bindparam("row")),
    among(links.c.code, "codes"),
)
_ITEMS = select(units.c.id).where(in_bank(units), units.c.head == bindparam("document"))
_ADD_EDIT = insert(unit_edits)


class UnitEditor(UnitReader):
    """Reads units and corrects them in place."""

    def __init__(self, at: At, database: Database, schedule: Schedule) -> None:
        super().__init__(at)
        self._database, self._schedule = database, schedule

    def edit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Correct a unit in place. Return the new revision, after which indexes read the unit again.

        The old text is not kept; the audit row records which fields changed and when. Evidence that was
        judged by the old text (of this fact, or against this opinion) is deleted, so that `facts_since`
        returns those facts again.

        Raises:
            InvalidRequest: the bank does not contain the unit, or a unit it links to.
            MemoryDamaged: the stored unit is damaged.
        """
        with self._database.writing(bank) as connection:
            stored = find_bank(connection, bank)
            if edit.vector is not None:
                writes = WriteSet(bank, stored.revision, units=(UnitWrite(edit.unit, edit.vector),))
                check_shape(writes, stored.dimension)
            ends = {end for link in edit.links or () for end in (link.source, link.target)}
            names = sorted(ends | {edit.unit.id})
            rows = unit_rows(connection, stored.id, names)
            check_known("unit_id", names, rows, bank)
            revision, row = stored.revision + 1, rows[edit.unit.id]
            if damaged_units(connection, stored.id, np.array([row])):
                raise MemoryDamaged(bank, (edit.unit.id,))
            target = CommitTarget(connection, stored.id, revision)
            _write_unit(target, row, edit)
            seal_units(connection, stored.id, [row, *_tag_items(target, row, edit)])
            if edit.links is not None:
                connection.execute(_DELETE_LINKS, {"bank": stored.id, "row": row, "codes": _REBUILT})
                write_links(target, edit.links, rows)
                set_graph_epoch(connection, stored.id, revision)
            changed = [row, *move_documents(target, [row])]
            change_facts(target, changed)
            if "text" in edit.fields:
                judge_corrected(connection, stored.id, *changed)
            entry = {
                "bank": stored.id,
                "unit": row,
                "revision": revision,
                "made_at": to_micros(made_at),
                "fields": json.dumps(edit.fields),
            }
            connection.execute(_ADD_EDIT, entry)
            advance(connection, stored.id, revision)
            Following.of(target).enqueue(self._schedule)
        return revision


def _tag_items(target: CommitTarget, document: int, edit: UnitEdit) -> list[int]:
    """Copy a document's new tags to its undamaged items; return the items' row ids."""
    if "tags" not in edit.fields:
        return []
    items = target.connection.scalars(_ITEMS, {"bank": target.bank, "document": document}).all()
    if not items:
        return []
    damaged = damaged_units(target.connection, target.bank, np.array(items, np.int64))
    sound = [row for row in items if row not in damaged]
    values = {
        "of": target.bank,
        "rows": sound,
        "tags": json.dumps(edit.unit.tags),
        "changed": target.revision,
    }
    target.connection.execute(_UPDATE_UNITS, values)
    return sound


def _write_unit(target: CommitTarget, row: int, edit: UnitEdit) -> None:
    unit = edit.unit
    compact, compact_tokens = compact_row(unit)
    values = {
        "of": target.bank,
        "row": row,
        "text": unit.text,
        "occurred_start": to_micros(unit.occurred.start) if unit.occurred else None,
        "occurred_end": to_micros(unit.occurred.end) if unit.occurred else None,
        "metadata": mapping_text(unit.metadata),
        "tags": json.dumps(unit.tags),
        "tokens": unit.tokens,
        "compact": compact,
        "compact_tokens": compact_tokens,
        "changed": target.revision,
    }
    target.connection.execute(_UPDATE_UNIT, values)
    if edit.records:
        rewrite_values(target.connection, target.bank, row, unit.records)
    if edit.vector is not None:
        vector = {"vector": edit.vector, "checksum": vector_checksum(edit.vector)}
        values = {"of": target.bank, "row": row, "revision": target.revision, **vector}
        target.connection.execute(_UPDATE_VECTOR, values)
