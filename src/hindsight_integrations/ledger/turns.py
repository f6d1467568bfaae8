"""Turns: the text of messages, read wherever it is kept, written by a commit.

A message that is a unit word for word (verbatim extraction, or a turn that waits) is kept as that unit alone: its row in
`turns` names the unit and holds no text.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection

from hindsight_integrations.ledger.observations import remove_units
from hindsight_integrations.ledger.rows import PARAMETERS, BankReads, Row, Target, batches, unit_rows
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.text import folded_text
from hindsight_integrations.model.threads import Thread, ThreadEntry, ThreadMark
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.model.writes import Place, WriteSet
from hindsight_integrations.ports.arrays import IntArray

_LIST = "SELECT id, seen, digest, head FROM threads WHERE bank = ? AND thread = ? AND namespace = ?"
_ENTRIES = "SELECT message, content_hash, parent, gone FROM thread_messages WHERE list = ? ORDER BY id"
_DROPPED = """
SELECT thread, message FROM json_each(?) AS given CROSS JOIN threads ON thread = given.value ->> 0
JOIN thread_messages ON list = threads.id AND message = given.value ->> 1 WHERE bank = ? GROUP BY thread, message HAVING min(gone)
"""
_WRITE_LIST = """
INSERT INTO threads (bank, thread, namespace, seen, digest, head) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET seen = excluded.seen, digest = excluded.digest, head = excluded.head RETURNING id
"""
_WRITE_ENTRY = """
INSERT INTO thread_messages (list, message, content_hash, parent, gone) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET content_hash = excluded.content_hash, gone = excluded.gone
"""


class ThreadReads(BankReads):
    """The part of `LedgerReader` about threads."""

    def thread_mark(self, bank: str, thread: str, namespace: str) -> ThreadMark:
        """How far a thread was read."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(_LIST, (row, thread, namespace)).fetchone()
        return ThreadMark() if found is None else ThreadMark(*found[1:])

    def dropped_messages(self, bank: str, places: Sequence[Place]) -> frozenset[Place]:
        """Which of these messages forks dropped."""
        with self._at(bank) as (connection, row):
            return frozenset(raw(connection).execute(_DROPPED, (json.dumps(list(places)), row)).fetchall())

    def thread(self, bank: str, thread: str, namespace: str) -> Thread:
        """The whole log of a thread."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(_LIST, (row, thread, namespace)).fetchone()
            if found is None:
                return Thread()
            entries = raw(connection).execute(_ENTRIES, (found[0],)).fetchall()
        log = {
            message: ThreadEntry(message, content_hash, parent, bool(gone))
            for message, content_hash, parent, gone in entries
        }
        return Thread(ThreadMark(*found[1:]), log)


def write_thread(connection: Connection, bank: int, writes: WriteSet) -> None:
    """Bring the log of a thread up to date."""
    if (write := writes.thread) is None:
        return
    mark = write.mark
    values = (bank, write.thread, write.namespace, mark.seen, mark.digest, mark.head)
    ((row,),) = raw(connection).execute(_WRITE_LIST, values).fetchall()
    raw(connection).executemany(
        _WRITE_ENTRY,
        [(row, entry.message_id, entry.content_hash, entry.parent, entry.gone) for entry in write.entries],
    )


Places: TypeAlias = Sequence[Place]

# A row is touched only where something differs: a write set retained twice must not raise the revision.
_WRITE = """
INSERT INTO turns (bank, thread, message, unit, text, speaker, role, said_at, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET unit = excluded.unit, text = excluded.text, speaker = excluded.speaker,
    role = excluded.role, said_at = excluded.said_at, tags = excluded.tags
WHERE (unit, text, speaker, role, said_at, tags) IS NOT
    (excluded.unit, excluded.text, excluded.speaker, excluded.role, excluded.said_at, excluded.tags)
"""
_READ = """
SELECT given.thread, given.message, turns.text, turns.speaker, role, said_at, turns.tags, units.text, units.speaker, mentioned_at,
    units.tags
FROM given CROSS JOIN turns USING (thread, message) LEFT JOIN units ON units.id = turns.unit WHERE turns.bank = ?
"""
_TEXTS = """
SELECT turns.thread, message, iif(units.id IS NULL, turns.text, substr(units.text, length(units.speaker) + 3)),
    coalesce(mentioned_at, said_at)
FROM turns LEFT JOIN units ON units.id = turns.unit WHERE turns.bank = ?
"""  # of a unit the text without "speaker: "


class SqliteTurns(BankReads):
    """The part of the ledger's reads about source turns."""

    def turns(self, bank: str, places: Sequence[Place]) -> dict[Place, SourceTurn]:
        """Turns by (thread, message id)."""
        with self._at(bank) as (connection, row):
            return _turns(connection, row, places)

    def turns_of_units(self, bank: str, ids: IntArray) -> dict[int, tuple[SourceTurn, ...]]:
        """The turns each of these units was made from, by time."""
        with self._at(bank) as (connection, row):
            rows = (
                raw(connection)
                .execute(
                    "SELECT unit, thread, message FROM json_each(?) AS given CROSS JOIN unit_sources "
                    "ON unit_sources.unit = given.value WHERE bank = ?",
                    (json.dumps(ids.tolist()), row),
                )
                .fetchall()
            )
            found = _turns(connection, row, [(thread, message) for _, thread, message in rows])
        by_unit: dict[int, list[SourceTurn]] = defaultdict(list)
        for unit, thread, message in rows:
            if turn := found.get((thread, message)):
                by_unit[unit].append(turn)
        return {unit: tuple(sorted(turns, key=_in_time)) for unit, turns in by_unit.items()}

    def thread_turns(self, bank: str, thread: str) -> list[SourceTurn]:
        """The turns of a conversation, by time."""
        with self._at(bank) as (connection, row):
            query = "SELECT message FROM turns WHERE bank = ? AND thread = ?"
            messages = raw(connection).execute(query, (row, thread)).fetchall()
            found = _turns(connection, row, [(thread, message) for (message,) in messages])
        return sorted(found.values(), key=_in_time)

    def turns_saying(self, bank: str, words: str) -> list[Place]:
        """The turns whose text has these words, by time."""
        wanted = folded_text(words)
        with self._at(bank) as (connection, row):
            found = [
                (said_at, message, thread)
                for thread, message, text, said_at in raw(connection).execute(_TEXTS, (row,))
                if wanted in folded_text(text)
            ]
        return [(thread, message) for _, message, thread in sorted(found)]


def write_turns(target: Target, writes: WriteSet) -> None:
    """Keep the latest wording of each message, and nothing of what it said before; the units are there already."""
    _end_waiting(target, writes)
    kept = {turn.key.place for turn in writes.turns}
    units = unit_rows(target.connection, target.bank, [turn.unit_id for turn in writes.turns if turn.unit_id])
    check_known("turns", (turn.unit_id for turn in writes.turns if turn.unit_id), units, writes.bank)
    raw(target.connection).executemany(
        "DELETE FROM turns WHERE bank = ? AND thread = ? AND message = ?",
        [(target.bank, *key.place) for key in writes.messages if key.place not in kept],
    )
    raw(target.connection).executemany(
        _WRITE,
        [
            (
                target.bank,
                *turn.key.place,
                units[turn.unit_id] if turn.unit_id else None,
                "" if turn.unit_id else turn.text,
                "" if turn.unit_id else turn.speaker,
                turn.role.value,
                to_micros(turn.said_at),
                "[]" if turn.unit_id else json.dumps(turn.tags),
            )
            for turn in writes.turns
        ],
    )


def _end_waiting(target: Target, writes: WriteSet) -> None:
    """Remove turns that wait no more: extracted, or of an earlier wording of a message. No erasure: their text lives on."""
    coming = {write.unit.id for write in writes.units}
    rows = _waiting_ids(target.connection, target.bank, writes.extracted)
    places = [key.place for key in writes.messages]
    rows |= {
        row for row, unit in _waiting_at(target.connection, target.bank, places).items() if unit not in coming
    }
    remove_units(target, rows)


def _waiting_ids(connection: Connection, bank: int, unit_ids: Iterable[str]) -> set[int]:
    """Row ids of these units, those that are turns which wait."""
    found = raw(connection).execute(
        "SELECT units.id FROM json_each(?) AS given CROSS JOIN units ON unit_id = given.value WHERE bank = ? AND kind = ?",
        (json.dumps(list(unit_ids)), bank, UnitKind.TURN),
    )
    return {row for (row,) in found}


def _waiting_at(connection: Connection, bank: int, places: Places) -> dict[int, str]:
    """Unit ids, by row id, of the turns of these messages that wait."""
    found: dict[int, str] = {}
    for some in batches(places, PARAMETERS // 2):
        query = (
            f"{_given(some)} SELECT units.id, unit_id FROM given CROSS JOIN unit_sources USING (thread, message) "
            "JOIN units ON units.id = unit WHERE unit_sources.bank = ? AND kind = ?"
        )
        found.update(raw(connection).execute(query, (*_flat(some), bank, UnitKind.TURN)))
    return found


def _turns(connection: Connection, bank: int, places: Places) -> dict[Place, SourceTurn]:
    rows: dict[Place, Row] = {}
    for some in batches(places, PARAMETERS // 2):
        for thread, message, *rest in raw(connection).execute(
            f"{_given(some)} {_READ}", (*_flat(some), bank)
        ):
            rows[thread, message] = tuple(rest)
    memories = _memories(connection, bank, list(rows))
    return {place: _turn(place, row, memories[place]) for place, row in rows.items()}


def _memories(connection: Connection, bank: int, places: Places) -> dict[Place, list[tuple[int, bool]]]:
    """(row id, whether closed) of the memories made from each message, ascending."""
    found: dict[Place, list[tuple[int, bool]]] = defaultdict(list)
    for some in batches(places, PARAMETERS // 2):
        query = (
            f"{_given(some)} SELECT given.thread, given.message, units.id, closed_at IS NOT NULL FROM given CROSS JOIN "
            "(SELECT thread, message, unit FROM unit_sources WHERE bank = ?) USING (thread, message) "
            "JOIN units ON units.id = unit WHERE kind = ? ORDER BY units.id"
        )
        for thread, message, unit, closed in raw(connection).execute(
            query, (*_flat(some), bank, UnitKind.MEMORY)
        ):
            found[thread, message].append((unit, bool(closed)))
    return found


def _turn(place: Place, row: Row, memories: Sequence[tuple[int, bool]]) -> SourceTurn:
    text, speaker, role, said_at, tags, *of_unit = row
    if of_unit[0] is not None:
        text, speaker, said_at, tags = of_unit
        text = text.removeprefix(f"{speaker}: ")
    return SourceTurn(
        thread=place[0],
        message_id=place[1],
        text=text,
        speaker=speaker,
        role=Role(role),
        said_at=from_micros(said_at),
        tags=tuple(json.loads(tags)),
        memories=tuple(unit for unit, _ in memories),
        history=bool(memories) and all(closed for _, closed in memories),
    )


def _in_time(turn: SourceTurn) -> tuple[object, ...]:
    return turn.said_at, turn.message_id


def _given(places: Places) -> str:
    return f"WITH given (thread, message) AS (VALUES {','.join(['(?,?)'] * len(places))})"


def _flat(places: Places) -> tuple[str, ...]:
    return tuple(part for place in places for part in place)
