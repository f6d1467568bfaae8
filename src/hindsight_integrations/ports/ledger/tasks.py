"""LedgerTasks: durable work of a bank. Enqueued and completed by a commit, in one transaction with what it writes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.tasks import Task, TaskKind


class LedgerTasks(Protocol):
    """A queue with leases: a task whose holder was killed is due again once its lease has ended.

    Called from the engine's writer thread, `tasks` from any. None of these raises the bank's revision.
    """

    def lease_task(
        self, bank: str, kinds: Collection[TaskKind], *, now: datetime, until: datetime
    ) -> Task | None:
        """Take the task of these kinds that has been due longest; None if none is due.

        Due are PENDING tasks whose `not_before` has come and LEASED ones whose lease has ended. Its attempts are one
        more and its state is durable before this returns.
        """
        ...

    def fail_task(self, bank: str, task: int, *, reason: str, retry_at: datetime | None) -> None:
        """A LEASED task goes back to PENDING until `retry_at`, or DEAD if that is None; any other is left alone."""
        ...

    def make_due(self, bank: str, kinds: Collection[TaskKind], *, now: datetime) -> int:
        """PENDING and DEAD tasks of these kinds are due now, with no attempts counted; returns how many."""
        ...

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of the bank, in the order they were enqueued, those done and dead included."""
        ...
