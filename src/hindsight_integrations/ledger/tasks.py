"""Tasks: leased, renewed and failed here, enqueued and completed by a commit."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import find_bank, marks
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros

_MICROSECOND = timedelta(microseconds=1)

_COLUMNS = "tasks.id, banks.name, kind, tasks.key, state, attempts, uncounted, lease, not_before, lease_until, last_error, payload"
_TASKS = f"SELECT {_COLUMNS} FROM tasks JOIN banks ON banks.id = tasks.bank"

# One search of an index a kind, then the longest due of what these find: of a million that wait, one row a kind is read.
_DUE = """
SELECT tasks.id FROM (
    SELECT (
        SELECT id FROM tasks WHERE {banks} kind = given.value AND {due} <= :now ORDER BY {due}, id LIMIT 1
    ) AS first FROM json_each(:kinds) AS given
) JOIN tasks ON tasks.id = first ORDER BY {due}, id LIMIT 1
"""
_NEXT = """
SELECT min((SELECT due FROM tasks WHERE {banks} kind = given.value AND due IS NOT NULL ORDER BY due LIMIT 1))
FROM json_each(:kinds) AS given
"""
# Tasks of these banks are read and passed over; where none is named, none is.
_BESIDES = "bank NOT IN (SELECT banks.id FROM banks JOIN json_each(:besides) ON name = value) AND"

# A holder is known by its lease: whoever was leased the task since has another number.
_HELD = f"id = :task AND lease = :lease AND state = '{TaskState.LEASED.value}'"

# What ends a lease after which the task is to be done anew, as if it had just been enqueued.
_BEGIN_ANEW = "attempts = 0, uncounted = 0, not_before = :now + again, debounce = again, again = NULL"

_ENQUEUE = f"""
INSERT INTO tasks (bank, kind, key, payload, state, not_before, debounce, last_error)
VALUES (:bank, :kind, :key, :payload, '{TaskState.PENDING.value}', :now + :delay, iif(:key = '', 0, :delay), :reason)
ON CONFLICT (bank, kind, key) WHERE key <> '' DO UPDATE SET
    payload = excluded.payload,
    last_error = iif(due IS NOT NULL AND excluded.last_error = '', last_error, excluded.last_error),
    again = iif(state = '{TaskState.LEASED.value}', :delay, NULL),
    not_before = iif(due IS NULL, excluded.not_before, not_before),
    debounce = iif(due IS NULL, excluded.debounce, debounce),
    attempts = iif(due IS NULL, 0, attempts),
    uncounted = iif(due IS NULL, 0, uncounted),
    state = iif(due IS NULL, excluded.state, state)
WHERE due IS NULL OR payload <> excluded.payload OR excluded.last_error NOT IN ('', last_error)
    OR (state = '{TaskState.LEASED.value}' AND again IS NOT :delay)
