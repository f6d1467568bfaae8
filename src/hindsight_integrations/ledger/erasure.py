"""Erasure: rows out of every table they left a trace in, in one transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain

from sqlalchemy import (
    Column,
    Connection,
    Delete,
    Table,
    Update,
    and_,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    update,
)

from hindsight_integrations.ledger.checksums import closing
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import advance
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
from hindsight_integrations.ledger.rows import BankRow, CommitTarget, find_bank
from hindsight_integrations.ledger.rules import blocks
from hindsight_integrations.ledger.sql import Values, among, insert, run_many
from hindsight_integrations.ledger.tables import (
    Int,
    banks,
    chunks,
    documents,
    entities,
    entity_blocks,
    entity_changes,
    entity_names,
    erasures,
    evidence,
    links,
    mentions,
    message_keys,
    metadata,
    records,
    removed,
    retold,
    tasks,
    turns,
    unit_sources,
    units,
    unscrubbed,
    validity_events,
    vectors,
)
from hindsight_integrations.ledger.tasks import Schedule, take_back
from hindsight_integrations.ledger.units import count_memories
from hindsight_integrations.ledger.values import Json, Scrub
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt, WholeNames, identifies_any
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.model.writes import Place


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

_BY_ROW_IDS = {
    table.name: delete(table).where(among(table.c.id, "ids"))
    for table in (units, entities, entity_changes, tasks, validity_events)
}


def _delete(connection: Connection, table: Table, ids: Collection[int]) -> None:
    if ids:
        connection.execute(_BY_ROW_IDS[table.name], {"ids": ids})


def erase_traces(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> dict[str, int]:
    """Erase them for these units (and a whole document, if one is named); rows erased per kind."""
    return {
        "chunks": _erase_texts(connection, _CHUNKS, bank, rows, erasure.document),
        "documents": _erase_texts(connection, _DOCUMENTS, bank, rows, erasure.document),
        "tasks": _erase_tasks(connection, bank, traces),
        "reasons": _erase_reasons(connection, rows),
    }


# The hash of a passage stays, so that the same passage is not extracted again.
_CHUNKS = (
    delete(chunks).where(chunks.c.bank == bindparam("bank"), chunks.c.document == bindparam("document")),
    update(chunks)
    .where(
        chunks.c.bank == bindparam("of"),
        chunks.c.document == units.c.document,
        chunks.c.ordinal == units.c.chunk,
        among(units.c.id, "rows"),
    )
    .values(text=""),
)
_STAYING = select(units.c.id).where(
    units.c.bank == bindparam("of"), units.c.document == documents.c.id, ~among(units.c.id, "rows")
)
_DOCUMENTS = (
    delete(documents).where(documents.c.bank == bindparam("bank"), documents.c.id == bindparam("document")),
    update(documents)
    .where(
        documents.c.bank == bindparam("of"),
        documents.c.id.in_(select(units.c.document).where(among(units.c.id, "rows"))),
        ~_STAYING.exists(),
    )
    .values(context="", metadata="{}", tags="[]"),
)
"""Delete the document named, or its passages; of others, empty the passages the units came from, and what the caller gave
with the documents whose last unit goes."""


def _erase_texts(
    connection: Connection,
    statements: tuple[Delete, Update],
    bank: int,
    rows: list[int],
    document: str | None,
) -> int:
    """Execute _CHUNKS or _DOCUMENTS for a document and units; how many rows that changed."""
    delete_named, empty = statements
    count = 0
    if document is not None:
        count = connection.execute(delete_named, {"bank": bank, "document": document}).rowcount
    if rows:
        count += connection.execute(empty, {"of": bank, "rows": rows}).rowcount
    return count


_PAYLOADS = select(tasks.c.id, tasks.c.payload).where(
    tasks.c.bank == bindparam("bank"), tasks.c.payload != "", tasks.c.payload != "{}"
)
# What a task failed with may quote what it was about.
_REPLACE_PAYLOAD = (
    update(tasks).where(tasks.c.id == bindparam("task")).values(payload=bindparam("kept"), last_error="")
)


def _erase_tasks(connection: Connection, bank: int, traces: Traces) -> int:
    """What waiting tasks carry of what is forgotten; how many tasks that changed or ended."""
    waiting = connection.execute(_PAYLOADS, {"bank": bank}).all()
    after = [(task, payload, without(payload, traces)) for task, payload in waiting]
    changed = [{"task": task, "kept": kept} for task, payload, kept in after if kept != payload]
    run_many(connection, _REPLACE_PAYLOAD, [row for row in changed if row["kept"]])
    _delete(connection, tasks, [row["task"] for row in changed if not row["kept"]])
    return len(changed)


_EVENT = select(
    validity_events.c.id, validity_events.c.unit, validity_events.c.kind, validity_events.c.effective_at
)
_BY_UNITS = _EVENT.where(among(validity_events.c.by_unit, "rows"))
_BY_NOBODY = _EVENT.where(
    among(validity_events.c.unit, "units"),
    validity_events.c.by_unit.is_(None),
    validity_events.c.reason == "",
)
_BLANK_EVENTS = (
    update(validity_events).where(among(validity_events.c.id, "events")).values(by_unit=None, reason="")
)


def _erase_reasons(connection: Connection, rows: list[int]) -> int:
    """The author and reason of events that these units caused; how many events that concerned.

    Events that differ in author and reason alone become one, the newest: the order of a unit's log decides its state.
    """
    events = connection.execute(_BY_UNITS, {"rows": rows}).all() if rows else []
    if not events:
        return 0
    others = connection.execute(_BY_NOBODY, {"units": [event.unit for event in events]}).all()
    logged = sorted((*events, *others))
    newest = {*{tuple(key): event for event, *key in logged}.values()}
    _delete(connection, validity_events, [event.id for event in logged if event.id not in newest])
    connection.execute(_BLANK_EVENTS, {"events": [event.id for event in events if event.id in newest]})
    return len(events)


_UNIT_WORDS = select(units.c.unit_id, units.c["text"]).where(among(units.c.id, "rows"))


def traces_of(
    connection: Connection, rows: list[int], erasure: Erasure, messages: set[Place], names: WholeNames
) -> Traces:
    """By what waiting tasks are known that carry these units, messages or names."""
    words = {word for row in connection.execute(_UNIT_WORDS, {"rows": rows}) for word in row}
    words.add(erasure.document or "")
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
        changes: how many audit entries went.
    """

    entities: tuple[str, ...]
    names: tuple[str, ...]
    lost: int
    changes: int


