"""Tasks: work that waits in the ledger until `settle` does it (decision 020)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class TaskKind(StrEnum):
    """What a task is for."""

    EXTRACT_PARKED = "extract_parked"
    """Extract a passage for which the model gave no usable answer."""
    EXTRACT_QUEUED = "extract_queued"
    """Extract a passage that was retained while the model was unavailable."""


class TaskState(StrEnum):
    """Where a task stands. PENDING and LEASED ones are still to be done; a DEAD one waits for `tasks.retry`."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class TaskWrite:
    """A task to be.

    Attributes:
        kind: which handler does it.
        payload: JSON with all the handler needs.
        not_before: due from then on (aware UTC).
        reason: why it is there, for people.
    """

    kind: TaskKind
    payload: str
    not_before: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the ledger holds it.

    Attributes:
        id: its number, never given again.
        kind: which handler does it.
        state: where it stands.
        attempts: how often it was begun.
        not_before: due from then on.
        lease_until: while LEASED, when the lease ends and it is due again; None otherwise.
        reason: why it is there, or why the last attempt failed.
        payload: JSON with all the handler needs; empty once DONE, so that no text outlives its use.
    """

    id: int
    kind: TaskKind
    state: TaskState
    attempts: int
    not_before: datetime
    lease_until: datetime | None
    reason: str
    payload: str
