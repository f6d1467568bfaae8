"""Failures under a worker: its own, those of the model, a task or a lease; each is reported and delays no other task."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from waiting_work import (
    RETAINING,
    SECONDS,
    Opened,
    Reader,
    config,
    queue,
    texts,
    thing,
    until,
    waiting,
)

from hindsight_integrations import (
    ExtractedFact,
    Hindsight,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.config import ObservationConfig
from hindsight_integrations.engine import worker
from hindsight_integrations.errors import LedgerFailed
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.models.protocols import Completion
from hindsight_integrations.testing.doubles import HashEmbedder


def test_a_failure_of_the_worker_itself_is_told_and_it_goes_on(
    opened: Opened, reader: Reader, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log and `doctor` report a ledger that cannot be read; when it can, the worker runs the waiting tasks."""
    monkeypatch.setattr("hindsight_integrations.engine.worker.FIRST_REST", 0.05)
    broken = threading.Event()
    engine = opened(worker=True)
    ledger = engine.asynchronous._services.ledger
    next_due = ledger.tasks.next_due

    def failing(*arguments: Any, **options: Any) -> Any:
        if broken.is_set() and threading.current_thread().name.startswith("hindsight-read") and options:
            raise LedgerFailed(Path("memory"), "disk I/O error")
        return next_due(*arguments, **options)

    monkeypatch.setattr(ledger.tasks, "next_due", failing)
    broken.set()
    queue(engine, [0])
    until(lambda: "disk I/O error" in engine.doctor().tasks.last_failure)
    assert "the worker failed" in caplog.text
    assert engine.doctor().tasks.working
    broken.clear()
    until(lambda: texts(engine, 0))
    until(
        lambda: engine.doctor().tasks.last_failure == ""
    )  # reported again until a successful round has ended


def test_not_even_an_exit_ends_the_worker(
    opened: Opened, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SystemExit raised by a model, which would end a thread silently, is reported; the worker continues."""
    monkeypatch.setattr("hindsight_integrations.engine.worker.FIRST_REST", 0.05)

    class Exiting:
        name = "exiting"

        async def complete(self, prompt: Any) -> Any:
            if RETAINING.get():
                raise ModelUnavailable("exiting", "down")
            if "kayak 0" in prompt.messages[-1].text:
                raise SystemExit(3)
            return Completion(
                prompt.schema.model_validate({"facts": [{"what": thing(1), "sources": ["m0"]}]})
            )

    with Hindsight.open(
        ":memory:", model=Exiting(), embeddings=HashEmbedder(), reranker=None, config=config(), worker=True
    ) as engine:
        queue(engine, [0])
        until(lambda: "SystemExit" in engine.doctor().tasks.last_failure)
        until(lambda: "SystemExit" in caplog.text)  # logged shortly after
        queue(engine, [1])
        until(lambda: texts(engine, 1))
        assert engine.doctor().tasks.working


def test_an_unavailable_model_is_left_alone(opened: Opened, reader: Reader, tmp_path: Path) -> None:
    """Of thirty tasks only the running ones and one per pause call a model that is down; when it works, all run."""
    with opened(tmp_path) as engine:
        queue(engine, range(30))
    reader.outage = True
    engine = opened(tmp_path, worker=True)
    until(lambda: "ModelUnavailable" in engine.doctor().tasks.last_failure)
    assert len(reader.asked) <= 4 + 2
    reader.outage = False
    until(lambda: waiting(engine) <= 4 + 2)
    tasks = [engine.bank(f"bank {number}").tasks.list()[0] for number in range(30)]
    resting = [task for task in tasks if task.state is not TaskState.DONE]  # for a minute
    assert {(task.state, task.attempts, task.uncounted) for task in resting} == {(TaskState.PENDING, 0, 1)}


def test_what_needs_no_model_goes_on_without_it(opened: Opened, reader: Reader) -> None:
    """While the model is down and passages wait for it, rule-based observations are made."""
    engine = opened(
        worker=True,
        config=config(observations=ObservationConfig("extractive", delay_s=0.0), concurrent_tasks=1),
    )
    reader.outage = True
    queue(engine, range(3))
    until(lambda: "ModelUnavailable" in engine.doctor().tasks.last_failure)
    bank = engine.bank("bank 9")
    said = Message("Ann rows.", "Ann", "2024-05-03T10:00", id="m1")
    bank.retain(
        [said],
        facts=[
            ExtractedFact.model_validate(
                {"what": "Ann rows on Sundays.", "entities": ["Ann"], "sources": ["m1"]}
            )
        ],
    )
    until(lambda: bank.entities.observations("Ann").observations)
    assert waiting(engine) == 3


def test_a_poisoned_task_holds_nobody_up(opened: Opened, reader: Reader) -> None:
    """A passage that always fails waits for its next attempt; the others run meanwhile."""
    reader.poison = "kayak 0"
    engine = opened(worker=True, config=config(concurrent_tasks=1))
    queue(engine, range(5))
    until(lambda: waiting(engine) == 1)
    (task,) = engine.bank("bank 0").tasks.list()
    assert (task.state, task.attempts) == (TaskState.PENDING, 1)
    assert "MalformedOutput" in engine.doctor().tasks.last_failure


def test_a_handler_slower_than_its_lease_keeps_it(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a task takes longer than its lease, no other worker gets it."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=1))
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger, end = engine.asynchronous._services.ledger, time.monotonic() + 2.5
    while time.monotonic() < end:
        assert ledger.tasks.lease(tuple(TaskKind), lasting=timedelta(0), bank="bank 0") is None
        time.sleep(0.01)
    reader.gate.set()
    until(lambda: texts(engine, 0))
    (task,) = engine.bank("bank 0").tasks.list()
    assert (task.state, task.lease) == (TaskState.DONE, 1)


@pytest.mark.promise(
    "With `worker=True`, waiting tasks run automatically, and each takes effect exactly once, even if the process is killed at any moment."
)
def test_a_stolen_lease_is_noticed(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker whose lease was taken over stops at once, reports it, and writes nothing."""
    monkeypatch.setattr(worker, "LEASE", timedelta(seconds=0.3))
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger = engine.asynchronous._services.ledger
    (task,) = engine.bank("bank 0").tasks.list()
    ledger.tasks.fail(task.claim, reason="", retry_in=timedelta(0))
    thief = ledger.tasks.lease(tuple(TaskKind), lasting=timedelta(hours=1), bank="bank 0")
    assert thief is not None
    until(lambda: "lost its lease" in caplog.text)
    reader.gate.set()
    assert waiting(engine) == 1
    assert texts(engine, 0) == []
