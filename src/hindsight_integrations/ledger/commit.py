"""`commit`: applies a write set in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, case, func, null, or_, select, update

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.ledger import tasks
from hindsight_integrations.ledger.checksums import closing, unit_checksum, vector_checksum
from hindsight_integrations.ledger.entities import write_entities, write_mentions
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import (
    AUTOMATIC,
    changes_facts,
    enqueue_refreshes,
    write_refresh,
)
from hindsight_integrations.ledger.observations import (
    CHANGED,
    change_facts,
    enqueue_observed,
    move_documents,
    remove_units,
    write_observed,
)
from hindsight_integrations.ledger.opinions import (
    UNSEEN,
    brings_evidence,
    enqueue_reinforcement,
    follow_grounds,
    judge_corrected,
    write_opinions,
)
from hindsight_integrations.ledger.profile_changes import write_profile
from hindsight_integrations.ledger.records import categories_of, write_categories, write_records
from hindsight_integrations.ledger.rows import (
    OWN_COLUMNS,
    SEALED,
    UNIT_ROWS,
    BankRow,
    CommitTarget,
    Row,
    mapping_text,
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
from hindsight_integrations.ledger.sql import Values, ask, changes, in_bank, insert, run_many
from hindsight_integrations.ledger.tables import (
    Int,
    chunks,
    documents,
    links,
    message_keys,
    unit_sources,
    units,
    validity_events,
    vectors,
)
from hindsight_integrations.ledger.tasks import Schedule
from hindsight_integrations.ledger.turns import waiting_turns, write_thread, write_turns
from hindsight_integrations.ledger.values import Receipt
from hindsight_integrations.model.links import Link
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet

FLOAT_BYTES = 4

# Rows are updated only if something differs, because a repeated write set must not raise the revision.
_document = insert(documents)
_DOCUMENT_FIELDS = ("content_hash", "context", "mentioned_at", "metadata", "tags")
_PUT_DOCUMENT = _document.on_conflict_do_update(
    index_elements=["bank", "id"],
    set_={name: _document.excluded[name] for name in _DOCUMENT_FIELDS},
    where=or_(*(documents.c[name] != _document.excluded[name] for name in _DOCUMENT_FIELDS)),
)
_chunk = insert(chunks)
_PUT_CHUNK = _chunk.on_conflict_do_update(
    index_elements=["bank", "document", "ordinal"],
    set_={"position": _chunk.excluded.position},
    where=chunks.c.position != _chunk.excluded.position,
)
_key, _version = insert(message_keys), message_keys.alias("version")
_PUT_MESSAGE = _key.on_conflict_do_update(
    index_elements=["bank", "thread", "message", "content_hash"],
    set_={"revision": _key.excluded.revision},
    where=message_keys.c.revision
    < select(func.max(_version.c.revision))
    .where(*(_version.c[name] == message_keys.c[name] for name in ("bank", "thread", "message")))
    .correlate(message_keys)
    .scalar_subquery(),
)
_ADD_UNITS = insert(units).on_conflict_do_nothing().returning(units.c.unit_id, units.c.id)
_SET_HEAD = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("item"))
    .values(head=bindparam("of_document"))
)
_RAISE_NUMBER = (
    update(units)
    .where(
        in_bank(units, "of"), units.c.id == bindparam("of_document"), units.c.number < bindparam("highest")
    )
    .values(number=bindparam("highest"))
)
_ADD_VECTOR = insert(vectors).on_conflict_do_nothing()
_ADD_SOURCE = insert(unit_sources).on_conflict_do_nothing()
_ADD_LINK = insert(links).on_conflict_do_nothing()
_ADD_EVENT = insert(validity_events).on_conflict_do_nothing()
_MOMENT = bindparam("moment", type_=Int)
_CLOSE = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("unit"))
    .values(
        changed=bindparam("now"),
        **closing(case((units.c.closed_at < _MOMENT, units.c.closed_at), else_=_MOMENT)),
    )
)
_REOPEN = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("unit"))
    .values(changed=bindparam("now"), **closing(null()))
)


def commit(connection: Connection, bank: BankRow, writes: WriteSet, schedule: Schedule) -> Receipt:
    """Apply a write set in the open transaction, and enqueue the resulting tasks; see `Transaction.commit`.

    The revision does not change if every row already exists. Profiles, answers of mental models and thread logs do not raise
    it either, because no index contains them.
    """
    if bank.revision != writes.expected_revision:
        raise RevisionConflict(writes.bank, writes.expected_revision, bank.revision)
    if changes_nothing(writes):
        return Receipt(bank.revision, ())
    check_shape(writes, bank.dimension)
    now = schedule.clock.now()
    target = CommitTarget(connection, bank.id, bank.revision + 1)
    before = changes(connection)
    tasks.complete(connection, bank.id, writes.completed_tasks, now)
    created = _write_all(target, writes, to_micros(now))
    enqueued = tasks.enqueue(connection, bank.id, writes.tasks, now)
    following = Following.of(target)
    changed = changes(connection) != before
    write_profile(connection, bank.id, writes, now)
    write_refresh(connection, bank.id, writes)
    write_thread(connection, bank.id, writes)
    if not changed:
        return Receipt(bank.revision, ())
    vector = next((write.vector for write in writes.units if write.vector), b"")
    dimension = len(vector) // FLOAT_BYTES if vector else bank.dimension
    advance(connection, bank.id, target.revision, dimension)
    following.enqueue(schedule, facts=changes_facts(writes), evidence=brings_evidence(writes))
    return Receipt(target.revision, created, enqueued)


@dataclass(frozen=True, slots=True)
class Following:
    """The observations, mental models and opinions to update after a change of facts.

    Attributes:
        target: the commit that changed facts.
        entities: ids of the entities whose facts changed.
        models: ids of the mental models that are refreshed automatically.
        unassessed: whether some opinion has not been assessed against all valid facts.
    """

    target: CommitTarget
    entities: Sequence[str]
    models: Sequence[str]
    unassessed: bool

    @classmethod
    def of(cls, target: CommitTarget) -> Following:
        """Read which of them the changes so far affect."""
        changed = {"bank": target.bank, "revision": target.revision}
        keys, models, unseen = ask(
            target.connection,
            (CHANGED, changed),
            (AUTOMATIC, {"of": target.bank}),
            (UNSEEN, {"bank": target.bank}),
        )
        return cls(target, [key for (key,) in keys], [model for (model,) in models], bool(unseen))

    def enqueue(self, schedule: Schedule, *, facts: bool = True, evidence: bool = True) -> None:
        """Enqueue the tasks for these updates.

        Args:
            schedule: delays of the tasks.
            facts: whether facts were added, closed or restored that mental models may be based on.
            evidence: whether facts were added against which opinions must be assessed.
        """
        connection, bank = self.target.connection, self.target.bank
        enqueue_observed(schedule, connection, bank, self.entities)
        if facts:
            enqueue_refreshes(schedule, connection, bank, self.models)
        if evidence and self.unassessed:
            enqueue_reinforcement(schedule, connection, bank)


def _write_all(target: CommitTarget, writes: WriteSet, now: int) -> tuple[str, ...]:
    references = unit_references(writes)
    wanted = sorted(set().union(*references.values()))
    known, *waiting = ask(
        target.connection,
        (UNIT_ROWS, {"bank": target.bank, "ids": wanted}),
        *waiting_turns(target.bank, writes),
    )
    _write_sources(target, writes)
    created = write_units(target, writes)
    rows = {**dict(known), **created}
    for field, ids in references.items():
        check_known(field, ids, rows, writes.bank)
    remove_units(target, {row for found in waiting for row, *_ in found})
    write_turns(target, writes, rows)
    write_entities(target, merged_entities(writes.entities))
    write_mentions(target, writes, rows)
    write_links(target, writes.links, rows)
    ended = [rows[event.unit_id] for event in writes.events if _write_event(target, event, rows)]
    items = [
        created[write.unit.id]
        for write in writes.units
        if write.unit.kind is UnitKind.DOCUMENT_ITEM and write.unit.id in created
    ]
    changed_documents = move_documents(target, {*ended, *items})
    if changed_documents:  # their evidence was judged by the text with the changed items
        judge_corrected(target.connection, target.bank, *changed_documents)
    changed = [*ended, *changed_documents]
    change_facts(target, changed)
    write_observed(target, writes)
    write_opinions(target, writes, now)
    follow_grounds(target, changed)
    return tuple(created)


def write_units(target: CommitTarget, writes: WriteSet) -> dict[str, int]:
    """Insert new units with their vectors, records and sources; return row ids by unit id, in row order."""
    connection, bank, revision = target.connection, target.bank, target.revision
    if not writes.units:
        write_categories(connection, bank, writes.categories)
        return {}
    rows = [_sealed(unit_row(write, bank, revision)) for write in writes.units]
    created: dict[str, int] = dict(
        sorted(map(tuple, connection.execute(_ADD_UNITS, rows)), key=lambda row: int(row[1]))
    )
    new = [(created[write.unit.id], write) for write in writes.units if write.unit.id in created]
    _join_documents(target, [(row, write.unit) for row, write in new if write.unit.part_of])
    run_many(
        connection,
        _ADD_VECTOR,
        [
            {
                "unit": row,
                "bank": bank,
                "revision": revision,
                "vector": write.vector,
                "checksum": vector_checksum(write.vector),
            }
            for row, write in new
            if write.vector
        ],
    )
    named = (*writes.categories, *categories_of(record for _, write in new for record in write.unit.records))
    categories = write_categories(connection, bank, named)
    write_records(connection, bank, ((row, write.unit.records) for row, write in new), categories)
    run_many(
        connection,
        _ADD_SOURCE,
        [
            {"bank": bank, "thread": write.unit.thread, "message": message, "unit": row}
            for row, write in new
            for message in write.unit.sources
        ],
    )
    return created


def _sealed(row: Row) -> Values:
    """Convert a unit's row to values by column, with its checksum."""
    return dict(zip(_UNIT_COLUMNS, (*row, unit_checksum(row[:SEALED])), strict=True))


