"""Tasks in a ledger file: taken over by the process that opens the file, and found by index."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import BANK, at, make_write_set
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite
from hindsight_integrations.testing.doubles import FrozenClock

KINDS = tuple(TaskKind)
HOUR = timedelta(hours=1)


def opened_with(path: Path, clock: FrozenClock, *tasks: TaskWrite) -> Ledger:
    """A ledger with these tasks."""
    ledger = Ledger.open(path, clock=clock)
    ledger.create_bank(BANK)
    commit(ledger, replace(make_write_set(), tasks=tasks))
    return ledger


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(at(10))


def test_opening_ends_all_leases(tmp_path: Path, clock: FrozenClock) -> None:
    """A task whose process was killed is due at once in the next, after tasks that are due already; the attempt counts."""
    tasks = (TaskWrite(TaskKind.EXTRACT_QUEUED, text) for text in ("kills", "sound"))
    ledger = opened_with(tmp_path, clock, *tasks)
    killing = ledger.tasks.lease(KINDS, lasting=HOUR)
    assert killing is not None
    ledger.close()
    clock.advance(timedelta(seconds=1))
    again = Ledger.open(tmp_path, clock=clock)
    assert not again.tasks.renew(killing.claim, lasting=HOUR)
    found = [again.tasks.lease(KINDS, lasting=HOUR) for _ in range(2)]
    assert [(task.payload, task.attempts) for task in found if task] == [("sound", 1), ("kills", 2)]
    reader = Ledger.open(tmp_path, read_only=True)
    assert {task.state for task in reader.tasks.of_bank(BANK)} == {TaskState.LEASED}
    reader.close()
    again.close()


@pytest.mark.parametrize("early", [False, True], ids=["due", "early"])
@pytest.mark.parametrize("bank", [None, BANK], ids=["all banks", "one bank"])
def test_the_next_task_is_found_by_index(
    tmp_path: Path, clock: FrozenClock, bank: str | None, *, early: bool
) -> None:
    """However many tasks wait, are delayed or done, in however many banks, leasing one and finding the next due time scan no table."""
    ledger = opened_with(tmp_path, clock, TaskWrite(TaskKind.OBSERVE, "{}", key="a"))
    statements: list[str] = []
    with ledger._database.writing() as writer:
        raw(writer).set_trace_callback(statements.append)
    with ledger._database.reading() as reader:
        raw(reader).set_trace_callback(statements.append)
    assert ledger.tasks.lease(KINDS, lasting=HOUR, bank=bank, early=early) is not None
    assert ledger.tasks.next_due(KINDS) is not None
    queries = [text for text in statements if "json_each" in text]
    with ledger._database.reading() as reader:
        raw(reader).set_trace_callback(None)
        plans = [
            [str(step[3]) for step in raw(reader).execute(f"EXPLAIN QUERY PLAN {text}")] for text in queries
        ]
    with ledger._database.writing() as writer:
        raw(writer).set_trace_callback(None)
    (leasing, waiting) = ([step for step in plan if step.startswith("SEARCH task")] for plan in plans)
    index = f"tasks{'_bank' if bank else ''}_{'early' if early else 'due'}"
    assert [f" {index} " in step for step in leasing] == [True] * len(KINDS)
    assert [" tasks_due " in step for step in waiting] == [True] * len(KINDS)
    scans = [step.split()[1] for plan in plans for step in plan if step.startswith("SCAN")]
    assert {"task", "tasks", "banks"}.isdisjoint(scans)
    ledger.close()
