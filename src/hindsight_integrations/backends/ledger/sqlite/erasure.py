"""Erasure: rows out of every table they left a trace in, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules.task_payloads import Traces
from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.entity_writing import Target
from hindsight_integrations.backends.ledger.sqlite.erased_turns import erase_turns, reached_turns, waiting_of
from hindsight_integrations.backends.ledger.sqlite.erasure_traces import (
    ErasedNames,
    erase_names,
    erase_traces,
    traces_of,
)
from hindsight_integrations.backends.ledger.sqlite.mental_models import forget_answers
from hindsight_integrations.backends.ledger.sqlite.observation_tasks import observe_changed
from hindsight_integrations.backends.ledger.sqlite.observations import (
    change_facts,
    documents_of,
    entities_to_sum_up,
    move_documents,
    note_changed,
    with_observations,
)
from hindsight_integrations.backends.ledger.sqlite.opinion_erasure import (
    closed_by_log,
    erase_opinions,
    follow_own_grounds,
    with_wordings,
)
from hindsight_integrations.backends.ledger.sqlite.opinions import follow_grounds
from hindsight_integrations.backends.ledger.sqlite.reader import count_memories
from hindsight_integrations.backends.ledger.sqlite.record_categories import erase_unused, touched_categories
from hindsight_integrations.backends.ledger.sqlite.refresh_tasks import enqueue_refreshes
from hindsight_integrations.backends.ledger.sqlite.reinforce_tasks import enqueue_reinforcement
from hindsight_integrations.backends.ledger.sqlite.rows import find_bank
from hindsight_integrations.backends.ledger.sqlite.tasks import take_back
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.identifiers import identifies_any
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.model.whole_names import WholeNames
from hindsight_integrations.ports.ledger import Scrub

BANK_CONTENT = (
    "units",
    "items",
    "turns",
    "record_categories",
    "entities",
    "documents",
    "chunks",
    "message_keys",
    "threads",
    "tasks",
    "entity_changes",
    "opinion_operations",
)
"""Tables emptied by `everything`; those that hang on units and entities follow by foreign key."""


class _Foreseen(Exception):
    """Rolls the transaction of a dry run back, so that not a page of it is written."""


class SqliteErasure:
    """The part of `LedgerMaintenance` that forgets for good."""

    _connections: Connections

    def erase(self, bank: str, erasure: Erasure, *, dry_run: bool = False) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them; see the port."""
        with suppress(_Foreseen), self._connections.writing() as connection:
            before = find_bank(connection, bank).revision
            receipt = _erased(connection, bank, erasure, self._connections.clock.now())
            if receipt.revision > before:
                row = find_bank(connection, bank).id
                observe_changed(self._connections, connection, row, receipt.revision)
                enqueue_refreshes(self._connections, connection, row)
                enqueue_reinforcement(self._connections, connection, row)
            if dry_run:
                raise _Foreseen
        return replace(receipt, revision=before, dry_run=True) if dry_run else replace(receipt, names=())

    def drop_bank(self, bank: str) -> int:
        """Delete the bank's row and everything under it; how many units it held."""
        with self._connections.writing() as connection:
            row = find_bank(connection, bank).id
            units = count_memories(connection, row)
            _erase_all(connection, row)
            connection.execute("DELETE FROM banks WHERE id = ?", (row,))
            connection.execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (row,))
        return units

    def scrub(self) -> Scrub:
        """Rewrite the files so that nothing erased is left in them."""
        return self._connections.scrub()


