"""`commit`: a write set into tables. Runs inside one transaction; whatever raises undoes it all."""

from __future__ import annotations

from collections.abc import Mapping
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules import (
    changes_nothing,
    check_known,
    check_shape,
    link_code,
    merged_entities,
    unit_references,
)
from hindsight_integrations.backends.ledger.sqlite import banks, documents, entity_writing, reading, task_rows
from hindsight_integrations.backends.ledger.sqlite.entity_writing import Target
from hindsight_integrations.backends.ledger.sqlite.rows import UNIT_COLUMNS, unit_row
from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.ledger import Receipt

_FLOAT_BYTES = 4


def commit(connection: Connection, writes: WriteSet) -> Receipt:
    """Write everything into the open transaction; see the port.

    A write set whose rows are all there already leaves the revision as it is.
    """
    bank = banks.find(connection, writes.bank)
    if bank.revision != writes.expected_revision:
        raise RevisionConflict(writes.bank, writes.expected_revision, bank.revision)
    if changes_nothing(writes):
        return Receipt(bank.revision, ())
    check_shape(writes, bank.dimension)
    target = Target(connection, bank.id, bank.revision + 1)
    before = connection.total_changes
    task_rows.complete(connection, bank.id, writes.completed_tasks)
    created = _write_all(target, writes)
    tasks = task_rows.enqueue(connection, bank.id, writes.tasks)
    if connection.total_changes == before:
        return Receipt(bank.revision, ())
    dimension = len(writes.units[0].vector) // _FLOAT_BYTES if writes.units else bank.dimension
    connection.execute(
        "UPDATE banks SET revision = ?, dimension = ? WHERE id = ?", (target.revision, dimension, bank.id)
    )
    return Receipt(target.revision, created, tasks)


def _write_all(target: Target, writes: WriteSet) -> tuple[str, ...]:
    documents.write_sources(target, writes)
    created = _write_units(target, writes)
    units = _unit_rows(target, writes)
    entity_writing.write_entities(target, merged_entities(writes.entities))
    entity_writing.write_mentions(target, writes, units)
    _write_links(target, writes, units)
    for event in writes.events:
        _write_event(target, event, units)
    return created


def _write_units(target: Target, writes: WriteSet) -> tuple[str, ...]:
    """Insert the units that are not there yet, with their vectors; their ids, in row order."""
    if not writes.units:
        return ()
    target.connection.executemany(
        f"INSERT INTO units ({UNIT_COLUMNS}, bank, created, changed) "
        f"VALUES ({reading.marks(21)}) ON CONFLICT DO NOTHING",
        [unit_row(write, target.bank, target.revision) for write in writes.units],
    )
    created = dict(
        target.connection.execute(
            "SELECT unit_id, id FROM units WHERE bank = ? AND created = ? ORDER BY id",
            (target.bank, target.revision),
        ).fetchall()
    )
    target.connection.executemany(
        "INSERT INTO vectors (unit, bank, revision, vector) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (created[write.unit.id], target.bank, target.revision, write.vector)
            for write in writes.units
            if write.unit.id in created
        ],
    )
    documents.write_unit_sources(target, created, writes.units)
    return tuple(created)


def _unit_rows(target: Target, writes: WriteSet) -> dict[str, int]:
    """Row ids of the units mentions, links and events speak of; raises InvalidRequest for unknown ones."""
    references = unit_references(writes)
    wanted = sorted(set().union(*references.values()))
    rows = reading.row_ids(target.connection, target.bank, wanted)
    for field, ids in references.items():
        check_known(field, ids, rows, writes.bank)
    return rows


def _write_links(target: Target, writes: WriteSet, units: Mapping[str, int]) -> None:
    target.connection.executemany(
        "INSERT INTO links (source, target, code, weight, bank, revision) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [
            (
                units[link.source],
                units[link.target],
                link_code(link),
                link.weight,
                target.bank,
                target.revision,
            )
            for link in writes.links
        ],
    )


def _write_event(target: Target, event: ValidityEvent, units: Mapping[str, int]) -> None:
    """Append an event unless it is in the log already, and bring the unit's `closed_at` in line with it."""
    unit, effective_at = units[event.unit_id], to_micros(event.effective_at)
    by_unit = None if event.by_unit is None else units[event.by_unit]
    appended = target.connection.execute(
        "INSERT INTO validity_events (unit, kind, effective_at, revision, by_unit, reason) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (unit, event.kind.value, effective_at, target.revision, by_unit, event.reason),
    )
    if appended.rowcount == 0 or event.kind is ValidityKind.AMENDED:
        return
    closed = None if event.kind is ValidityKind.RESTORED else effective_at
    target.connection.execute(
        "UPDATE units SET closed_at = CASE WHEN ?1 IS NULL THEN NULL ELSE min(coalesce(closed_at, ?1), ?1) END, "
        "changed = ?2 WHERE id = ?3",
        (closed, target.revision, unit),
    )
