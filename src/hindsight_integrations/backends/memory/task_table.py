"""One bank's tasks in a dict by id: what a commit does to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.model.tasks import Task, TaskState, TaskWrite

TaskTable = dict[int, Task]


def check_open(tasks: TaskTable, ids: Iterable[int]) -> None:
    """Raises TaskClosed if one is not to be done any more."""
    for task in ids:
        if task not in tasks or tasks[task].state not in (TaskState.PENDING, TaskState.LEASED):
            raise TaskClosed(task)


def complete(tasks: TaskTable, ids: Iterable[int]) -> None:
    """Mark tasks done and forget their payloads."""
    for task in ids:
        tasks[task] = replace(tasks[task], state=TaskState.DONE, payload="", lease_until=None, reason="")


def enqueue(tasks: TaskTable, writes: Iterable[TaskWrite], numbers: Iterator[int]) -> tuple[Task, ...]:
    """Add tasks under the next numbers, in order."""
    return tuple(_added(tasks, write, next(numbers)) for write in writes)


def _added(tasks: TaskTable, write: TaskWrite, task: int) -> Task:
    tasks[task] = Task(
        task, write.kind, TaskState.PENDING, 0, write.not_before, None, write.reason, write.payload
    )
    return tasks[task]
