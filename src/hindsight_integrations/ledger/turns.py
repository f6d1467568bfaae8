"""Turns (the texts of messages), and the logs of threads.

A message that is stored word for word as a unit (by verbatim extraction, or while it waits for extraction) is not stored
twice: its row in `turns` refers to the unit and has no text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable, FromClause, Select, and_, bindparam, delete, func, or_, select

from hindsight_integrations.ledger.rows import (
    CommitTarget,
    Reader,
)
from hindsight_integrations.ledger.sql import (
    Values,
    among,
    in_bank,
    insert,
    is_at_place,
    place_list,
    place_values,
    refers,
    run_many,
)
from hindsight_integrations.ledger.tables import (
    message_keys,
    thread_messages,
    threads,
    turns,
    unit_sources,
    units,
)
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.text import folded_text
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.turns import Role, SourceTurn, Thread, ThreadEntry, ThreadMark
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.model.writes import MessageKey, Place, WriteSet

_THREAD = select(threads.c.id, threads.c.seen, threads.c.digest, threads.c.head).where(
    threads.c.bank == bindparam("bank"),
    threads.c.thread == bindparam("thread"),
    threads.c.namespace == bindparam("namespace"),
)
_ENTRIES = (
    select(
        thread_messages.c.message,
        thread_messages.c.content_hash,
        thread_messages.c.parent,
        thread_messages.c.gone,
    )
    .where(in_bank(thread_messages), thread_messages.c["list"] == bindparam("list"))
    .order_by(thread_messages.c.id)
)
_DROPPED = (
    select(threads.c.thread, thread_messages.c.message)
    .join(thread_messages, refers(thread_messages.c["list"], threads))
    .join(
        place_list,
        and_(
            threads.c.bank == place_list.c.bank,
            threads.c.thread == place_list.c.thread,
            thread_messages.c.message == place_list.c.message,
        ),
    )
    .group_by(threads.c.thread, thread_messages.c.message)
    .having(func.min(thread_messages.c.gone) == 1)
)
_thread, _entry, _turn_row = insert(threads), insert(thread_messages), insert(turns)
_PUT_THREAD = _thread.on_conflict_do_update(
    index_elements=["bank", "thread", "namespace"],
    set_={name: _thread.excluded[name] for name in ("seen", "digest", "head")},
).returning(threads.c.id)
_PUT_ENTRY = _entry.on_conflict_do_update(
    constraint="thread_messages_key",
    set_={name: _entry.excluded[name] for name in ("content_hash", "gone")},
)
# Rows are updated only if something differs, because a repeated write set must not raise the revision.
_TURN_FIELDS = ("unit", "text", "speaker", "role", "said_at", "tags")
_PUT_TURN = _turn_row.on_conflict_do_update(
    index_elements=["bank", "thread", "message"],
    set_={name: _turn_row.excluded[name] for name in _TURN_FIELDS},
    where=or_(*(turns.c[name].is_distinct_from(_turn_row.excluded[name]) for name in _TURN_FIELDS)),
)
_DELETE_TURN = delete(turns).where(
    turns.c.bank == bindparam("of"),
    turns.c.thread == bindparam("in_thread"),
    turns.c.message == bindparam("said"),
)

_VERSIONS = (
    select(
        message_keys.c.thread, message_keys.c.message, message_keys.c.content_hash, message_keys.c.revision
    )
    .join(place_list, is_at_place(message_keys))
    .order_by(message_keys.c.revision)
)
_PLACES = (
    select(unit_sources.c.thread, unit_sources.c.message)
    .distinct()
    .where(unit_sources.c.bank == bindparam("bank"), among(unit_sources.c.message, "messages"))
    .order_by(unit_sources.c.thread, unit_sources.c.message)
)


def _turns_from(table: FromClause) -> Select[*tuple[Any, ...]]:
    return select(
        turns.c.thread,
        turns.c.message,
        turns.c["text"],
        turns.c.speaker,
        turns.c.said_at,
        turns.c.tags,
        turns.c.role,
        units.c["text"],
        units.c.speaker,
        units.c.mentioned_at,
        units.c.tags,
    ).select_from(table.outerjoin(units, refers(turns.c.unit, units)))


_AT_PLACES = _turns_from(turns.join(place_list, is_at_place(turns)))
_OF_BANK = _turns_from(turns).where(turns.c.bank == bindparam("bank"))
_OF_THREAD = select(turns.c.thread, turns.c.message).where(
    turns.c.bank == bindparam("bank"), turns.c.thread == bindparam("thread")
)
_OF_UNITS = select(unit_sources.c.unit, unit_sources.c.thread, unit_sources.c.message).where(
    unit_sources.c.bank == bindparam("bank"), among(unit_sources.c.unit, "ids")
)
_MADE_FROM = (
    select(unit_sources.c.thread, unit_sources.c.message, units.c.id, units.c.closed_at.is_not(None))
    .select_from(unit_sources)
    .join(place_list, is_at_place(unit_sources))
    .join(units, refers(unit_sources.c.unit, units))
    .order_by(units.c.id)
)
_MEMORIES = _MADE_FROM.where(units.c.kind == UnitKind.MEMORY.value)
_WAITING = select(units.c.id).where(
    units.c.bank == bindparam("bank"),
    among(units.c.unit_id, "ids"),
    units.c.kind == UnitKind.TURN.value,
)
_WAITING_AT = _MADE_FROM.with_only_columns(units.c.id, units.c.unit_id).where(
    units.c.kind == UnitKind.TURN.value, ~among(units.c.unit_id, "present")
)


def write_thread(connection: Connection, bank: int, writes: WriteSet) -> None:
    """Update the log of a thread."""
    if (write := writes.thread) is None:
        return
    mark = write.mark
    values = {
        "bank": bank,
        "thread": write.thread,
        "namespace": write.namespace,
        "seen": mark.seen,
        "digest": mark.digest,
        "head": mark.head,
    }
    row = connection.execute(_PUT_THREAD, values).scalar_one()
    entries = [
        {
            "bank": bank,
            "list": row,
            "message": entry.message_id,
            "content_hash": entry.content_hash,
            "parent": entry.parent,
            "gone": int(entry.gone),
        }
        for entry in write.entries
    ]
    run_many(connection, _PUT_ENTRY, entries)


class TurnReader(Reader):
    """Reads of source turns and thread logs."""

    def thread_mark(self, bank: str, thread: str, namespace: str) -> ThreadMark:
        """Return the mark that the last `follow` of a thread left; an empty mark if the thread was never followed."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "thread": thread, "namespace": namespace}
            stored = connection.execute(_THREAD, values).first()
        return ThreadMark() if stored is None else ThreadMark(*stored[1:])

    def dropped(self, bank: str, places: Sequence[Place]) -> frozenset[Place]:
        """Return those of these messages that a fork discarded, so that they are on no branch of their thread."""
        with self._at(bank) as (connection, row):
            dropped = connection.execute(_DROPPED, place_values(row, places)) if places else ()
            return frozenset((thread, message) for thread, message in dropped)

    def thread(self, bank: str, thread: str, namespace: str) -> Thread:
        """Return the whole log of a thread; an empty log if it was never followed."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "thread": thread, "namespace": namespace}
            stored = connection.execute(_THREAD, values).first()
            if stored is None:
                return Thread()
            log = {
                message: ThreadEntry(message, content_hash, parent, bool(gone))
                for message, content_hash, parent, gone in connection.execute(
                    _ENTRIES, {"bank": row, "list": stored[0]}
                )
            }
        return Thread(ThreadMark(*stored[1:]), log)

    def known(self, bank: str, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
        """Return those of these keys whose message was retained and has the same text in its latest stored version."""
        with self._at(bank) as (connection, row):
            values = place_values(row, (key.place for key in keys))
            versions = connection.execute(_VERSIONS, values).all() if keys else []
        latest = {(thread, message): revision for thread, message, _, revision in versions}
        known = (MessageKey(*key) for *key, revision in versions if revision == latest[key[0], key[1]])
        return frozenset(known).intersection(keys)

    def places(self, bank: str, messages: Sequence[str]) -> list[Place]:
        """Return (thread, message id) of the source messages with these message ids, in any thread, in order."""
        with self._at(bank) as (connection, row):
            rows = connection.execute(_PLACES, {"bank": row, "messages": messages}) if messages else ()
            return [(thread, message) for thread, message in rows]

    def get(self, bank: str, places: Sequence[Place]) -> dict[Place, SourceTurn]:
        """Return the turns with these (thread, message id) pairs."""
        with self._at(bank) as (connection, row):
            return _turns(connection, row, places)

    def of_units(self, bank: str, ids: IntArray) -> dict[int, tuple[SourceTurn, ...]]:
        """Return the turns that each unit (by row id) was made from, by time; units without any are omitted."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "ids": ids.tolist()}
            sources = connection.execute(_OF_UNITS, values).all() if len(ids) else ()
            stored = _turns(connection, row, [(thread, message) for _, thread, message in sources])
        by_unit: dict[int, list[SourceTurn]] = defaultdict(list)
        for unit, thread, message in sources:
            if turn := stored.get((thread, message)):
                by_unit[unit].append(turn)
        return {unit: tuple(sorted(some, key=_in_time)) for unit, some in by_unit.items()}

    def of_thread(self, bank: str, thread: str) -> list[SourceTurn]:
        """Return the turns of a thread, by time, then by message id."""
        with self._at(bank) as (connection, row):
            messages = connection.execute(_OF_THREAD, {"bank": row, "thread": thread})
            stored = _turns(connection, row, [(thread, message) for thread, message in messages])
        return sorted(stored.values(), key=_in_time)

    def saying(self, bank: str, words: str) -> list[Place]:
        """Return (thread, message id) of every turn whose text contains these words in order, by time, then message id.

        Ignores case, diacritics and white space (`folded_text`). Reads every turn of the bank.
        """
        wanted = folded_text(words)
        saying = []
        with self._at(bank) as (connection, row):
            for thread, message, *fields in connection.execute(_OF_BANK, {"bank": row}):
                text, _, said_at, _ = _wording(fields)
                if wanted in folded_text(text):
                    saying.append((said_at, message, thread))
        return [(thread, message) for _, message, thread in sorted(saying)]


