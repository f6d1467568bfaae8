"""`commit`: a write set into tables. Runs inside one transaction; whatever raises undoes it all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.ledger import tasks
from hindsight_integrations.ledger.checksums import unit_checksum, vector_checksum
from hindsight_integrations.ledger.entities import write_entities, write_mentions
from hindsight_integrations.ledger.mental_models import write_refresh
from hindsight_integrations.ledger.observations import (
    change_facts,
    move_documents,
    write_observed,
)
from hindsight_integrations.ledger.opinions import follow_grounds, judge_corrected, write_opinions
from hindsight_integrations.ledger.profile_changes import write_profile
from hindsight_integrations.ledger.records import categories_of, write_categories, write_records
from hindsight_integrations.ledger.rows import (
    OWN_COLUMNS,
    SEALED,
    Target,
    find_bank,
    mapping_text,
    marks,
    unit_row,
    unit_rows,
)
from hindsight_integrations.ledger.rules import (
    changes_nothing,
    check_known,
    check_shape,
    link_code,
    merged_entities,
    unit_references,
)
from hindsight_integrations.ledger.sql import changes, raw
from hindsight_integrations.ledger.turns import write_thread, write_turns
from hindsight_integrations.model.links import Link
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.ledger import Receipt

FLOAT_BYTES = 4

# Each upsert touches a row only where something differs: a write set retained twice must not raise the revision.
_DOCUMENT = """
INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    content_hash = excluded.content_hash, context = excluded.context, mentioned_at = excluded.mentioned_at,
    metadata = excluded.metadata, tags = excluded.tags
WHERE (content_hash, context, mentioned_at, metadata, tags) IS NOT
    (excluded.content_hash, excluded.context, excluded.mentioned_at, excluded.metadata, excluded.tags)
