"""Tasks: work that waits in the ledger until somebody does it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class TaskKind(StrEnum):
    """What a task is for."""

    EXTRACT_PARKED = "extract_parked"
    """Extract a passage for which the model gave no usable answer."""
    EXTRACT_QUEUED = "extract_queued"
    """Extract a passage that was retained while the model was unavailable."""
    OBSERVE = "observe"
    """Make the observations of an entity anew; its key is the entity's id."""
    MERGE_BACKGROUND = "merge_background"
    """Merge what a conversation or document says of the agent into the bank's background."""
    REINFORCE = "reinforce"
    """Assess new facts as evidence of the bank's opinions; one task a bank, its key is `REINFORCED`."""
    REFRESH_MODEL = "refresh_model"
    """Answer a mental model's standing question anew; its key is the model's id."""
    EXPIRE_ITEMS = "expire_items"
    """Erase items whose time has run out."""


REINFORCED = "opinions"
"""Key of a bank's task that assesses evidence: which facts, the opinions' own `assessed_to` says."""


class TaskState(StrEnum):
    """Where a task stands. PENDING and LEASED ones are still to be done; a DEAD one waits for `tasks.retry`."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"


class WorkerMode(StrEnum):
    """Who does an engine's tasks without being called."""

    NONE = "none"
    """Nobody: they wait for `settle`."""
    OWN = "own"
    """A worker of the engine's own."""
    ELSEWHERE = "elsewhere"
    """Another process, or a job that is run every so often."""


@dataclass(frozen=True, slots=True)
class TaskWrite:
    """A task to be.

    With a key, a bank has at most one task of that kind and key. Enqueued again while it is PENDING, it stays due when it
    was; while it is LEASED, it is done once more, `delay` after its holder completed it; DONE or DEAD, it begins anew.
    The payload is that of the last time, and so is the reason, where one was given: why a task rests is not forgotten.

    Attributes:
        kind: which handler does it.
        payload: JSON with all the handler needs.
        delay: due so long after the commit, by the ledger's clock. Of a task with a key it lets more of the same come
            together, and whoever settles need not wait for it.
        reason: why it is there, for people.
        key: what it is about, where one task is enough for all that is enqueued of it; empty where each is one.
    """

    kind: TaskKind
    payload: str
    delay: timedelta = timedelta(0)
    reason: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """One lease of a task. Once another lease of it has begun, it is good for nothing.

    Attributes:
        task: the task's id.
        lease: which of its leases, from 1.
    """

    task: int
    lease: int


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the ledger holds it.

    Attributes:
        id: its number, never given again.
        bank: the bank whose work it is.
        kind: which handler does it.
        key: see `TaskWrite`.
        state: where it stands.
        attempts: how many leases count as attempts, of those since it was enqueued; the present one is among them.
        uncounted: how many of them do not, since nothing was the task's fault.
        lease: how often it was ever leased.
        not_before: due from then on, by the ledger's clock.
        lease_until: while LEASED, when the lease ends and it is due again; None otherwise.
        reason: why it is there, or why the last attempt failed.
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
        """Its last lease: the present one, to whom it was leased."""
        return TaskClaim(self.id, self.lease)
