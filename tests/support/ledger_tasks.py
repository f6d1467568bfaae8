"""Shared helpers of the ledger's tests of tasks: leases, failures, commits that enqueue or complete them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from builders import BANK, make_units, make_write_set
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState, TaskWrite

PARKED, QUEUED, OBSERVE = TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED, TaskKind.OBSERVE
KINDS = tuple(TaskKind)
NOW = timedelta(0)
MINUTE = timedelta(minutes=1)


def enqueued(ledger: Ledger, *writes: TaskWrite, bank: str = BANK) -> tuple[Task, ...]:
    """Commit tasks at the bank's current revision."""
    return commit(ledger, replace(make_write_set(ledger.revision(bank), bank=bank), tasks=writes)).tasks


def completed(ledger: Ledger, *claims: TaskClaim, unit: str = "") -> None:
    """Commit the completion of tasks, with a unit as their result."""
    units = make_units(unit) if unit else ()
    writes = make_write_set(ledger.revision(BANK), units=units)
    commit(ledger, replace(writes, completed_tasks=claims))


def work(payload: str, delay: timedelta = NOW, kind: TaskKind = PARKED, key: str = "") -> TaskWrite:
    """A task."""
    return TaskWrite(kind, payload, delay, f"because of {payload}", key)


def leased(ledger: Ledger, *, bank: str | None = None, early: bool = False) -> Task:
    """Lease a task for a minute; there must be one."""
    task = ledger.tasks.lease(KINDS, lasting=MINUTE, bank=bank, early=early)
    assert task is not None
    return task


def idle(ledger: Ledger, *, early: bool = False) -> bool:
    """Whether no task is due."""
    return ledger.tasks.lease(KINDS, lasting=MINUTE, early=early) is None


def state(ledger: Ledger, task: int) -> TaskState:
    """The state of a task."""
    return next(each.state for each in ledger.tasks.of_bank(BANK) if each.id == task)


def _all(lists: Iterable[list[str]]) -> list[str]:
    return [each for one in lists for each in one]
