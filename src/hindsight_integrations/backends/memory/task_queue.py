"""The dict-backed task queue over the banks' tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.backends.memory.banks import DictBanks
from hindsight_integrations.model.tasks import Task, TaskKind, TaskState


class DictTasks(DictBanks):
    """The TaskQueue port over every bank's table."""

    def lease_task(
        self, bank: str, kinds: Collection[TaskKind], *, now: datetime, until: datetime
    ) -> Task | None:
        """Take the task due longest."""
        with self._bank(bank) as state:
            due = [task for task in state.tasks.values() if task.kind in kinds and _due(task, now)]
            if not due:
                return None
            first = min(due, key=lambda task: (task.not_before, task.id))
            taken = replace(first, state=TaskState.LEASED, attempts=first.attempts + 1, lease_until=until)
            state.tasks[first.id] = taken
            return taken

    def fail_task(self, bank: str, task: int, *, reason: str, retry_at: datetime | None) -> None:
        """Put a leased task back, or bury it."""
        with self._bank(bank) as state:
            held = state.tasks.get(task)
            if held is None or held.state is not TaskState.LEASED:
                return
            state.tasks[task] = replace(
                held,
                state=TaskState.DEAD if retry_at is None else TaskState.PENDING,
                lease_until=None,
                reason=reason,
                not_before=retry_at or held.not_before,
            )

    def make_due(self, bank: str, kinds: Collection[TaskKind], *, now: datetime) -> int:
        """Make waiting and dead tasks due."""
        with self._bank(bank) as state:
            waiting = [
                task
                for task in state.tasks.values()
                if task.kind in kinds and task.state in (TaskState.PENDING, TaskState.DEAD)
            ]
            for task in waiting:
                state.tasks[task.id] = replace(task, state=TaskState.PENDING, attempts=0, not_before=now)
            return len(waiting)

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of a bank by id."""
        with self._bank(bank) as state:
            return list(state.tasks.values())


def _due(task: Task, now: datetime) -> bool:
    if task.state is TaskState.LEASED:
        return task.lease_until is not None and task.lease_until <= now
    return task.state is TaskState.PENDING and task.not_before <= now