_TOUCHED = (
    select(entities.c.id, entities.c.entity_id, entities.c.name, entities.c.names)
    .where(
        or_(
            entities.c.id.in_(select(mentions.c.entity).where(among(mentions.c.unit, "rows"))),
            and_(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity")),
        )
    )
    .order_by(entities.c.id)
)
_MENTIONS = (
    select(mentions.c.entity, mentions.c.unit, mentions.c["text"])
    .where(among(mentions.c.entity, "entities"))
    .order_by(mentions.c.entity, mentions.c.unit)
)
# How often and when last the units that stay mention an entity.
_REMAINING = (
    select(mentions.c.entity, func.count(), func.max(units.c.mentioned_at))
    .join(units, units.c.id == mentions.c.unit)
    .where(
        among(mentions.c.entity, "entities"),
        units.c.fact_type != FactType.OBSERVATION.value,
        ~among(mentions.c.unit, "rows"),
    )
    .group_by(mentions.c.entity)
)
_KEEP_ENTITY = (
    update(entities)
    .where(entities.c.id == bindparam("row"))
    .values(
        name=bindparam("kept_name"),
        names=bindparam("kept_names"),
        mentions=bindparam("count"),
        last_seen=bindparam("latest"),
    )
)
_DELETE_NAME = delete(entity_names).where(
    entity_names.c.entity == bindparam("row"), entity_names.c.name == bindparam("dropped")
)
_DELETE_BLOCK = delete(entity_blocks).where(
    entity_blocks.c.entity == bindparam("row"), entity_blocks.c.block == bindparam("dropped")
)
_DELETE_OBSERVING = delete(tasks).where(
    tasks.c.bank == bindparam("bank"),
    tasks.c.kind == TaskKind.OBSERVE.value,
    tasks.c["key"] != literal("", literal_execute=True),  # the condition of the index
    among(tasks.c["key"], "keys"),
)


def erase_names(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> ErasedNames:
    """Erase what only these units knew of entities, while they are still there.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        erasure: names the entity, or some of its names, that go in any case.
    """
    touched = connection.execute(_TOUCHED, {"bank": bank, "rows": rows, "entity": erasure.entity}).all()
    if not touched:
        return ErasedNames((), (), 0, 0)
    values = {"entities": [entity.id for entity in touched], "rows": rows}
    counts = {entity: (count, latest) for entity, count, latest in connection.execute(_REMAINING, values)}
    erased = set(rows)
    going: dict[int, list[str]] = defaultdict(list)
    staying: dict[int, list[str]] = defaultdict(list)
    for entity, unit, text in connection.execute(_MENTIONS, values):
        (going if unit in erased else staying)[entity].append(text)
    orphans: dict[int, str] = {}
    kept: dict[int, KeptNames] = {}
    names: set[str] = set()
    lost = 0
    for entity, entity_id, name, text in touched:
        known = json.loads(text)
        named = entity_id == erasure.entity
        if not staying[entity] or (named and not erasure.names):
            orphans[entity] = entity_id
            names |= set(known)
            continue
        words = [*going[entity], *(erasure.names if named else ())]
        kept[entity] = kept_names(name, known, words, staying[entity])
        lost += sum(each not in kept[entity].names for each in known)
    _keep_names(connection, kept, counts)
    dropped = {name for each in kept.values() for name in each.dropped}
    changes = _drop_audit(connection, bank, {*orphans.values(), *dropped})
    _delete(connection, entities, list(orphans))
    if orphans:
        connection.execute(_DELETE_OBSERVING, {"bank": bank, "keys": list(orphans.values())})
    return ErasedNames(tuple(orphans.values()), tuple(sorted(names | dropped)), lost, changes)


def _keep_names(
    connection: Connection, kept: dict[int, KeptNames], counts: dict[int, tuple[int, int | None]]
) -> None:
    """Write the names of entities that stay, and how often and when last they are mentioned."""
    rows, names, keys = [], [], []
    for entity, each in kept.items():
        count, latest = counts.get(entity, (0, None))
        rows.append(
            {
                "row": entity,
                "kept_name": each.name,
                "kept_names": json.dumps(each.names),
                "count": count,
                "latest": latest,
            }
        )
        names += [{"row": entity, "dropped": name} for name in each.dropped]
        stale = {key for name in each.dropped for key in blocks(name)}
        stale -= {key for name in each.names for key in blocks(name)}
        keys += [{"row": entity, "dropped": key} for key in stale]
    run_many(connection, _KEEP_ENTITY, rows)
    run_many(connection, _DELETE_NAME, names)
    run_many(connection, _DELETE_BLOCK, keys)


_AUDIT = select(entity_changes.c.id, entity_changes.c.detail).where(
    entity_changes.c.bank == bindparam("bank")
)


def _drop_audit(connection: Connection, bank: int, forgotten: Collection[str]) -> int:
    """Audit entries that name what is forgotten: they would keep the name alive, and can no longer be undone; how many."""
    if not forgotten:
        return 0
    words = [json.dumps(word) for word in forgotten]
    audit = connection.execute(_AUDIT, {"bank": bank})
    stale = [change for change, detail in audit if any(word in detail for word in words)]
    _delete(connection, entity_changes, stale)
    return len(stale)


_SOURCES = select(unit_sources.c.thread, unit_sources.c.message).where(among(unit_sources.c.unit, "rows"))
_MESSAGES = select(message_keys.c.thread, message_keys.c.message).where(
    message_keys.c.bank == bindparam("bank"), message_keys.c.thread == bindparam("thread")
)
_KEPT = select(turns.c.thread, turns.c.message).where(
    turns.c.bank == bindparam("bank"), turns.c.unit.is_(None)
)
_KEPT_WITHIN = _KEPT.where(turns.c.said_at >= bindparam("start"), turns.c.said_at < bindparam("end"))
_KEPT_BEFORE = _KEPT.where(turns.c.said_at < bindparam("before")).add_columns(turns.c.tags)
_KEPT_TEXTS = _KEPT.add_columns(turns.c.speaker, turns.c["text"])
_WAITING = (
    select(unit_sources.c.thread, unit_sources.c.message)
    .select_from(units.join(unit_sources, unit_sources.c.unit == units.c.id))
    .where(
        units.c.bank == bindparam("bank"),
        units.c.kind == literal(UnitKind.TURN.value, literal_execute=True),  # the condition of the index
    )
)
_WAITING_ROWS = _WAITING.add_columns(units.c.id)
_WAITING_TEXTS = _WAITING.add_columns(units.c["text"])


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
    places: set[Place] = set()
    if rows:
        places.update(connection.execute(_SOURCES, {"rows": rows}).all())
    if erasure.message is not None:
        places.add((erasure.thread or "", erasure.message))
    elif erasure.thread is not None:
        places.update(connection.execute(_MESSAGES, {"bank": bank, "thread": erasure.thread}).all())
    if erasure.before is not None:
        said = connection.execute(_KEPT_BEFORE, {"bank": bank, "before": to_micros(erasure.before)})
        places.update((thread, message) for thread, message, tags in said if _is_tagged(tags, erasure))
    if erasure.window is not None:
        values = {"bank": bank, **_span(erasure.window)}
        places.update(connection.execute(_KEPT_WITHIN, values).all())
    return places | _naming(connection, bank, names, erasure.identifiers)


def _is_tagged(tags: str, erasure: Erasure) -> bool:
    """Whether a row's tags (JSON) have one of the erasure's, if it has any."""
    return not erasure.tags or not {*erasure.tags}.isdisjoint(json.loads(tags))


def _span(window: Interval) -> dict[str, int]:
    return {"start": to_micros(window.start), "end": to_micros(window.end)}


def waiting_of(connection: Connection, bank: int, places: set[Place]) -> list[int]:
    """Row ids of the turns of these messages that wait for extraction."""
    waiting = connection.execute(_WAITING_ROWS, {"bank": bank}) if places else ()
    return [unit for thread, message, unit in waiting if (thread, message) in places]


_RETELL = insert(retold).from_select(
    ["unit", "bank", "revision"],
    select(unit_sources.c.unit, unit_sources.c.bank, bindparam("at", type_=retold.c.revision.type)).where(
        unit_sources.c.bank == bindparam("of"),
        unit_sources.c.thread == bindparam("in_thread"),
        unit_sources.c.message == bindparam("said"),
    ),
)
_RETELL = _RETELL.on_conflict_do_update(index_elements=["unit"], set_={"revision": _RETELL.excluded.revision})
_DELETE_TURN = delete(turns).where(
    turns.c.bank == bindparam("of"),
    turns.c.thread == bindparam("in_thread"),
    turns.c.message == bindparam("said"),
)
_DELETE_UNIT_TURN = _DELETE_TURN.where(turns.c.unit.is_not(None))


def erase_turns(target: CommitTarget, places: set[Place]) -> tuple[int, int]:
    """Erase the texts of these messages: how many were kept, beside those that are units; and how many rows changed besides.

    Memories made from them that stay are to be indexed again, without their words.
    """
    rows = [
        {"at": target.revision, "of": target.bank, "in_thread": thread, "said": message}
        for thread, message in places
    ]
    others = run_many(target.connection, _RETELL, rows)
    others += run_many(target.connection, _DELETE_UNIT_TURN, rows)
    return run_many(target.connection, _DELETE_TURN, rows), others


def _naming(connection: Connection, bank: int, names: WholeNames, identifiers: Collection[str]) -> set[Place]:
    """The messages kept as text, or waiting, in which a name stands as whole words, or whose speaker bears it, or an identifier."""
    if not names and not identifiers:
        return set()
    kept = (
        (thread, message, f"{speaker}: {text}")
        for thread, message, speaker, text in connection.execute(_KEPT_TEXTS, {"bank": bank})
    )
    return {
        (thread, message)
        for thread, message, text in chain(kept, connection.execute(_WAITING_TEXTS, {"bank": bank}))
        if names.stand_in(text) or identifies_any(text, identifiers)
    }


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

_CONTENT = {
    name: delete(metadata.tables[name]).where(metadata.tables[name].c.bank == bindparam("bank"))
    for name in BANK_CONTENT
}
_DELETE_BANK = delete(banks).where(banks.c.id == bindparam("bank"))
_UNSCRUBBED = insert(unscrubbed).on_conflict_do_nothing()


class _Foreseen(Exception):
    """Rolls the transaction of a dry run back, so that not a page of it is written."""


class Eraser:
    """Erasure for good."""

    def __init__(self, database: Database, schedule: Schedule) -> None:
        self._database, self._schedule = database, schedule

    def erase(self, bank: str, erasure: Erasure, *, dry_run: bool = False) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them.

        With a unit go its vector, records, links, mentions, validity log, evidence and edits, the chunk it came from,
        waiting tasks that carry its text, entities nothing else mentions, names of surviving entities that only it used,
        and categories and spellings of them in which no other record is given. What it ended holds again, unless
        something else ended it too, and the receipt lists it. With a document go its items, but not where messages or
        moments are chosen: then each item goes with the messages that it was made from. With an item goes what retells
        its document, which counts as changed.
        With a fact go all observations made of the entities it mentions, which are made anew of what is left, and the texts
        of mental models whose writers were shown it; their questions and the directives stay.
        With it go too the wordings of opinions that stand on it, and those worded after them; the wording before holds
        again, and an opinion without any goes. Whoever names an opinion's unit means the opinion with all its wordings.
        Reasons that were written by a model which may have read it are blanked.
        The feed's `removed` reports its row id.

        Message keys stay (a hash, the thread and the message id), so that a replayed conversation does not bring the
        memory back; `everything` drops them too.

        Args:
            bank: the bank.
            erasure: what; exactly one field set.
            dry_run: say what would be erased, with names, and erase nothing.

        Returns:
            The receipt; its revision is unchanged where there was nothing to erase.
        """
        with suppress(_Foreseen), self._database.writing() as connection:
            row = find_bank(connection, bank)
            receipt = _erased(connection, row, erasure, self._database.clock.now())
            if receipt.revision > row.revision:
                observe_changed(self._schedule, connection, row.id, receipt.revision)
                enqueue_refreshes(self._schedule, connection, row.id)
                enqueue_reinforcement(self._schedule, connection, row.id)
            if dry_run:
                raise _Foreseen
        if dry_run:
            return replace(receipt, revision=row.revision, dry_run=True)
        return replace(receipt, names=())

    def drop_bank(self, bank: str) -> int:
        """Delete the bank itself with all it holds; returns how many units it held."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank).id
            count = count_memories(connection, row)
            _erase_all(connection, row)
            connection.execute(_DELETE_BANK, {"bank": row})
            connection.execute(_UNSCRUBBED, {"bank": row})
        return count

    def scrub(self) -> Scrub:
        """Rewrite the storage so that nothing erased is left in it.

        A kill between `erase` and `scrub` is made up for when the ledger is next opened for writing.
        """
        return self._database.scrub()


_REMOVE = insert(removed)
_NOTE_ERASURE = insert(erasures)
_NOTE_ERASURE = _NOTE_ERASURE.on_conflict_do_update(
    index_elements=["bank"], set_={"revision": _NOTE_ERASURE.excluded.revision}
)


def _erased(connection: Connection, row: BankRow, erasure: Erasure, now: datetime) -> ForgetReceipt:
    """Erase within the open transaction; the receipt has names, whatever becomes of them."""
    target = CommitTarget(connection, row.id, row.revision + 1)
    names = _names(connection, row.id, erasure)
    whole = WholeNames(names, connection.scalars(_TEXTS, {"bank": row.id}) if names else ())
    selected = {
        *_whole(connection, _chosen(connection, row.id, erasure), whole),
        *_older(connection, row.id, erasure),
        *_telling(connection, row.id, erasure),
    }
    chosen = _with_derived(connection, sorted(selected), erasure)
    places = reached_turns(connection, row.id, chosen, erasure, whole)
    parents = documents_of(connection, chosen)  # an erased item was told with its document
    touched = entities_to_sum_up(connection, [*chosen, *parents])
    chosen = sorted({*chosen, *waiting_of(connection, row.id, places)})
    kinds = _kinds_of(connection, chosen)
    erased = tuple(unit for unit, kind in kinds if kind in {UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM})
    rows = [{"unit": unit, "bank": row.id, "revision": target.revision} for unit in chosen]
    run_many(connection, _REMOVE, rows)
    answers = forget_answers(connection, [*chosen, *parents])
    restored: list[int] = []
    others = 0
    if erasure.everything:
        gone, counts = _erase_all(connection, row.id)
    else:
        traces = traces_of(connection, chosen, erasure, places, whole)
        restored = _undo_endings(target, chosen)
        move_documents(target, chosen)
        opinions, revived = erase_opinions(target, chosen, parents)
        gone, counts = _erase_some(connection, row.id, chosen, erasure, traces)
        counts["opinions"] = opinions
        follow_own_grounds(target, revived)
        counts["turns"], others = erase_turns(target, places)
        note_changed(target, touched)
        follow_grounds(target, restored)
    counts["turns"] += sum(kind == UnitKind.TURN for _, kind in kinds)
    counts["mental_models"] = answers
    if not (chosen or others or gone.changes or any(counts.values())):
        return ForgetReceipt((), (), {}, row.revision)
    # What is worked on may have been read before the erasure, and retell it.
    take_back(connection, row.id, now)
    advance(connection, row.id, target.revision)
    connection.execute(_NOTE_ERASURE, {"bank": row.id, "revision": target.revision})
    connection.execute(_UNSCRUBBED, {"bank": row.id})
    return ForgetReceipt(
        erased,
        gone.entities,
        {kind: count for kind, count in {**counts, "units": len(erased)}.items() if count},
        target.revision,
        names=gone.names,
        restored=tuple(unit for unit, _ in _kinds_of(connection, restored)),
    )


_OF_BANK = select(units.c.id).where(units.c.bank == bindparam("bank"))
_NO_ITEMS = _OF_BANK.where(units.c.kind != UnitKind.ITEM.value)
_UNIT = _NO_ITEMS.where(units.c.unit_id == bindparam("unit"))
_UNITS = _NO_ITEMS.where(among(units.c.unit_id, "units"))
_DOCUMENT = _OF_BANK.where(units.c.document == bindparam("document"))
_WINDOW = _NO_ITEMS.where(
    or_(
        and_(units.c.occurred_start < bindparam("end"), units.c.occurred_end > bindparam("start")),
        and_(units.c.mentioned_at >= bindparam("start"), units.c.mentioned_at < bindparam("end")),
    )
)
# A document may have been retained under the thread; it has a selector of its own.
_THREAD = _OF_BANK.where(units.c.thread == bindparam("thread"), units.c.document.is_(None))
_MESSAGE = select(unit_sources.c.unit).where(
    unit_sources.c.bank == bindparam("bank"),
    unit_sources.c.thread == bindparam("thread"),
    unit_sources.c.message == bindparam("message"),
)
_ENTITY = (
    select(mentions.c.unit, mentions.c["text"])
    .join(entities, entities.c.id == mentions.c.entity)
    .where(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity"))
)
_BEFORE = _NO_ITEMS.where(units.c.mentioned_at < bindparam("before")).add_columns(units.c.tags)
_WORDS = _NO_ITEMS.add_columns(units.c["text"], units.c.context, units.c.metadata)
_TEXTS = select(units.c["text"]).where(units.c.bank == bindparam("bank"))
_TEXTS_OF = select(units.c.id, units.c["text"]).where(among(units.c.id, "rows"))
_ITEMS = select(units.c.id).where(among(units.c.head, "rows"))


def _chosen(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units an erasure names."""
    values: dict[str, str | int] = {}
    if erasure.everything:
        statement = _OF_BANK
    elif erasure.unit is not None:
        statement, values["unit"] = _UNIT, erasure.unit
    elif erasure.document is not None:
        statement, values["document"] = _DOCUMENT, erasure.document
    elif erasure.entity is not None:
        said = connection.execute(_ENTITY, {"bank": bank, "entity": erasure.entity})
        return [unit for unit, text in said if not erasure.names or normalise_name(text) in erasure.names]
    elif erasure.window is not None:
        statement, values = _WINDOW, {**_span(erasure.window)}
    elif erasure.message is not None:
        statement, values = _MESSAGE, {"thread": erasure.thread or "", "message": erasure.message}
    elif erasure.thread is not None:
        statement, values["thread"] = _THREAD, erasure.thread
    else:
        return []
    return list(connection.scalars(statement, {"bank": bank, **values}))


def _with_derived(connection: Connection, rows: list[int], erasure: Erasure) -> list[int]:
    """The units, and all that retells them: observations and opinions. Whoever names an opinion means all of it.

    With a document go its items, unless messages or moments are chosen: an item goes with its own. With an item goes what
    retells its document.
    """
    if not rows:
        return []
    whole = erasure.unit is not None
    if erasure.thread is None and erasure.window is None and erasure.before is None:
        rows = sorted({*rows, *connection.scalars(_ITEMS, {"rows": rows})})
    parents = documents_of(connection, rows)
    while True:
        derived = with_observations(connection, [*rows, *parents])
        derived = sorted({*with_wordings(connection, derived, whole=whole)} - {*parents})
        if len(derived) == len(rows):
            return derived
        rows, whole = derived, False


def _older(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units that were mentioned before a moment, all or those with one of the tags."""
    if erasure.before is None:
        return []
    older = connection.execute(_BEFORE, {"bank": bank, "before": to_micros(erasure.before)})
    return [row for row, tags in older if _is_tagged(tags, erasure)]


def _whole(connection: Connection, rows: list[int], whole: WholeNames) -> list[int]:
    """The units without those in which the names erased stand inside longer names alone: Apollo 2 does not go with Apollo."""
    if not whole or not rows:
        return rows
    texts = connection.execute(_TEXTS_OF, {"rows": rows})
    return [row for row, text in texts if not whole.only_inside_longer(text)]


def _telling(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Row ids of the units given by id, and of those in whose text, context or metadata an identifier or a name stands."""
    rows: list[int] = []
    if erasure.units:
        rows += connection.scalars(_UNITS, {"bank": bank, "units": erasure.units})
    if erasure.identifiers or erasure.told:
        names = WholeNames(erasure.told, connection.scalars(_TEXTS, {"bank": bank}) if erasure.told else ())
        for row, *texts in connection.execute(_WORDS, {"bank": bank}):
            text = " ".join(map(str, texts))
            if names.stand_in(text) or identifies_any(text, erasure.identifiers):
                rows.append(row)
    return rows


_RELEASE_ITEMS = (
    update(units)
    .where(among(units.c.head, "rows"))
    .values(kind=UnitKind.MEMORY.value, head=None, number=0, changed=bindparam("at"))
)
_CLOSED_BY = and_(
    validity_events.c.kind == ValidityKind.CLOSED.value, among(validity_events.c.by_unit, "rows")
)
_ENDED = (
    select(units.c.id, units.c.closed_at)
    .distinct()
    .join(validity_events, validity_events.c.unit == units.c.id)
    .where(_CLOSED_BY, units.c.fact_type != FactType.OPINION.value, ~among(units.c.id, "rows"))
    .order_by(units.c.id)
)
_DELETE_ENDINGS = delete(validity_events).where(among(validity_events.c.unit, "units"), _CLOSED_BY)
_CLOSE = (
    update(units)
    .where(units.c.id == bindparam("row"))
    .values(changed=bindparam("at"), **closing(bindparam("closed", type_=Int)))
)


def _undo_endings(target: CommitTarget, rows: list[int]) -> list[int]:
    """Make valid again what these units ended and nothing else did, while they are still there; row ids, ascending.

    It was never said, so the log does not keep it. Wordings of opinions follow rules of their own (`opinion_erasure`).
    Items whose document goes become memories by themselves.
    """
    if not rows:
        return []
    connection = target.connection
    connection.execute(_RELEASE_ITEMS, {"at": target.revision, "rows": rows})
    ended = connection.execute(_ENDED, {"rows": rows}).all()
    if not ended:
        return []
    connection.execute(_DELETE_ENDINGS, {"units": [unit.id for unit in ended], "rows": rows})
    after = [(row, closed_at, closed_by_log(connection, row)) for row, closed_at in ended]
    changed: list[Values] = [
        {"row": row, "closed": closed, "at": target.revision}
        for row, closed_at, closed in after
        if closed != closed_at
    ]
    run_many(connection, _CLOSE, changed)
    parents = move_documents(target, [row for row, _ in ended])
    change_facts(target, {*(unit["row"] for unit in changed), *parents})
    return [unit["row"] for unit in changed if unit["closed"] is None]


_KINDS = select(units.c.unit_id, units.c.kind).where(among(units.c.id, "rows")).order_by(units.c.id)
_NAMES = select(entities.c.names).where(
    entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity")
)


def _kinds_of(connection: Connection, rows: list[int]) -> Sequence[tuple[str, str]]:
    """Unit ids and kinds, by row id."""
    return connection.execute(_KINDS, {"rows": rows}).all() if rows else ()


def _names(connection: Connection, bank: int, erasure: Erasure) -> frozenset[str]:
    """Normalised names of the entity to be erased, or those of them that are meant; none if none is."""
    if erasure.names or erasure.entity is None:
        return frozenset({*erasure.names, *erasure.told})
    names = connection.scalar(_NAMES, {"bank": bank, "entity": erasure.entity})
    return frozenset({*json.loads(names or "[]"), *erasure.told})


_HANGING: dict[str, tuple[Column[int], ...]] = {
    "vectors": (vectors.c.unit,),
    "records": (records.c.unit,),
    "links": (links.c.source, links.c.target),
    "mentions": (mentions.c.unit,),
    "validity_events": (validity_events.c.unit,),
    "evidence": (evidence.c.opinion, evidence.c.fact, evidence.c.version),
}
_GOING = select(
    *(
        select(func.count()).where(or_(*(among(column, "rows") for column in columns))).label(table)
        for table, columns in _HANGING.items()
    )
)
"""How many rows of other tables go with units."""


def _erase_some(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> tuple[ErasedNames, dict[str, int]]:
    """Traces and names first, while the units still tell what they were; then the units."""
    counts = erase_traces(connection, bank, rows, erasure, traces)
    gone = erase_names(connection, bank, rows, erasure)
    if rows:
        touched = touched_categories(connection, rows)
        counts |= connection.execute(_GOING, {"rows": rows}).mappings().one()
        _delete(connection, units, rows)
        counts["categories"] = erase_unused(connection, touched)
    return gone, {**counts, "entities": len(gone.entities), "names": gone.lost}


_ENTITIES = (
    select(entities.c.entity_id, entities.c.names)
    .where(entities.c.bank == bindparam("bank"))
    .order_by(entities.c.id)
)


def _erase_all(connection: Connection, bank: int) -> tuple[ErasedNames, dict[str, int]]:
    known = connection.execute(_ENTITIES, {"bank": bank}).all()
    names = {name for entity in known for name in json.loads(entity.names)}
    counts = {
        name: connection.execute(statement, {"bank": bank}).rowcount for name, statement in _CONTENT.items()
    }
    return ErasedNames(tuple(entity.entity_id for entity in known), tuple(sorted(names)), 0, 0), counts
