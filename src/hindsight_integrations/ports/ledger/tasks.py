"""LedgerTasks: durable work of all banks. Enqueued and completed by a commit, in one transaction with what it writes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState


class LedgerTasks(Protocol):
    """A queue with leases: a task whose holder was killed is due again once its lease has ended.

    Many threads and processes may take from it at once. The time is the ledger's alone: callers give durations, so that
    their clocks need not agree. A holder names its lease by a claim, and one whose lease is no longer the task's last
    changes nothing. None of these methods raises a bank's revision.
    """

    def lease_due(
        self,
        kinds: Collection[TaskKind],
        *,
        lasting: timedelta,
        bank: str | None = None,
        besides: Collection[str] = (),
        early: bool = False,
    ) -> Task | None:
        """Take the task of these kinds that has been due longest; None if none is due.

        Due are PENDING tasks whose time has come and LEASED ones whose lease has ended. The lease, counted as an attempt,
        is durable before this returns.

        Args:
            kinds: what the caller can do.
            lasting: how long the lease lasts unless it is renewed.
            bank: of this bank alone; None takes from all, at the same cost however many there are.
            besides: of none of these banks; who does one task of a bank at a time names those that are busy.
            early: a task with a key that was not leased since it was enqueued is due whatever its delay.

        Raises:
            BankNotFound: there is no bank of that name.
        """
        ...

    def renew_lease(self, claim: TaskClaim, *, lasting: timedelta) -> bool:
        """Let a lease last so long from now on; False if it is the task's no more: taken over, taken back, or done."""
        ...

    def fail_task(
        self, claim: TaskClaim, *, reason: str, retry_in: timedelta | None, counted: bool = True
    ) -> bool:
        """End a lease without an outcome; False, and nothing is changed, if it is the task's no more.

        Args:
            claim: the lease.
            reason: why, for people; replaces the task's reason.
            retry_in: PENDING again, due so long from now; None makes it DEAD. DEAD and enqueued again meanwhile, it
                begins anew.
            counted: whether it was an attempt.
        """
        ...

    def next_due(self, kinds: Collection[TaskKind], *, besides: Collection[str] = ()) -> timedelta | None:
        """How long until a task of these kinds is due in any bank but those: zero if one is, None if none waits."""
        ...

    def task_counts(self) -> dict[TaskState, int]:
        """How many tasks of all banks are in each state."""
        ...

    def make_due(self, bank: str, kinds: Collection[TaskKind]) -> int:
        """PENDING and DEAD tasks of these kinds are due now, with no attempts counted; returns how many."""
        ...

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of the bank, in the order they were first enqueued, those done and dead included."""
        ...
