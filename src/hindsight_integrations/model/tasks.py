"""Tasks: deferred work stored in the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class TaskKind(StrEnum):
    """The kinds of tasks."""

    EXTRACT_PARKED = "extract_parked"
    """Extract a passage for which the model gave no usable answer."""
    EXTRACT_QUEUED = "extract_queued"
    """Extract a passage that was retained while the model was unavailable."""
    EXTRACT_WAITING = "extract_waiting"
    """Extract a passage together with the others of its conversation; see `Batch`."""
    OBSERVE = "observe"
    """Update an entity's observations; the key is the entity's id."""
    MERGE_BACKGROUND = "merge_background"
    """Merge a statement about the agent into the bank's background."""
    REINFORCE = "reinforce"
    """Assess new facts as evidence for or against the bank's opinions; one task per bank, with the key `REINFORCED`."""
    REFRESH_MODEL = "refresh_model"
    """Refresh a mental model; the key is the model's id."""
    EXPIRE_ITEMS = "expire_items"
    """Erase expired items."""


REINFORCED = "opinions"
"""The key of a bank's task that assesses evidence; facts after an opinion's `assessed_to` are new."""


class TaskState(StrEnum):
    """The state of a task. PENDING and LEASED tasks are unfinished; a DEAD task runs again only after `tasks.retry`."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"


class WorkerMode(StrEnum):
    """The process that runs an engine's tasks in the background."""

    NONE = "none"
    """None; tasks run only when `settle` is called."""
    OWN = "own"
    """A worker of the engine."""
    ELSEWHERE = "elsewhere"
    """Another process, or a scheduled job."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A group of tasks that run together.

    A new task postpones the waiting ones, so that the group is due after a pause.

    If a new task does not fit in `room` beside the waiting ones, these are due at once, and the new task starts another
    group.

    Attributes:
        name: the name of the group, unique within bank and kind.
        size: the size of the task.
        room: the maximum total size of the waiting tasks, in the same unit.
    """

    name: str
    size: int
    room: int


@dataclass(frozen=True, slots=True)
class TaskWrite:
    """A task to enqueue.

    A bank has at most one task of a kind and key. If a keyed task is enqueued again while PENDING, it keeps its due
    time; while LEASED, it runs again `delay` after its completion; when DONE or DEAD, it starts over. The new payload
    replaces the earlier one. A non-empty reason replaces the earlier reason.

    Attributes:
        kind: the kind, which selects the handler.
        payload: the handler's input as JSON.
        delay: the time from the commit until the task is due, by the ledger's clock. Requests made during the delay of
            a keyed or batched task share one run; `settle` ignores the delay.
        reason: the reason for the task, in human-readable form.
        key: the subject of the task, if one task serves all requests for it; empty if each request is a separate task.
        batch: the group of tasks with which it runs; None for a task that runs alone.
    """

    kind: TaskKind
    payload: str
    delay: timedelta = timedelta(0)
    reason: str = ""
    key: str = ""
    batch: Batch | None = None


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """One lease of a task; invalid after the task is leased again.

    Attributes:
        bank: the name of the task's bank.
        task: the task's id.
        lease: the number of the lease, from 1.
    """

    bank: str
    task: int
    lease: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task in the ledger.

    Attributes:
        id: the number of the task, never reused.
        bank: the bank's name.
        kind: the kind, which selects the handler.
        key: the key, as in `TaskWrite`.
        state: the state.
        attempts: the number of counted leases since it was enqueued, including the current one.
        uncounted: the number of leases that are not counted, because the task did not cause their failure.
        lease: the total number of leases.
        not_before: the due time, by the ledger's clock.
        lease_until: the end of the lease while LEASED, after which the task is due again; otherwise None.
        reason: the reason for the task, or for the failure of the last attempt.
        payload: the handler's input as JSON; empty when DONE, so that its text is not kept longer than needed.
        batch: the name of its `Batch`; empty for a task that runs alone.
        others: the tasks of its batch that were leased with it.
    """

    id: int
    bank: str
    kind: TaskKind
    key: str
    state: TaskState
    attempts: int
    uncounted: int
    lease: int
    not_before: datetime
    lease_until: datetime | None
    reason: str
    payload: str
    batch: str = ""
    others: tuple[Task, ...] = ()

    @property
    def claim(self) -> TaskClaim:
        """The latest lease of the task."""
        return TaskClaim(self.bank, self.id, self.lease)

    @property
    def members(self) -> tuple[Task, ...]:
        """The task and those leased with it, in the order they were enqueued."""
        return tuple(sorted((self, *self.others), key=lambda task: task.id))
