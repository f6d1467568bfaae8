"""The contract of the task queue without a database: a list that is searched from end to end."""

from __future__ import annotations

from dataclasses import dataclass, field

from hindsight_integrations.model.tasks import TaskState

PENDING, LEASED, DONE, DEAD = TaskState.PENDING, TaskState.LEASED, TaskState.DONE, TaskState.DEAD
LASTING = 60


@dataclass
class QueuedTask:
    """A task, its times in seconds."""

    id: int
    bank: str
    key: str
    payload: str
    due: int
    debounce: int
    state: TaskState = PENDING
    attempts: int = 0
    uncounted: int = 0
    lease: int = 0
    again: int | None = None

    def begin_anew(self, due: int, debounce: int) -> None:
        self.state, self.due, self.debounce = PENDING, due, debounce
        self.attempts = self.uncounted = 0
        self.again = None


@dataclass
class TaskQueue:
    """The reference queue; a claim is (task id, lease)."""

    now: int = 0
    tasks: list[QueuedTask] = field(default_factory=list)

    def enqueue(self, bank: str, key: str, payload: str, delay: int) -> None:
        same = [task for task in self.tasks if key and (task.bank, task.key) == (bank, key)]
        if not same:
            debounce = delay if key else 0
            self.tasks.append(QueuedTask(len(self.tasks), bank, key, payload, self.now + delay, debounce))
            return
        (task,) = same
        task.payload = payload
        if task.state is LEASED:
            task.again = delay
        elif task.state is not PENDING:
            task.begin_anew(self.now + delay, delay)

    def lease(self, bank: str | None, *, early: bool) -> tuple[int, int] | None:
        waiting = [
            task for task in self.tasks if task.state in (PENDING, LEASED) and bank in (None, task.bank)
        ]
        order = {
            task.id: task.due - (task.debounce if early and task.state is PENDING else 0) for task in waiting
        }
        due = sorted((when, task) for task, when in order.items() if when <= self.now)
        if not due:
            return None
        task = self.tasks[due[0][1]]
        task.state, task.due = LEASED, self.now + LASTING
        task.attempts += 1
        task.lease += 1
        return task.id, task.lease

    def renew(self, claim: tuple[int, int]) -> bool:
        if (task := self._held(claim)) is None:
            return False
        task.due = self.now + LASTING
        return True

    def fail(self, claim: tuple[int, int], retry_in: int | None, *, counted: bool) -> bool:
        if (task := self._held(claim)) is None:
            return False
        if retry_in is None and task.again is not None:
            task.begin_anew(self.now + task.again, task.again)
            return True
        task.state = DEAD if retry_in is None else PENDING
        task.due, task.debounce, task.again = self.now + (retry_in or 0), 0, None
        task.attempts -= not counted
        task.uncounted += not counted
        return True

    def complete(self, claim: tuple[int, int]) -> bool:
        if (task := self._held(claim)) is None:
            return False
        if task.again is None:
            task.state, task.payload = DONE, ""
        else:
            task.begin_anew(self.now + task.again, task.again)
        return True

    def make_due(self, bank: str) -> int:
        waiting = [task for task in self.tasks if task.bank == bank and task.state in (PENDING, DEAD)]
        for task in waiting:
            task.begin_anew(self.now, 0)
        return len(waiting)

    def next_due(self) -> int | None:
        waiting = [task.due for task in self.tasks if task.state in (PENDING, LEASED)]
        return max(min(waiting) - self.now, 0) if waiting else None

    def _held(self, claim: tuple[int, int]) -> QueuedTask | None:
        task = self.tasks[claim[0]]
        return task if task.state is LEASED and task.lease == claim[1] else None