_UNIT_COLUMNS = (*OWN_COLUMNS, "bank", "created", "changed", "checksum")


def _join_documents(target: CommitTarget, items: Sequence[tuple[int, MemoryUnit]]) -> None:
    """Attach items to their documents, and raise the documents' highest item numbers."""
    if not items:
        return
    heads = unit_rows(
        target.connection, target.bank, sorted({unit.part_of for _, unit in items if unit.part_of})
    )
    of_items = [
        {"of": target.bank, "item": row, "of_document": heads.get(unit.part_of or ""), "highest": unit.number}
        for row, unit in items
    ]
    run_many(target.connection, _SET_HEAD, of_items)
    run_many(target.connection, _RAISE_NUMBER, [item for item in of_items if item["of_document"] is not None])


def _write_sources(target: CommitTarget, writes: WriteSet) -> None:
    """Upsert documents, chunks and message keys."""
    connection, bank = target.connection, target.bank
    run_many(
        connection,
        _PUT_DOCUMENT,
        [
            {
                "bank": bank,
                "id": document.id,
                "content_hash": document.content_hash,
                "context": document.context,
                "mentioned_at": to_micros(document.mentioned_at),
                "metadata": mapping_text(document.metadata),
                "tags": json.dumps(document.tags),
            }
            for document in writes.documents
        ],
    )
    run_many(
        connection,
        _PUT_CHUNK,
        [
            {
                "bank": bank,
                "document": chunk.document_id,
                "ordinal": chunk.ordinal,
                "text": chunk.text,
                "content_hash": chunk.content_hash,
                "position": chunk.position,
            }
            for chunk in writes.chunks
        ],
    )
    run_many(
        connection,
        _PUT_MESSAGE,
        [
            {
                "bank": bank,
                "thread": key.thread,
                "message": key.message_id,
                "content_hash": key.content_hash,
                "revision": target.revision,
            }
            for key in writes.messages
        ],
    )


