"""`settle` of the engine: it runs the due tasks of all banks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from waiting_work import (
    SECONDS,
    Opened,
    Reader,
    config,
    queue,
    waiting,
)

from hindsight_integrations import (
    Hindsight,
    InvalidRequest,
    Settled,
)
from hindsight_integrations.model.tasks import TaskKind, TaskState


def test_settling_all_banks_is_the_same_on_both_apis(opened: Opened, reader: Reader) -> None:
    """`settle` runs the due tasks of every bank, calls `progress` for each, and returns the sum of the results."""
    for settle in (lambda engine, **told: engine.settle(**told), settled_by_await):
        engine = opened()
        told: list[Settled] = []
        queue(engine, range(7))
        settled = settle(engine, progress=told.append)
        assert (settled.created, len(settled.done), len(told)) == (7, 7, 7)
        assert settled.tokens_in == sum(each.tokens_in for each in told) > 0
        assert settle(engine, progress=None).done == ()


def settled_by_await(engine: Hindsight, **told: Any) -> Any:
    return asyncio.run(engine.asynchronous.settle(**told))


def test_settling_can_wait_for_what_is_due_later(opened: Opened, reader: Reader) -> None:
    """By default later tasks are left; with wait=True `settle` waits until none is left."""
    engine = opened()
    queue(engine, [0, 1])
    ledger = engine.asynchronous._services.ledger
    task = ledger.tasks.lease(tuple(TaskKind), lasting=timedelta(minutes=1), bank="bank 0")
    assert task is not None
    ledger.tasks.fail(task.claim, reason="rests", retry_in=timedelta(seconds=0.3))
    assert engine.settle().created == 1
    assert engine.settle(wait=True).created == 1
    assert engine.doctor().tasks.next_due is None


def test_settling_gives_a_model_three_chances(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the model is down, `settle` ends after a few calls, and the other tasks wait unchanged."""
    monkeypatch.setattr("hindsight_integrations.engine.worker.FIRST_PAUSE", 0.01)
    engine = opened(config=config(concurrent_tasks=1))
    reader.outage = True
    queue(engine, range(9))
    assert len(engine.settle().failed) == 3
    assert (waiting(engine), engine.doctor().tasks.next_due) == (9, timedelta(0))
    reader.outage = False
    assert engine.settle().created == 6


def test_settling_does_not_wait_for_a_model_nobody_needs(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the only due task has failed, the model is not needed, and `settle` ends."""
    monkeypatch.setattr("hindsight_integrations.engine.worker.FIRST_PAUSE", 3600.0)
    engine = opened()
    reader.outage = True
    queue(engine, [0])
    assert len(engine.settle().failed) == 1


def test_a_cancelled_settle_gives_its_tasks_back(opened: Opened, reader: Reader) -> None:
    """Cancelling leaves the tasks as they were."""
    engine = opened()
    queue(engine, range(3))
    reader.gate.clear()

    async def given_up() -> None:
        settling = asyncio.create_task(engine.asynchronous.settle())
        for _ in range(3):
            assert await asyncio.to_thread(reader.begun.acquire, timeout=SECONDS)
        settling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await settling

    asyncio.run(given_up())
    reader.gate.set()
    tasks = [engine.bank(f"bank {number}").tasks.list()[0] for number in range(3)]
    assert [(task.state, task.attempts) for task in tasks] == [(TaskState.PENDING, 0)] * 3


def test_settle_checks_its_arguments(opened: Opened, tmp_path: Path) -> None:
    """The error for a value that is not callable, or for a read-only engine, names it."""
    opened(tmp_path).close()
    with pytest.raises(InvalidRequest, match="progress"):
        opened().settle(progress=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"settle.*read-only"):
        opened(tmp_path, read_only=True).settle()
