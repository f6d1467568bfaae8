"""Erasure: rows out of every table they left a trace in, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.mental_models import enqueue_refreshes, forget_answers
from hindsight_integrations.ledger.observations import (
    change_facts,
    documents_of,
    entities_to_sum_up,
    move_documents,
    note_changed,
    observe_changed,
    with_observations,
)
from hindsight_integrations.ledger.opinions import (
    closed_by_log,
    enqueue_reinforcement,
    erase_opinions,
    follow_grounds,
    follow_own_grounds,
    with_wordings,
)
from hindsight_integrations.ledger.records import erase_unused, touched_categories
from hindsight_integrations.ledger.rows import NOT_OBSERVED, Target, find_bank
from hindsight_integrations.ledger.rules import blocks
from hindsight_integrations.ledger.sql import changes, raw
from hindsight_integrations.ledger.tasks import take_back
from hindsight_integrations.ledger.units import count_memories
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.identifiers import identifies_any
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.model.whole_names import WholeNames
from hindsight_integrations.model.writes import Place
from hindsight_integrations.ports.ledger import Json, Scrub


@dataclass(frozen=True, slots=True)
class Traces:
    """By what a payload is recognised.

    Attributes:
        words: unit ids and texts of forgotten units, and ids of forgotten documents: a payload with one goes.
        messages: (thread, message id) of forgotten messages: these leave a payload.
        window: messages sent in it leave a payload.
        thread: so do all messages of this conversation.
        names: and those in which one of these names stands.
        identifiers: or one of these identifiers, however it is written.
    """

    words: frozenset[str]
    messages: frozenset[tuple[str, str]]
    window: Interval | None = None
    thread: str | None = None
    names: WholeNames = field(default_factory=lambda: WholeNames(()))
    identifiers: tuple[str, ...] = ()


def without(payload: str, traces: Traces) -> str | None:
    """The payload without what is forgotten; None if nothing worth doing is left of it, or it holds it still."""
    try:
        value: Json = json.loads(payload)
    except ValueError:
        return payload
    thread = str(value.get("thread", "")) if isinstance(value, dict) else ""
    if _forgotten(value, thread, traces):
        return None
    kept = _cleaned(value, thread, traces)
    if isinstance(value, dict) and isinstance(kept, dict) and value.get("messages") and not kept["messages"]:
        return None
    if any(word and word in text for text in _task_payloads_texts(kept) for word in traces.words):
        return None
    return payload if kept == value else json.dumps(kept, ensure_ascii=False)


def _cleaned(value: Json, thread: str, traces: Traces) -> Json:
    if isinstance(value, list):
        return [_cleaned(each, thread, traces) for each in value if not _forgotten(each, thread, traces)]
    if isinstance(value, dict):
        return {name: _cleaned(each, thread, traces) for name, each in value.items()}
    return value


def _forgotten(value: Json, thread: str, traces: Traces) -> bool:
    """Whether this is a message that goes, or a payload that is one text said in one or more messages."""
    if not isinstance(value, dict) or "text" not in value:
        return False
    said = f"{value.get('speaker')}: {value['text']}"
    if traces.thread == thread or traces.names.stand_in(said) or identifies_any(said, traces.identifiers):
        return True
    sent = value.get("timestamp", value.get("said_at"))
    inside = traces.window is not None and isinstance(sent, str) and _within(sent, traces.window)
    sources = value.get("sources", [value.get("id")])
    said_in = [each for each in sources if isinstance(each, str)] if isinstance(sources, list) else []
    return inside or any((thread, message) in traces.messages for message in said_in)


def _within(sent: str, window: Interval) -> bool:
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError:
        return False
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return window.start <= aware < window.end


def _task_payloads_texts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _task_payloads_texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _task_payloads_texts(each)


@dataclass(frozen=True, slots=True)
class KeptNames:
    """What is left of an entity's names.

    Attributes:
        name: its canonical name, replaced by one still in use where only forgotten units used it.
        names: its normalised names, in order; never empty.
        dropped: normalised names that nothing but forgotten units used.
    """

    name: str
    names: tuple[str, ...]
    dropped: frozenset[str]


def kept_names(
    name: str, names: Sequence[str], forgotten: Collection[str], remaining: Sequence[str]
) -> KeptNames:
    """The names an entity keeps.

    Args:
        name: its canonical name.
        names: its normalised names, in order.
        forgotten: texts of its mentions in the units that go.
        remaining: texts of its other mentions, at least one, the latest last.
    """
    dropped = frozenset(map(normalise_name, forgotten)) - frozenset(map(normalise_name, remaining))
    spare = remaining[-1]
    kept = tuple(each for each in names if each not in dropped) or (normalise_name(spare),)
    return KeptNames(spare if normalise_name(name) in dropped else name, kept, dropped)


EARLIEST = datetime.min.replace(tzinfo=UTC)


def erase_traces(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> dict[str, int]:
    """Erase them for these units (and a whole document, if one is named); rows erased per kind."""
    given, document = json.dumps(rows), erasure.document
    counts = {"chunks": _erase_chunks(connection, bank, given, document)}
    counts["documents"] = _erase_documents(connection, bank, given, document)
    counts["tasks"] = _erase_tasks(connection, bank, traces)
    # OR REPLACE: two statements that differ by author and reason alone become one event.
    counts["reasons"] = (
        raw(connection)
        .execute(
            "UPDATE OR REPLACE validity_events SET by_unit = NULL, reason = '' "
            "WHERE by_unit IN (SELECT value FROM json_each(?))",
            (given,),
        )
        .rowcount
    )
    return counts


def _erase_chunks(connection: Connection, bank: int, given: str, document: str | None) -> int:
    """The passages the units came from. Their hash stays, so that the same passage is not extracted again."""
    named = (
        raw(connection)
        .execute("DELETE FROM chunks WHERE bank = ? AND document = ?", (bank, document))
        .rowcount
    )
    emptied = (
        raw(connection)
        .execute(
            "UPDATE chunks SET text = '' WHERE bank = ? AND (document, ordinal) IN "
            "(SELECT document, chunk FROM units WHERE id IN (SELECT value FROM json_each(?)))",
            (bank, given),
        )
        .rowcount
    )
    return named + emptied


def _erase_documents(connection: Connection, bank: int, given: str, document: str | None) -> int:
    """The document named; of those whose last unit goes, what the caller gave with them."""
    named = (
        raw(connection).execute("DELETE FROM documents WHERE bank = ? AND id = ?", (bank, document)).rowcount
    )
    emptied = (
        raw(connection)
        .execute(
            "UPDATE documents SET context = '', metadata = '{}', tags = '[]' WHERE bank = :bank AND id IN "
            "(SELECT document FROM units WHERE id IN (SELECT value FROM json_each(:given))) AND NOT EXISTS "
            "(SELECT 1 FROM units WHERE units.bank = :bank AND units.document = documents.id "
            "AND units.id NOT IN (SELECT value FROM json_each(:given)))",
            {"bank": bank, "given": given},
        )
        .rowcount
    )
    return named + emptied


def _erase_tasks(connection: Connection, bank: int, traces: Traces) -> int:
    """What waiting tasks carry of what is forgotten; how many tasks that changed or ended."""
    tasks = (
        raw(connection)
        .execute("SELECT id, payload FROM tasks WHERE bank = ? AND payload NOT IN ('', '{}')", (bank,))
        .fetchall()
    )
    after = [(task, payload, without(payload, traces)) for task, payload in tasks]
    changed = [(kept, task) for task, payload, kept in after if kept != payload]
    # What a task failed with may quote what it was about.
    raw(connection).executemany(
        "UPDATE tasks SET payload = ?, last_error = '' WHERE id = ?", [pair for pair in changed if pair[0]]
    )
    raw(connection).executemany(
        "DELETE FROM tasks WHERE id = ?", [(task,) for kept, task in changed if not kept]
    )
    return len(changed)


def traces_of(
    connection: Connection, rows: list[int], erasure: Erasure, messages: set[Place], names: WholeNames
) -> Traces:
    """By what waiting tasks are known that carry these units, messages or names."""
    found = raw(connection).execute(
        "SELECT unit_id, text FROM units WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(rows),)
    )
    words = {word for pair in found for word in pair} | {erasure.document or ""}
    thread = erasure.thread if erasure.message is None else None
    window = erasure.window
    if erasure.before is not None and not erasure.tags:
        window = Interval(EARLIEST, erasure.before)
    return Traces(frozenset(words), frozenset(messages), window, thread, names, erasure.identifiers)


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """What an erasure took away of who is who.

    Attributes:
        entities: ids of the entities erased.
        names: normalised names that went, of entities erased and of those that stay, sorted.
        lost: how many names the entities that stay lost.
    """

    entities: tuple[str, ...]
    names: tuple[str, ...]
    lost: int


def erase_names(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> ErasedNames:
    """Erase what only these units knew of entities, while they are still there.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        erasure: names the entity, or some of its names, that go in any case.
    """
    erased = set(rows)
    orphans: dict[int, str] = {}
    names: set[str] = set()
    forgotten: set[str] = set()
    lost = 0
    for entity, entity_id, known, mentions in _touched(connection, bank, rows, erasure.entity):
        left = [text for unit, text in mentions if unit not in erased]
        named = entity_id == erasure.entity
        if not left or (named and not erasure.names):
            orphans[entity] = entity_id
            names |= set(known)
            forgotten.add(entity_id)
            continue
        going = [text for unit, text in mentions if unit in erased]
        dropped, fewer = _drop_names(connection, entity, [*going, *(erasure.names if named else ())], left)
        names |= dropped
        forgotten |= dropped
        lost += fewer
        _recount(connection, entity, erased)
    _drop_audit(connection, bank, forgotten)
    raw(connection).executemany("DELETE FROM entities WHERE id = ?", [(entity,) for entity in orphans])
    raw(connection).executemany(
        "DELETE FROM tasks WHERE bank = ? AND kind = ? AND key = ? AND key <> ''",
        [(bank, TaskKind.OBSERVE, entity_id) for entity_id in orphans.values()],
    )
    return ErasedNames(tuple(orphans.values()), tuple(sorted(names)), lost)


def _touched(
    connection: Connection, bank: int, rows: list[int], named: str | None
) -> list[tuple[int, str, list[str], list[tuple[int, str]]]]:
    """(row, id, names, mentions as (unit, text)) of the entities these units mention, and of the one named."""
    entities = (
        raw(connection)
        .execute(
            "SELECT id, entity_id, names FROM entities WHERE id IN (SELECT entity FROM mentions "
            "WHERE unit IN (SELECT value FROM json_each(?))) OR (bank = ? AND entity_id = ?) ORDER BY id",
            (json.dumps(rows), bank, named),
        )
        .fetchall()
    )
    query = "SELECT unit, text FROM mentions WHERE entity = ? ORDER BY unit"
    return [
        (row, key, json.loads(names), raw(connection).execute(query, (row,)).fetchall())
        for row, key, names in entities
    ]


def _drop_names(
    connection: Connection, entity: int, erased: list[str], left: list[str]
) -> tuple[frozenset[str], int]:
    """Take away the names nothing else uses: the names that go, and how many of them the entity had."""
    name, known = (
        raw(connection).execute("SELECT name, names FROM entities WHERE id = ?", (entity,)).fetchone()
    )
    names = json.loads(known)
    kept = kept_names(name, names, erased, left)
    if list(kept.names) == names:
        return kept.dropped, 0
    raw(connection).execute(
        "UPDATE entities SET name = ?, names = ? WHERE id = ?", (kept.name, json.dumps(kept.names), entity)
    )
    raw(connection).executemany(
        "DELETE FROM entity_names WHERE entity = ? AND name = ?", [(entity, each) for each in kept.dropped]
    )
    stale = {key for each in kept.dropped for key in blocks(each)}
    stale -= {key for each in kept.names for key in blocks(each)}
    raw(connection).executemany(
        "DELETE FROM entity_blocks WHERE entity = ? AND block = ?", [(entity, key) for key in sorted(stale)]
    )
    return kept.dropped, len(names) - len([each for each in names if each in kept.names])


def _recount(connection: Connection, entity: int, erased: set[int]) -> None:
    """How often and when last the units that stay mention the entity."""
    raw(connection).execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        f"JOIN units ON units.id = unit WHERE entity = :entity AND {NOT_OBSERVED} AND unit NOT IN (SELECT value FROM json_each(:erased))) "
        "WHERE id = :entity",
        {"entity": entity, "erased": json.dumps(sorted(erased))},
    )


def _drop_audit(connection: Connection, bank: int, forgotten: set[str]) -> None:
    """Audit entries that name what is forgotten: they would keep the name alive, and can no longer be undone."""
    rows = raw(connection).execute("SELECT id, detail FROM entity_changes WHERE bank = ?", (bank,)).fetchall()
    stale = [
        (change,) for change, detail in rows if any(json.dumps(word) in detail for word in sorted(forgotten))
    ]
    raw(connection).executemany("DELETE FROM entity_changes WHERE id = ?", stale)


def reached_turns(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, names: WholeNames
) -> set[Place]:
    """The messages whose text goes: those the units were made from, and those the erasure names.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        erasure: what is to be erased.
        names: of the entity to be erased, if it names one.
    """
    found = (
        raw(connection)
        .execute(
            "SELECT thread, message FROM json_each(?) AS given CROSS JOIN unit_sources ON unit = given.value",
            (json.dumps(rows),),
        )
        .fetchall()
    )
    if erasure.message is not None:
        found.append((erasure.thread or "", erasure.message))
    elif erasure.thread is not None:
        query = "SELECT thread, message FROM message_keys WHERE bank = ? AND thread = ?"
        found += raw(connection).execute(query, (bank, erasure.thread)).fetchall()
    if erasure.before is not None:
        found += _said_before(connection, bank, erasure)
    if erasure.window is not None:
        span = to_micros(erasure.window.start), to_micros(erasure.window.end)
        query = "SELECT thread, message FROM turns WHERE bank = ? AND unit IS NULL AND said_at >= ? AND said_at < ?"
        found += raw(connection).execute(query, (bank, *span)).fetchall()
    return set(found) | _naming(connection, bank, names, erasure.identifiers)


def waiting_of(connection: Connection, bank: int, places: set[Place]) -> list[int]:
    """Row ids of the turns of these messages that wait for extraction."""
    rows = raw(connection).execute(
        "SELECT units.id FROM json_each(?) AS given CROSS JOIN unit_sources AS source "
        "ON source.thread = json_extract(given.value, '$[0]') AND message = json_extract(given.value, '$[1]') "
        "JOIN units ON units.id = source.unit WHERE source.bank = ? AND kind = ? ORDER BY units.id",
        (json.dumps(sorted(places)), bank, UnitKind.TURN),
    )
    return [row for (row,) in rows]


def erase_turns(target: Target, places: set[Place]) -> int:
    """Erase the texts of these messages; how many were kept, beside those that are units.

    Memories made from them that stay are to be indexed again, without their words.
    """
    connection, bank = target.connection, target.bank
    raw(connection).executemany(
        "INSERT INTO retold SELECT unit, bank, ? FROM unit_sources WHERE bank = ? AND thread = ? AND message = ? "
        "ON CONFLICT DO UPDATE SET revision = excluded.revision",
        [(target.revision, bank, *place) for place in places],
    )
    raw(connection).executemany(
        "DELETE FROM turns WHERE bank = ? AND thread = ? AND message = ? AND unit IS NOT NULL",
        [(bank, *place) for place in places],
    )
    return (
        raw(connection)
        .executemany(
            "DELETE FROM turns WHERE bank = ? AND thread = ? AND message = ?",
            [(bank, *place) for place in places],
        )
        .rowcount
    )


def _said_before(connection: Connection, bank: int, erasure: Erasure) -> list[Place]:
    """The messages kept as text that were said before a moment, all or those with one of the tags."""
    rows = raw(connection).execute(
        "SELECT thread, message, tags FROM turns WHERE bank = ? AND unit IS NULL AND said_at < ?",
        (bank, to_micros(erasure.before)) if erasure.before else (),
    )
    wanted = set(erasure.tags)
    return [
        (thread, message) for thread, message, tags in rows if not wanted or wanted & set(json.loads(tags))
    ]


def _naming(connection: Connection, bank: int, names: WholeNames, identifiers: Collection[str]) -> set[Place]:
    """The messages kept as text, or waiting, in which a name stands as whole words, or whose speaker bears it, or an identifier."""
    if not names and not identifiers:
        return set()

    def is_meant(text: str) -> bool:
        return names.stand_in(text) or identifies_any(text, identifiers)

    kept = raw(connection).execute(
        "SELECT thread, message, speaker || ': ' || text FROM turns WHERE bank = ? AND unit IS NULL", (bank,)
    )
    found = {(thread, message) for thread, message, text in kept if is_meant(text)}
    waiting = raw(connection).execute(
        "SELECT source.thread, message, text FROM units JOIN unit_sources AS source ON unit = units.id "
        "WHERE units.bank = ? AND kind = ?",
        (bank, UnitKind.TURN),
    )
    return found | {(thread, message) for thread, message, text in waiting if is_meant(text)}


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

    _database: SqliteDatabase

    def erase(self, bank: str, erasure: Erasure, *, dry_run: bool = False) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them; see the port."""
        with suppress(_Foreseen), self._database.writing() as connection:
            before = find_bank(connection, bank).revision
            receipt = _erased(connection, bank, erasure, self._database.clock.now())
            if receipt.revision > before:
                row = find_bank(connection, bank).id
                observe_changed(self._database, connection, row, receipt.revision)
                enqueue_refreshes(self._database, connection, row)
                enqueue_reinforcement(self._database, connection, row)
            if dry_run:
                raise _Foreseen
        return replace(receipt, revision=before, dry_run=True) if dry_run else replace(receipt, names=())

    def drop_bank(self, bank: str) -> int:
        """Delete the bank's row and everything under it; how many units it held."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank).id
            units = count_memories(connection, row)
            _erase_all(connection, row)
            raw(connection).execute("DELETE FROM banks WHERE id = ?", (row,))
            raw(connection).execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (row,))
        return units

    def scrub(self) -> Scrub:
        """Rewrite the files so that nothing erased is left in them."""
        return self._database.scrub()


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
    before = changes(connection)
    raw(connection).executemany(
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
    if changes(connection) == before:
        return ForgetReceipt((), (), {}, found.revision)
    take_back(
        connection, found.id, now
    )  # what is worked on may have been read before the erasure, and retell it
    raw(connection).execute("UPDATE banks SET revision = ? WHERE id = ?", (found.revision + 1, found.id))
    raw(connection).execute(
        "INSERT INTO erasures VALUES (?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision",
        (found.id, found.revision + 1),
    )
    raw(connection).execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (found.id,))
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
    rows = raw(connection).execute(f"SELECT id FROM units WHERE {query}", values)
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
    rows = raw(connection).execute(
        "SELECT id, tags FROM units WHERE bank = ? AND kind <> ? AND mentioned_at < ?",
        (bank, UnitKind.ITEM, to_micros(erasure.before)),
    )
    wanted = set(erasure.tags)
    return [row for row, tags in rows if not wanted or wanted & set(json.loads(tags))]


def _texts(connection: Connection, bank: int) -> Iterator[str]:
    """The texts of a bank's memories."""
    return (text for (text,) in raw(connection).execute("SELECT text FROM units WHERE bank = ?", (bank,)))