def _erased(connection: Connection, bank: str, erasure: Erasure, now: datetime) -> ForgetReceipt:
    """Erase within the open transaction; the receipt has names, whatever becomes of them."""
    found = find_bank(connection, bank)
    names = _names(connection, found.id, erasure)
    whole = WholeNames(names, _texts(connection, found.id) if names else ())
    named = {
        *_whole(connection, _chosen(connection, found.id, erasure), whole),
        *_older(connection, found.id, erasure),
        *_telling(connection, found.id, erasure),
    }
    chosen = _with_derived(connection, sorted(named), erasure)
    places = reached_turns(connection, found.id, chosen, erasure, whole)
    documents = documents_of(connection, chosen)  # an erased item was told with its document
    touched = entities_to_sum_up(connection, [*chosen, *documents])
    chosen = sorted({*chosen, *waiting_of(connection, found.id, places)})
    units = _ids_of(connection, chosen, UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM)
    waiting = _ids_of(connection, chosen, UnitKind.TURN)
    before = connection.total_changes
    connection.executemany(
        "INSERT INTO removed (unit, bank, revision) VALUES (?, ?, ?)",
        [(row, found.id, found.revision + 1) for row in chosen],
    )
    answers = forget_answers(connection, [*chosen, *documents])
    restored: list[int] = []
    if erasure.everything:
        gone, counts = _erase_all(connection, found.id)
    else:
        traces = traces_of(connection, chosen, erasure, places, whole)
        target = Target(connection, found.id, found.revision + 1)
        restored = _undo_endings(target, chosen)
        move_documents(target, chosen)
        opinions, revived = erase_opinions(target, chosen, documents)
        gone, counts = _erase_some(connection, found.id, chosen, erasure, traces)
        counts["opinions"] = opinions
        follow_own_grounds(target, revived)
        counts["turns"] = erase_turns(target, places)
        note_changed(target, touched)
        follow_grounds(target, restored)
    counts["turns"] += len(waiting)
    counts["mental_models"] = answers
    if connection.total_changes == before:
        return ForgetReceipt((), (), {}, found.revision)
    take_back(
        connection, found.id, now
    )  # what is worked on may have been read before the erasure, and retell it
    connection.execute("UPDATE banks SET revision = ? WHERE id = ?", (found.revision + 1, found.id))
    connection.execute(
        "INSERT INTO erasures VALUES (?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision",
        (found.id, found.revision + 1),
    )
    connection.execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (found.id,))
    erased = {kind: count for kind, count in {**counts, "units": len(units)}.items() if count}
    return ForgetReceipt(
        tuple(units),
        gone.entities,
        erased,
        found.revision + 1,
        names=gone.names,
        restored=tuple(_ids_of(connection, restored, *UnitKind)),
    )


