"""A correction of one unit: its row, its vector, its links, and an audit row without the old text."""

from __future__ import annotations

import json
from datetime import datetime
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules import check_known, check_shape, link_code
from hindsight_integrations.backends.ledger.sqlite import banks, entity_listing, reading
from hindsight_integrations.backends.ledger.sqlite.rows import mapping_text
from hindsight_integrations.model.links import LinkType
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.writes import UnitWrite, WriteSet
from hindsight_integrations.ports.memory_graph import LINK_CODES
from hindsight_integrations.ports.unit_editing import UnitEdit

REBUILT = [code for (kind, _), code in LINK_CODES.items() if kind in (LinkType.TEMPORAL, LinkType.SEMANTIC)]


def edit(connection: Connection, name: str, change: UnitEdit, made_at: datetime) -> int:
    """Write a correction; returns the new revision."""
    bank = banks.find(connection, name)
    if change.vector is not None:
        writes = WriteSet(name, bank.revision, units=(UnitWrite(change.unit, change.vector),))
        check_shape(writes, bank.dimension)
    ends = sorted(
        {end for link in change.links or () for end in (link.source, link.target)} | {change.unit.id}
    )
    rows = reading.row_ids(connection, bank.id, ends)
    check_known("unit_id", ends, rows, name)
    revision, row = bank.revision + 1, rows[change.unit.id]
    _write_unit(connection, row, change, revision)
    if change.links is not None:
        _write_links(connection, (bank.id, row, revision), change, rows)
        entity_listing.set_graph_epoch(connection, bank.id, revision)
    connection.execute(
        "INSERT INTO unit_edits (bank, unit, revision, made_at, fields) VALUES (?, ?, ?, ?, ?)",
        (bank.id, row, revision, to_micros(made_at), json.dumps(change.fields)),
    )
    connection.execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, bank.id))
    return revision


def edits(connection: Connection, bank: int, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
    """(when, fields) of a unit's corrections, oldest first."""
    rows = connection.execute(
        "SELECT made_at, fields FROM unit_edits JOIN units ON units.id = unit "
        "WHERE units.bank = ? AND unit_id = ? ORDER BY unit_edits.id",
        (bank, unit_id),
    )
    return [(from_micros(made_at), tuple(json.loads(fields))) for made_at, fields in rows]


def _write_unit(connection: Connection, row: int, change: UnitEdit, revision: int) -> None:
    unit = change.unit
    start, end = (
        (to_micros(unit.occurred.start), to_micros(unit.occurred.end)) if unit.occurred else (None, None)
    )
    connection.execute(
        "UPDATE units SET text = ?, occurred_start = ?, occurred_end = ?, metadata = ?, tags = ?, tokens = ?, "
        "changed = ? WHERE id = ?",
        (
            unit.text,
            start,
            end,
            mapping_text(unit.metadata),
            json.dumps(unit.tags),
            unit.tokens,
            revision,
            row,
        ),
    )
    if change.vector is not None:
        connection.execute(
            "UPDATE vectors SET vector = ?, revision = ? WHERE unit = ?", (change.vector, revision, row)
        )


def _write_links(
    connection: Connection, place: tuple[int, int, int], change: UnitEdit, rows: dict[str, int]
) -> None:
    """Replace the unit's temporal and semantic links; `place` is (bank, unit row, revision)."""
    bank, row, revision = place
    connection.execute(
        f"DELETE FROM links WHERE (source = ? OR target = ?) AND code IN ({reading.marks(len(REBUILT))})",
        (row, row, *REBUILT),
    )
    connection.executemany(
        "INSERT INTO links (source, target, code, weight, bank, revision) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [
            (rows[link.source], rows[link.target], link_code(link), link.weight, bank, revision)
            for link in change.links or ()
        ],
    )