def _whole(connection: Connection, rows: list[int], whole: WholeNames) -> list[int]:
    """The units without those in which the names erased stand inside longer names alone: Apollo 2 does not go with Apollo."""
    if not whole:
        return rows
    found = raw(connection).execute(
        "SELECT units.id, text FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value",
        (json.dumps(rows),),
    )
    return [row for row, text in found if not whole.only_inside_longer(text)]


def _telling(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units given by id, and of those in whose text, context or metadata an identifier or a name stands."""
    given = json.dumps(erasure.units)
    chosen = (
        raw(connection)
        .execute(
            "SELECT id FROM units WHERE bank = ? AND unit_id IN (SELECT value FROM json_each(?)) AND kind <> ?",
            (bank, given, UnitKind.ITEM),
        )
        .fetchall()
    )
    if erasure.identifiers or erasure.told:
        told = WholeNames(erasure.told, _texts(connection, bank) if erasure.told else ())
        texts = raw(connection).execute(
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
    return sorted(row for (row,) in raw(connection).execute(query, values))


def _mentioning(connection: Connection, bank: int, entity: str, names: Collection[str]) -> list[int]:
    """Row ids of the units that mention an entity under one of these normalised names."""
    rows = raw(connection).execute(
        "SELECT unit, mentions.text FROM entities JOIN mentions ON entity = entities.id "
        "WHERE entities.bank = ? AND entity_id = ? ORDER BY unit",
        (bank, entity),
    )
    return [unit for unit, text in rows if normalise_name(text) in names]


def _with_items(connection: Connection, rows: list[int]) -> list[int]:
    """The units and the items of those that are documents."""
    items = raw(connection).execute(
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
    raw(connection).execute(
        "UPDATE units SET kind = ?, head = NULL, number = 0, changed = ? WHERE head IN (SELECT value FROM json_each(?))",
        (UnitKind.MEMORY, target.revision, given),
    )
    ended = (
        raw(connection)
        .execute(
            "SELECT DISTINCT units.id, closed_at FROM json_each(:rows) AS given "
            "CROSS JOIN validity_events AS event ON by_unit = given.value JOIN units ON units.id = event.unit "
            "WHERE event.kind = :closed AND units.fact_type <> :opinion "
            "AND units.id NOT IN (SELECT value FROM json_each(:rows)) ORDER BY units.id",
            {"rows": given, "closed": ValidityKind.CLOSED.value, "opinion": FactType.OPINION.value},
        )
        .fetchall()
    )
    raw(connection).executemany(
        "DELETE FROM validity_events WHERE unit = ? AND kind = ? AND by_unit IN (SELECT value FROM json_each(?))",
        [(row, ValidityKind.CLOSED.value, given) for row, _ in ended],
    )
    after = [(row, closed_at, closed_by_log(connection, row)) for row, closed_at in ended]
    changed = [(closed, target.revision, row) for row, closed_at, closed in after if closed != closed_at]
    raw(connection).executemany("UPDATE units SET closed_at = ?, changed = ? WHERE id = ?", changed)
    documents = move_documents(target, [row for row, _ in ended])
    change_facts(target, {*(row for _, _, row in changed), *documents})
    return [row for closed, _, row in changed if closed is None]


def _ids_of(connection: Connection, rows: list[int], *kinds: UnitKind) -> list[str]:
    """Unit ids of those of these kinds."""
    found = raw(connection).execute(
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
    found = raw(connection).execute(query, (bank, erasure.entity)).fetchone()
    return frozenset({*(json.loads(found[0]) if found else ()), *erasure.told})


def _erase_some(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> tuple[ErasedNames, dict[str, int]]:
    """Traces and names first, while the units still tell what they were; then the units."""
    counts = erase_traces(connection, bank, rows, erasure, traces)
    gone = erase_names(connection, bank, rows, erasure)
    touched = touched_categories(connection, rows)
    for table in ("vectors", "records", "links", "mentions", "validity_events", "evidence"):
        counts[table] = _count(connection, table, rows)
    raw(connection).executemany("DELETE FROM units WHERE id = ?", [(row,) for row in rows])
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
    (found,) = (
        raw(connection)
        .execute(f"SELECT count(*) FROM {table} WHERE {where}", {"rows": json.dumps(rows)})
        .fetchone()
    )
    return int(found)


def _erase_all(connection: Connection, bank: int) -> tuple[ErasedNames, dict[str, int]]:
    query = "SELECT entity_id, names FROM entities WHERE bank = ? ORDER BY id"
    entities = raw(connection).execute(query, (bank,)).fetchall()
    names = {name for _, known in entities for name in json.loads(known)}
    counts = {
        table: raw(connection).execute(f"DELETE FROM {table} WHERE bank = ?", (bank,)).rowcount
        for table in BANK_CONTENT
    }
    return ErasedNames(tuple(row[0] for row in entities), tuple(sorted(names)), 0), counts