def _chosen(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units an erasure names."""
    values: dict[str, str | int] = {"bank": bank}
    if erasure.everything:
        query = "bank = :bank"
    elif erasure.unit is not None:
        query, values["unit"] = (
            f"bank = :bank AND unit_id = :unit AND kind <> '{UnitKind.ITEM.value}'",
            erasure.unit,
        )
    elif erasure.document is not None:
        query, values["document"] = "bank = :bank AND document = :document", erasure.document
    elif erasure.entity is not None and erasure.names:
        return _mentioning(connection, bank, erasure.entity, erasure.names)
    elif erasure.entity is not None:
        query = (
            "bank = :bank AND id IN (SELECT unit FROM mentions WHERE entity IN "
            "(SELECT id FROM entities WHERE bank = :bank AND entity_id = :entity))"
        )
        values["entity"] = erasure.entity
    elif erasure.window is not None:
        query = (
            f"bank = :bank AND kind <> '{UnitKind.ITEM.value}' AND ((occurred_start < :end AND occurred_end > :start) "
            "OR (mentioned_at >= :start AND mentioned_at < :end))"
        )
        values |= {"start": to_micros(erasure.window.start), "end": to_micros(erasure.window.end)}
    elif erasure.thread is not None:
        return _made_from(connection, bank, erasure.thread, erasure.message)
    else:
        return []
    rows = connection.execute(f"SELECT id FROM units WHERE {query}", values)
    return sorted(row[0] for row in rows)


def _with_derived(connection: Connection, rows: list[int], erasure: Erasure) -> list[int]:
    """The units, and all that retells them: observations and opinions. Whoever names an opinion means all of it.

    With a document go its items, unless messages or moments are chosen: an item goes with its own. With an item goes what
    retells its document.
    """
    whole = erasure.unit is not None
    if erasure.thread is None and erasure.window is None and erasure.before is None:
        rows = _with_items(connection, rows)
    documents = documents_of(connection, rows)
    while True:
        derived = with_observations(connection, [*rows, *documents])
        derived = sorted({*with_wordings(connection, derived, whole=whole)} - {*documents})
        if len(derived) == len(rows):
            return derived
        rows, whole = derived, False


def _older(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units that were mentioned before a moment, all or those with one of the tags."""
    if erasure.before is None:
        return []
    rows = connection.execute(
        "SELECT id, tags FROM units WHERE bank = ? AND kind <> ? AND mentioned_at < ?",
        (bank, UnitKind.ITEM, to_micros(erasure.before)),
    )
    wanted = set(erasure.tags)
    return [row for row, tags in rows if not wanted or wanted & set(json.loads(tags))]


def _texts(connection: Connection, bank: int) -> Iterator[str]:
    """The texts of a bank's memories."""
    return (text for (text,) in connection.execute("SELECT text FROM units WHERE bank = ?", (bank,)))


def _whole(connection: Connection, rows: list[int], whole: WholeNames) -> list[int]:
    """The units without those in which the names erased stand inside longer names alone: Apollo 2 does not go with Apollo."""
    if not whole:
        return rows
    found = connection.execute(
        "SELECT units.id, text FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value",
        (json.dumps(rows),),
    )
    return [row for row, text in found if not whole.only_inside_longer(text)]


def _telling(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units given by id, and of those in whose text, context or metadata an identifier or a name stands."""
    given = json.dumps(erasure.units)
    chosen = connection.execute(
        "SELECT id FROM units WHERE bank = ? AND unit_id IN (SELECT value FROM json_each(?)) AND kind <> ?",
        (bank, given, UnitKind.ITEM),
    ).fetchall()
    if erasure.identifiers or erasure.told:
        told = WholeNames(erasure.told, _texts(connection, bank) if erasure.told else ())
        texts = connection.execute(
            "SELECT id, text || ' ' || context || ' ' || metadata FROM units WHERE bank = ? AND kind <> ?",
            (bank, UnitKind.ITEM),
        )
        chosen += [
            (row,) for row, text in texts if told.stand_in(text) or identifies_any(text, erasure.identifiers)
        ]
    return sorted({row for (row,) in chosen})


def _made_from(connection: Connection, bank: int, thread: str, message: str | None) -> list[int]:
    """Row ids of the units made from a conversation, or from one message of it."""
    # A document may have been retained under the thread; it has a selector of its own.
    query, values = "SELECT id FROM units WHERE bank = ? AND thread = ? AND document IS NULL", [bank, thread]
    if message is not None:
        query = "SELECT unit FROM unit_sources WHERE bank = ? AND thread = ? AND message = ?"
        values.append(message)
    return sorted(row for (row,) in connection.execute(query, values))


def _mentioning(connection: Connection, bank: int, entity: str, names: Collection[str]) -> list[int]:
    """Row ids of the units that mention an entity under one of these normalised names."""
    rows = connection.execute(
        "SELECT unit, mentions.text FROM entities JOIN mentions ON entity = entities.id "
        "WHERE entities.bank = ? AND entity_id = ? ORDER BY unit",
        (bank, entity),
    )
    return [unit for unit, text in rows if normalise_name(text) in names]


def _with_items(connection: Connection, rows: list[int]) -> list[int]:
    """The units and the items of those that are documents."""
    items = connection.execute(
        "SELECT units.id FROM json_each(?) AS given CROSS JOIN units ON head = given.value",
        (json.dumps(rows),),
    )
    return sorted({*rows, *(row for (row,) in items)})


def _undo_endings(target: Target, rows: list[int]) -> list[int]:
    """Make valid again what these units ended and nothing else did, while they are still there; row ids, ascending.

    It was never said, so the log does not keep it. Wordings of opinions follow rules of their own (`opinion_erasure`).
    Items whose document goes become memories by themselves.
    """
    connection, given = target.connection, json.dumps(rows)
    connection.execute(
        "UPDATE units SET kind = ?, head = NULL, number = 0, changed = ? WHERE head IN (SELECT value FROM json_each(?))",
        (UnitKind.MEMORY, target.revision, given),
    )
    ended = connection.execute(
        "SELECT DISTINCT units.id, closed_at FROM json_each(:rows) AS given "
        "CROSS JOIN validity_events AS event ON by_unit = given.value JOIN units ON units.id = event.unit "
        "WHERE event.kind = :closed AND units.fact_type <> :opinion "
        "AND units.id NOT IN (SELECT value FROM json_each(:rows)) ORDER BY units.id",
        {"rows": given, "closed": ValidityKind.CLOSED.value, "opinion": FactType.OPINION.value},
    ).fetchall()
    connection.executemany(
        "DELETE FROM validity_events WHERE unit = ? AND kind = ? AND by_unit IN (SELECT value FROM json_each(?))",
        [(row, ValidityKind.CLOSED.value, given) for row, _ in ended],
    )
    after = [(row, closed_at, closed_by_log(connection, row)) for row, closed_at in ended]
    changed = [(closed, target.revision, row) for row, closed_at, closed in after if closed != closed_at]
    connection.executemany("UPDATE units SET closed_at = ?, changed = ? WHERE id = ?", changed)
    documents = move_documents(target, [row for row, _ in ended])
    change_facts(target, {*(row for _, _, row in changed), *documents})
    return [row for closed, _, row in changed if closed is None]


def _ids_of(connection: Connection, rows: list[int], *kinds: UnitKind) -> list[str]:
    """Unit ids of those of these kinds."""
    found = connection.execute(
        "SELECT unit_id FROM json_each(?) AS given JOIN units ON units.id = given.value "
        "WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY units.id",
        (json.dumps(rows), json.dumps(kinds)),
    )
    return [row[0] for row in found]


def _names(connection: Connection, bank: int, erasure: Erasure) -> frozenset[str]:
    """Normalised names of the entity to be erased, or those of them that are meant; none if none is."""
    if erasure.names:
        return frozenset({*erasure.names, *erasure.told})
    query = "SELECT names FROM entities WHERE bank = ? AND entity_id = ?"
    found = connection.execute(query, (bank, erasure.entity)).fetchone()
    return frozenset({*(json.loads(found[0]) if found else ()), *erasure.told})


def _erase_some(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> tuple[ErasedNames, dict[str, int]]:
    """Traces and names first, while the units still tell what they were; then the units."""
    counts = erase_traces(connection, bank, rows, erasure, traces)
    gone = erase_names(connection, bank, rows, erasure)
    touched = touched_categories(connection, json.dumps(rows))
    for table in ("vectors", "records", "links", "mentions", "validity_events", "evidence"):
        counts[table] = _count(connection, table, rows)
    connection.executemany("DELETE FROM units WHERE id = ?", [(row,) for row in rows])
    counts["categories"] = erase_unused(connection, touched)
    return gone, {**counts, "entities": len(gone.entities), "names": gone.lost}


def _count(connection: Connection, table: str, rows: list[int]) -> int:
    """How many rows of a table go with these units."""
    given = "(SELECT value FROM json_each(:rows))"
    columns = {
        "links": f"source IN {given} OR target IN {given}",
        "evidence": f"opinion IN {given} OR fact IN {given} OR version IN {given}",
    }
    where = columns.get(table, f"unit IN {given}")
    (found,) = connection.execute(
        f"SELECT count(*) FROM {table} WHERE {where}", {"rows": json.dumps(rows)}
    ).fetchone()
    return int(found)


def _erase_all(connection: Connection, bank: int) -> tuple[ErasedNames, dict[str, int]]:
    query = "SELECT entity_id, names FROM entities WHERE bank = ? ORDER BY id"
    entities = connection.execute(query, (bank,)).fetchall()
    names = {name for _, known in entities for name in json.loads(known)}
    counts = {
        table: connection.execute(f"DELETE FROM {table} WHERE bank = ?", (bank,)).rowcount
        for table in BANK_CONTENT
    }
    return ErasedNames(tuple(row[0] for row in entities), tuple(sorted(names)), 0), counts