def write_turns(target: CommitTarget, writes: WriteSet, rows: Mapping[str, int]) -> None:
    """Store the latest version of each message, replacing earlier ones. `rows` maps unit ids to row ids."""
    kept = {turn.key.place for turn in writes.turns}
    replaced = [
        {"of": target.bank, "in_thread": key.thread, "said": key.message_id}
        for key in writes.messages
        if key.place not in kept
    ]
    run_many(target.connection, _DELETE_TURN, replaced)
    latest = [
        {
            "bank": target.bank,
            "thread": turn.key.thread,
            "message": turn.key.message_id,
            "unit": rows[turn.unit_id] if turn.unit_id else None,
            "text": "" if turn.unit_id else turn.text,
            "speaker": "" if turn.unit_id else turn.speaker,
            "role": turn.role.value,
            "said_at": to_micros(turn.said_at),
            "tags": "[]" if turn.unit_id else json.dumps(turn.tags),
        }
        for turn in writes.turns
    ]
    run_many(target.connection, _PUT_TURN, latest)


def waiting_turns(bank: int, writes: WriteSet) -> list[tuple[Executable, Values]]:
    """Return selects of the waiting turns that a write set extracts or rewords. Their first column is the row id.

    If the write set adds a turn that is already waiting, that turn is included.
    """
    selects: list[tuple[Executable, Values]] = []
    if writes.extracted:
        selects.append((_WAITING, {"bank": bank, "ids": writes.extracted}))
    if writes.messages:
        present = [write.unit.id for write in writes.units]
        places = place_values(bank, (key.place for key in writes.messages))
        selects.append((_WAITING_AT, {"present": present, **places}))
    return selects