"""
_CHUNK = """
INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position
WHERE position <> excluded.position
"""
_MESSAGE = """
INSERT INTO message_keys VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision
WHERE revision < (
    SELECT max(version.revision) FROM message_keys AS version
    WHERE version.bank = excluded.bank AND version.thread = excluded.thread AND version.message = excluded.message
)
"""


def commit(connection: Connection, writes: WriteSet, now: datetime) -> Receipt:
    """Write everything into the open transaction; see the port.

    A write set whose rows are all there already leaves the revision as it is; so do a profile,
    the answer of a mental model and the log of a thread, which no index holds.
    """
    bank = find_bank(connection, writes.bank)
    if bank.revision != writes.expected_revision:
        raise RevisionConflict(writes.bank, writes.expected_revision, bank.revision)
    if changes_nothing(writes):
        return Receipt(bank.revision, ())
    check_shape(writes, bank.dimension)
    target = Target(connection, bank.id, bank.revision + 1)
    write_profile(connection, bank.id, writes, now)
    write_refresh(connection, bank.id, writes)
    write_thread(connection, bank.id, writes)
    before = changes(connection)
    tasks.complete(connection, bank.id, writes.completed_tasks, now)
    created = _write_all(target, writes, to_micros(now))
    enqueued = tasks.enqueue(connection, bank.id, writes.tasks, now)
    if changes(connection) == before:
        return Receipt(bank.revision, ())
    given = next((write.vector for write in writes.units if write.vector), b"")
    dimension = len(given) // FLOAT_BYTES if given else bank.dimension
    raw(connection).execute(
        "UPDATE banks SET revision = ?, dimension = ? WHERE id = ?", (target.revision, dimension, bank.id)
    )
    return Receipt(target.revision, created, enqueued)


def _write_all(target: Target, writes: WriteSet, now: int) -> tuple[str, ...]:
    _write_sources(target, writes)
    created = write_units(target, writes)
    write_turns(target, writes)
    units = _unit_rows(target, writes)
    write_entities(target, merged_entities(writes.entities))
    write_mentions(target, writes, units)
    write_links(target, writes.links, units)
    written = [event for event in writes.events if _write_event(target, event, units)]
    ended = [units[event.unit_id] for event in written]
    documents = _changed_documents(target, ended)
    for document in documents:  # what was judged by a document was judged by its items
        judge_corrected(target.connection, document)
    changed = [*ended, *documents]
    change_facts(target, changed)
    write_observed(target, writes)
    write_opinions(target, writes, now)
    follow_grounds(target, changed)
    return created


def write_units(target: Target, writes: WriteSet) -> tuple[str, ...]:
    """Insert the units that are not there yet, with all that hangs on them; their ids, in row order."""
    if not writes.units:
        write_categories(target.connection, target.bank, writes.categories)
        return ()
    raw(target.connection).executemany(
        f"INSERT INTO units ({OWN_COLUMNS}, bank, created, changed, checksum) "
        f"VALUES ({marks(27)}) ON CONFLICT DO NOTHING",
        [
            (*row, unit_checksum(row[:SEALED]))
            for row in (unit_row(write, target.bank, target.revision) for write in writes.units)
        ],
    )
    created = dict(
        raw(target.connection)
        .execute(
            "SELECT unit_id, id FROM units WHERE bank = ? AND created = ? ORDER BY id",
            (target.bank, target.revision),
        )
        .fetchall()
    )
    new = [(created[write.unit.id], write) for write in writes.units if write.unit.id in created]
    raw(target.connection).executemany(
        "UPDATE units SET head = (SELECT id FROM units AS document WHERE bank = ? AND unit_id = ?) WHERE id = ?",
        [(target.bank, write.unit.part_of, row) for row, write in new if write.unit.part_of],
    )
    raw(target.connection).executemany(
        "UPDATE units SET number = max(number, ?) WHERE id = (SELECT head FROM units WHERE id = ?)",
        [(write.unit.number, row) for row, write in new if write.unit.part_of],
    )
    raw(target.connection).executemany(
        "INSERT INTO vectors (unit, bank, revision, vector, checksum) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (row, target.bank, target.revision, write.vector, vector_checksum(write.vector))
            for row, write in new
            if write.vector
        ],
    )
    named = (*writes.categories, *categories_of(record for _, write in new for record in write.unit.records))
    categories = write_categories(target.connection, target.bank, named)
    held = ((row, write.unit.records) for row, write in new)
    write_records(target.connection, target.bank, held, categories)
    sources = [
        (target.bank, write.unit.thread, message, row) for row, write in new for message in write.unit.sources
    ]
    raw(target.connection).executemany(
        "INSERT INTO unit_sources (bank, thread, message, unit) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        sources,
    )
    return tuple(created)


def _changed_documents(target: Target, units: Sequence[int]) -> list[int]:
    """Row ids of the documents whose items are among these units, or came with this commit; their rows say that they changed."""
    came = raw(target.connection).execute(
        f"SELECT id FROM units WHERE bank = ? AND created = ? AND kind = '{UnitKind.DOCUMENT_ITEM.value}'",
        (target.bank, target.revision),
    )
    return move_documents(target, {*units, *(row for (row,) in came)})


def _write_sources(target: Target, writes: WriteSet) -> None:
    """Store documents, chunks and message keys; known ones are brought up to date."""
    raw(target.connection).executemany(
        _DOCUMENT,
        [
            (
                target.bank,
                d.id,
                d.content_hash,
                d.context,
                to_micros(d.mentioned_at),
                mapping_text(d.metadata),
                json.dumps(d.tags),
            )
            for d in writes.documents
        ],
    )
    raw(target.connection).executemany(
        _CHUNK,
        [(target.bank, c.document_id, c.ordinal, c.text, c.content_hash, c.position) for c in writes.chunks],
    )
    raw(target.connection).executemany(
        _MESSAGE,
        [
            (target.bank, key.thread, key.message_id, key.content_hash, target.revision)
            for key in writes.messages
        ],
    )


def _unit_rows(target: Target, writes: WriteSet) -> dict[str, int]:
    """Row ids of the units mentions, links, events and items speak of; raises InvalidRequest for unknown ones."""
    references = unit_references(writes)
    wanted = sorted(set().union(*references.values()))
    rows = unit_rows(target.connection, target.bank, wanted)
    for field, ids in references.items():
        check_known(field, ids, rows, writes.bank)
    return rows


def write_links(target: Target, links: Iterable[Link], units: Mapping[str, int]) -> None:
    """Insert links that are not there yet; `units` are the row ids of their ends."""
    raw(target.connection).executemany(
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
            for link in links
        ],
    )


def _write_event(target: Target, event: ValidityEvent, units: Mapping[str, int]) -> bool:
    """Append an event, and bring `closed_at` of the unit in line; False if it is in the log already."""
    unit, effective_at = units[event.unit_id], to_micros(event.effective_at)
    by_unit = None if event.by_unit is None else units[event.by_unit]
    appended = raw(target.connection).execute(
        "INSERT INTO validity_events (unit, kind, effective_at, revision, by_unit, reason) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (unit, event.kind.value, effective_at, target.revision, by_unit, event.reason),
    )
    if appended.rowcount == 0:
        return False
    closed = None if event.kind is ValidityKind.RESTORED else effective_at
    raw(target.connection).execute(
        "UPDATE units SET closed_at = CASE WHEN :closed IS NULL THEN NULL "
        "ELSE min(coalesce(closed_at, :closed), :closed) END, changed = :now WHERE id = :unit",
        {"closed": closed, "now": target.revision, "unit": unit},
    )
    return True
