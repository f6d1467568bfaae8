"""Tasks: leased and failed here, enqueued and completed by a commit."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from sqlite3 import Connection
from typing import Any

from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.rows import find_bank, marks
from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.model.tasks import Task, TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros

_COLUMNS = "id, kind, state, attempts, not_before, lease_until, last_error, payload"


class SqliteTasks:
    """`LedgerTasks` over the ledger's connections."""

    _connections: Connections

    def lease_task(
        self, bank: str, kinds: Collection[TaskKind], *, now: datetime, until: datetime
    ) -> Task | None:
        """Take the task due longest; see the port."""
        with self._connections.writing() as connection:
            due = connection.execute(
                f"SELECT id FROM tasks WHERE bank = ? AND kind IN ({marks(len(kinds))}) AND "
                "((state = ? AND not_before <= ?) OR (state = ? AND lease_until <= ?)) "
                "ORDER BY not_before, id LIMIT 1",
                (
                    find_bank(connection, bank).id,
                    *kinds,
                    TaskState.PENDING,
                    to_micros(now),
                    TaskState.LEASED,
                    to_micros(now),
                ),
            ).fetchone()
            if due is None:
                return None
            taken = connection.execute(
                "UPDATE tasks SET state = ?, attempts = attempts + 1, lease_until = ? WHERE id = ? "
                f"RETURNING {_COLUMNS}",
                (TaskState.LEASED, to_micros(until), due[0]),
            ).fetchone()
            return _task(taken)

    def fail_task(self, bank: str, task: int, *, reason: str, retry_at: datetime | None) -> None:
        """Put a leased task back, or bury it; see the port."""
        state = TaskState.DEAD if retry_at is None else TaskState.PENDING
        due = None if retry_at is None else to_micros(retry_at)
        with self._connections.writing() as connection:
            connection.execute(
                "UPDATE tasks SET state = ?, lease_until = NULL, last_error = ?, not_before = coalesce(?, not_before) "
                "WHERE bank = ? AND id = ? AND state = ?",
                (state, reason, due, find_bank(connection, bank).id, task, TaskState.LEASED),
            )

    def make_due(self, bank: str, kinds: Collection[TaskKind], *, now: datetime) -> int:
        """Make waiting and dead tasks due; see the port."""
        with self._connections.writing() as connection:
            row = find_bank(connection, bank).id
            changed = connection.execute(
                "UPDATE tasks SET state = ?, attempts = 0, not_before = ? "
                f"WHERE bank = ? AND kind IN ({marks(len(kinds))}) AND state IN (?, ?)",
                (TaskState.PENDING, to_micros(now), row, *kinds, TaskState.PENDING, TaskState.DEAD),
            )
            return changed.rowcount

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of a bank by id."""
        with self._connections.reading() as connection:
            query = f"SELECT {_COLUMNS} FROM tasks WHERE bank = ? ORDER BY id"
            return [_task(row) for row in connection.execute(query, (find_bank(connection, bank).id,))]


def enqueue(connection: Connection, bank: int, writes: Collection[TaskWrite]) -> tuple[Task, ...]:
    """Insert tasks, in order."""
    insert = (
        "INSERT INTO tasks (bank, kind, payload, state, not_before, last_error) VALUES (?, ?, ?, ?, ?, ?) "
        f"RETURNING {_COLUMNS}"
    )
    rows = (
        (bank, write.kind, write.payload, TaskState.PENDING, to_micros(write.not_before), write.reason)
        for write in writes
    )
    return tuple(_task(connection.execute(insert, row).fetchone()) for row in rows)


def complete(connection: Connection, bank: int, ids: Collection[int]) -> None:
    """Mark tasks done and forget their payloads.

    Raises:
        TaskClosed: one is done or dead already, or unknown; the transaction must be undone.
    """
    for task in ids:
        done = connection.execute(
            "UPDATE tasks SET state = ?, payload = '', lease_until = NULL, last_error = '' "
            "WHERE bank = ? AND id = ? AND state IN (?, ?)",
            (TaskState.DONE, bank, task, TaskState.PENDING, TaskState.LEASED),
        )
        if done.rowcount == 0:
            raise TaskClosed(task)


def _task(row: tuple[Any, ...]) -> Task:
    task, kind, state, attempts, not_before, lease_until, reason, payload = row
    ends = None if lease_until is None else from_micros(lease_until)
    return Task(
        task, TaskKind(kind), TaskState(state), attempts, from_micros(not_before), ends, reason, payload
    )
