"""The TaskQueue part of the SQLite ledger."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from hindsight_integrations.backends.ledger.sqlite import banks, task_rows
from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.model.tasks import Task, TaskKind


class SqliteTasks:
    """Tasks of every bank, over the ledger's connections."""

    _connections: Connections

    def lease_task(
        self, bank: str, kinds: Collection[TaskKind], *, now: datetime, until: datetime
    ) -> Task | None:
        """Take the task due longest."""
        with self._connections.writing() as connection:
            row = banks.find(connection, bank).id
            return task_rows.lease(connection, row, kinds, now=now, until=until)

    def fail_task(self, bank: str, task: int, *, reason: str, retry_at: datetime | None) -> None:
        """Put a leased task back, or bury it."""
        with self._connections.writing() as connection:
            row = banks.find(connection, bank).id
            task_rows.fail(connection, row, task, reason=reason, retry_at=retry_at)

    def make_due(self, bank: str, kinds: Collection[TaskKind], *, now: datetime) -> int:
        """Make waiting and dead tasks due."""
        with self._connections.writing() as connection:
            return task_rows.make_due(connection, banks.find(connection, bank).id, kinds, now=now)

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of a bank by id."""
        with self._connections.reading() as connection:
            return task_rows.listed(connection, banks.find(connection, bank).id)
