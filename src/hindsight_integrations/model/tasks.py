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
    OBSERVE = "observe"
    """Make an entity's observations again; its key is the entity's id."""
    MERGE_BACKGROUND = "merge_background"
    """Merge what a conversation or document says about the agent into the bank's background."""
    REINFORCE = "reinforce"
    """Assess new facts as evidence of the bank's opinions; one task per bank, its key is `REINFORCED`."""
    REFRESH_MODEL = "refresh_model"
    """Refresh a mental model; its key is the model's id."""
    EXPIRE_ITEMS = "expire_items"
    """Erase expired items."""


REINFORCED = "opinions"
"""Key of a bank's task that assesses evidence; the opinions' `assessed_to` tells which facts are new."""


class TaskState(StrEnum):
    """The state of a task. PENDING and LEASED tasks are unfinished; a DEAD one waits for `tasks.retry`."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"


class WorkerMode(StrEnum):
    """Who processes an engine's tasks in the background."""

    NONE = "none"
    """Nobody; tasks wait for `settle`."""
    OWN = "own"
    """A worker of the engine."""
    ELSEWHERE = "elsewhere"
    """Another process, or a scheduled job."""


@dataclass(frozen=True, slots=True)
class TaskWrite:
    """A task to enqueue.

    With a key, a bank has at most one task of that kind and key. Enqueued again while PENDING, it keeps its
    due time; while LEASED, it runs again `delay` after it is completed; when DONE or DEAD, it starts over.
    The latest payload replaces the earlier one, and so does the reason, if one is given.

    Attributes:
        kind: selects the handler.
        payload: JSON with all the handler needs.
        delay: time from the commit until it is due, by the ledger's clock. For a keyed task it collects
            repeated requests, and `settle` need not wait for it.
        reason: why it exists, for people.
        key: what it is about, if one task is enough for all requests; empty if each is separate.
    """

    kind: TaskKind
    payload: str
    delay: timedelta = timedelta(0)
    reason: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """One lease of a task; invalid once the task is leased again.

    Attributes:
        task: the task's id.
        lease: number of the lease, from 1.
    """

    task: int
    lease: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task in the ledger.

    Attributes:
        id: its number, never reused.
        bank: its bank.
        kind: selects the handler.
        key: see `TaskWrite`.
        state: its state.
        attempts: number of counted leases since it was enqueued, including the current one.
        uncounted: number of leases not counted, because their failure was not the task's fault.
        lease: number of leases ever.
        not_before: when it is due, by the ledger's clock.
        lease_until: while LEASED, when the lease ends and it is due again; otherwise None.
        reason: why it exists, or why the last attempt failed.
        payload: JSON with all the handler needs; empty once DONE, so that no text outlives its use.
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

    @property
    def claim(self) -> TaskClaim:
        """Its latest lease."""
        return TaskClaim(self.id, self.lease)