def write_links(target: CommitTarget, new: Iterable[Link], rows: Mapping[str, int]) -> None:
    """Insert links that do not exist yet; `rows` maps unit ids to row ids."""
    values = [
        {
            "source": rows[link.source],
            "target": rows[link.target],
            "code": link_code(link),
            "weight": link.weight,
            "bank": target.bank,
            "revision": target.revision,
        }
        for link in new
    ]
    run_many(target.connection, _ADD_LINK, values)


def _write_event(target: CommitTarget, event: ValidityEvent, rows: Mapping[str, int]) -> bool:
    """Append an event to its unit's log and update the unit's `closed_at`. Return False if the event was already logged."""
    unit, moment = rows[event.unit_id], to_micros(event.effective_at)
    values = {
        "bank": target.bank,
        "unit": unit,
        "kind": event.kind.value,
        "effective_at": moment,
        "revision": target.revision,
        "by_unit": None if event.by_unit is None else rows[event.by_unit],
        "reason": event.reason,
    }
    if not target.connection.execute(_ADD_EVENT, values).rowcount:
        return False
    if event.kind is ValidityKind.RESTORED:
        target.connection.execute(_REOPEN, {"of": target.bank, "unit": unit, "now": target.revision})
    else:
        closed = {"of": target.bank, "unit": unit, "moment": moment, "now": target.revision}
        target.connection.execute(_CLOSE, closed)
    return True
