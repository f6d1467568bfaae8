"""Threads: the log of the messages of each conversation, read, and written by a commit (decision 137)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from hindsight_integrations.ledger.reader import BankReads
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.threads import Thread, ThreadEntry, ThreadMark
from hindsight_integrations.model.writes import Place, WriteSet

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