def _turns(connection: Connection, bank: int, places: Sequence[Place]) -> dict[Place, SourceTurn]:
    if not places:
        return {}
    values = place_values(bank, places)
    memories: dict[Place, list[tuple[int, bool]]] = defaultdict(list)
    for thread, message, unit, closed in connection.execute(_MEMORIES, values):
        memories[thread, message].append((unit, closed))
    return {
        (thread, message): _turn((thread, message), fields, memories[thread, message])
        for thread, message, *fields in connection.execute(_AT_PLACES, values)
    }


def _wording(fields: Sequence[Any]) -> tuple[str, str, int, str]:
    """Return (text, speaker, time, tags) of a turn, from its own row or from the unit that stores the message."""
    *own, _, text, speaker, said_at, tags = fields
    if text is None:
        text, speaker, said_at, tags = own
    else:
        text = text.removeprefix(f"{speaker}: ")
    return text, speaker, said_at, tags


def _turn(place: Place, fields: Sequence[Any], memories: Sequence[tuple[int, bool]]) -> SourceTurn:
    text, speaker, said_at, tags = _wording(fields)
    return SourceTurn(
        thread=place[0],
        message_id=place[1],
        text=text,
        speaker=speaker,
        role=Role(fields[4]),
        said_at=from_micros(said_at),
        tags=tuple(json.loads(tags)),
        memories=tuple(unit for unit, _ in memories),
        history=bool(memories) and all(closed for _, closed in memories),
    )


def _in_time(turn: SourceTurn) -> tuple[object, ...]:
    return turn.said_at, turn.message_id