"""


class SqliteTasks:
    """`LedgerTasks` over the ledger's database."""

    _database: SqliteDatabase

    def lease_due(
        self,
        kinds: Collection[TaskKind],
        *,
        lasting: timedelta,
        bank: str | None = None,
        besides: Collection[str] = (),
        early: bool = False,
    ) -> Task | None:
        """Take the task due longest; see the port."""
        banks = _BESIDES if besides else ""
        banks += "" if bank is None else " bank = :bank AND"
        query = _DUE.format(banks=banks, due="early" if early else "due")
        with self._database.writing() as connection:
            now = to_micros(self._database.clock.now())
            row = None if bank is None else find_bank(connection, bank).id
            values = {**_sets(kinds, besides), "now": now, "bank": row}
            due = raw(connection).execute(query, values).fetchone()
            if due is None:
                return None
            raw(connection).execute(
                "UPDATE tasks SET state = ?, attempts = attempts + 1, lease = lease + 1, lease_until = ? WHERE id = ?",
                (TaskState.LEASED, now + lasting // _MICROSECOND, due[0]),
            )
            return _task(raw(connection).execute(f"{_TASKS} WHERE tasks.id = ?", due).fetchone())

    def renew_lease(self, claim: TaskClaim, *, lasting: timedelta) -> bool:
        """Let a lease last longer; see the port."""
        with self._database.writing() as connection:
            until = to_micros(self._database.clock.now()) + lasting // _MICROSECOND
            query = f"UPDATE tasks SET lease_until = :until WHERE {_HELD}"
            return raw(connection).execute(query, {**_named(claim), "until": until}).rowcount > 0

    def fail_task(
        self, claim: TaskClaim, *, reason: str, retry_in: timedelta | None, counted: bool = True
    ) -> bool:
        """Put a leased task back, or bury it; see the port."""
        with self._database.writing() as connection:
            values = {**_named(claim), "now": to_micros(self._database.clock.now())}
            if retry_in is None:
                query = f"UPDATE tasks SET state = '{TaskState.PENDING.value}', {_BEGIN_ANEW}, lease_until = NULL "
                if raw(connection).execute(f"{query} WHERE {_HELD} AND again IS NOT NULL", values).rowcount:
                    return True
            ended = raw(connection).execute(
                "UPDATE tasks SET state = :state, lease_until = NULL, last_error = :reason, again = NULL, debounce = 0, "
                "not_before = coalesce(:now + :rest, not_before), attempts = attempts - :free, "
                f"uncounted = uncounted + :free WHERE {_HELD}",
                {
                    **values,
                    "state": TaskState.DEAD if retry_in is None else TaskState.PENDING,
                    "reason": reason,
                    "rest": None if retry_in is None else retry_in // _MICROSECOND,
                    "free": int(not counted),
                },
            )
            return ended.rowcount > 0

    def next_due(self, kinds: Collection[TaskKind], *, besides: Collection[str] = ()) -> timedelta | None:
        """How long until the next is due; see the port."""
        query = _NEXT.format(banks=_BESIDES if besides else "")
        with self._database.reading() as connection:
            (due,) = raw(connection).execute(query, _sets(kinds, besides)).fetchone()
            now = to_micros(self._database.clock.now())
            return None if due is None else max(due - now, 0) * _MICROSECOND

    def task_counts(self) -> dict[TaskState, int]:
        """How many tasks of all banks are in which state."""
        with self._database.reading() as connection:
            counts = dict(raw(connection).execute("SELECT state, count(*) FROM tasks GROUP BY state"))
            return {state: counts.get(state, 0) for state in TaskState}

    def make_due(self, bank: str, kinds: Collection[TaskKind]) -> int:
        """Make waiting and dead tasks due; see the port."""
        with self._database.writing() as connection:
            row, now = find_bank(connection, bank).id, to_micros(self._database.clock.now())
            changed = raw(connection).execute(
                "UPDATE tasks SET state = ?, attempts = 0, uncounted = 0, not_before = ?, debounce = 0 "
                f"WHERE bank = ? AND kind IN ({marks(len(kinds))}) AND state IN (?, ?)",
                (TaskState.PENDING, now, row, *kinds, TaskState.PENDING, TaskState.DEAD),
            )
            return changed.rowcount

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of a bank by id."""
        with self._database.reading() as connection:
            query = f"{_TASKS} WHERE tasks.bank = ? ORDER BY tasks.id"
            return [_task(row) for row in raw(connection).execute(query, (find_bank(connection, bank).id,))]


def enqueue(
    connection: Connection, bank: int, writes: Collection[TaskWrite], now: datetime
) -> tuple[Task, ...]:
    """Insert tasks, in order; one whose key is there already is brought up to date. What changes nothing writes nothing."""
    tasks = []
    for write in writes:
        named = {"bank": bank, "kind": write.kind, "key": write.key}
        added = raw(connection).execute(_ENQUEUE, _enqueued(bank, write, now))
        keyed = "tasks.bank = :bank AND kind = :kind AND tasks.key = :key AND tasks.key <> ''"
        where = keyed if write.key else "tasks.id = :id"
        values = named | {"id": added.lastrowid or 0}
        tasks.append(_task(raw(connection).execute(f"{_TASKS} WHERE {where}", values).fetchone()))
    return tuple(tasks)


def enqueue_keys(connection: Connection, bank: int, writes: Collection[TaskWrite], now: datetime) -> None:
    """The same of tasks with keys, many at a time, where nobody asks what became of them."""
    raw(connection).executemany(_ENQUEUE, [_enqueued(bank, write, now) for write in writes])


def _enqueued(bank: int, write: TaskWrite, now: datetime) -> dict[str, Any]:
    """What _ENQUEUE binds."""
    return {
        "bank": bank,
        "kind": write.kind,
        "key": write.key,
        "payload": write.payload,
        "reason": write.reason,
        "delay": write.delay // _MICROSECOND,
        "now": to_micros(now),
    }


def complete(connection: Connection, bank: int, claims: Collection[TaskClaim], now: datetime) -> None:
    """Mark tasks done and forget their payloads; those enqueued again meanwhile are to be done again.

    Raises:
        TaskClosed: a lease is the task's no more; the transaction must be undone.
    """
    pending, done = TaskState.PENDING.value, TaskState.DONE.value
    for claim in claims:
        values = {**_named(claim), "bank": bank, "now": to_micros(now)}
        ended = f"lease_until = NULL WHERE bank = :bank AND {_HELD} AND again"
        more = f"UPDATE tasks SET state = '{pending}', {_BEGIN_ANEW}, {ended} IS NOT NULL"
        last = f"UPDATE tasks SET state = '{done}', payload = '', last_error = '', {ended} IS NULL"
        if not any(raw(connection).execute(query, values).rowcount for query in (more, last)):
            raise TaskClosed(claim.task)


def take_back(connection: Connection, bank: int | None, now: datetime) -> None:
    """End the leases of a bank, or all there are: what their holders make of the tasks cannot be committed any more.

    The tasks are due behind those that are due already. What is taken from a bank's holders was no attempt of theirs; of
    all banks, the holders are gone, and a task that brings its process down each time must come to an end.
    """
    raw(connection).execute(
        "UPDATE tasks SET state = :pending, lease = lease + 1, lease_until = NULL, not_before = :now, debounce = 0, "
        "again = NULL, attempts = attempts - (:bank IS NOT NULL) "
        "WHERE lease_until IS NOT NULL AND (:bank IS NULL OR bank = :bank)",
        {"pending": TaskState.PENDING, "now": to_micros(now), "bank": bank},
    )


def end_leases(database: SqliteDatabase) -> None:
    """Take all tasks back that are leased; for who has just opened the ledger alone."""
    with database.reading() as connection:
        leased = (
            raw(connection).execute("SELECT 1 FROM tasks WHERE lease_until IS NOT NULL LIMIT 1").fetchone()
        )
    if leased:
        with database.writing() as connection:
            take_back(connection, None, database.clock.now())


def _sets(kinds: Collection[TaskKind], besides: Collection[str]) -> dict[str, Any]:
    return {"kinds": json.dumps(sorted(kinds)), "besides": json.dumps(sorted(besides))}


def _named(claim: TaskClaim) -> dict[str, Any]:
    return {"task": claim.task, "lease": claim.lease}


def _task(row: tuple[Any, ...]) -> Task:
    task, bank, kind, key, state, attempts, uncounted, lease, not_before, until, reason, payload = row
    return Task(
        id=task,
        bank=bank,
        kind=TaskKind(kind),
        key=key,
        state=TaskState(state),
        attempts=attempts,
        uncounted=uncounted,
        lease=lease,
        not_before=from_micros(not_before),
        lease_until=None if until is None else from_micros(until),
        reason=reason,
        payload=payload,
    )
