"""The worker: waiting tasks are run by a thread of the engine when they are due, until close."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from table import every_row
from waiting_work import (
    RETAINING,
    SECONDS,
    Opened,
    Reader,
    config,
    elsewhere,
    queue,
    texts,
    thing,
    until,
    waiting,
)

from hindsight_integrations import (
    AsyncHindsight,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    ModelUnavailable,
)
from hindsight_integrations.config import RetentionConfig
from hindsight_integrations.engine.worker import Draining
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.doubles import HashEmbedder


@pytest.mark.promise(
    "With `worker=True`, waiting tasks run automatically, and each takes effect exactly once, even if the process is killed at any moment."
)
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_what_waits_is_done_without_a_call(
    opened: Opened, reader: Reader, tmp_path: Path, where: str
) -> None:
    """Messages queued while the model was down become memories automatically, each once."""
    engine = opened(tmp_path if where == "disk" else ":memory:", worker=True)
    queue(engine, range(6))
    until(lambda: waiting(engine) == 0)
    assert [texts(engine, number) for number in range(6)] == [[thing(number)] for number in range(6)]
    health = engine.doctor().tasks
    assert (health.worker, health.working, health.dead, health.next_due) == ("own", True, 0, None)


@pytest.mark.promise("No task runs in the background unless you ask for it.")
def test_without_a_worker_nothing_runs(opened: Opened, reader: Reader) -> None:
    """Neither by default nor with worker="elsewhere" is there a thread or an automatic call."""
    engine = opened()
    queue(engine, [0])
    assert not [thread for thread in threading.enumerate() if thread.name == "hindsight-worker"]
    assert (reader.asked, waiting(engine)) == ([], 1)
    assert engine.doctor().tasks.worker == "none"


@pytest.mark.promise("No task runs in the background unless you ask for it.")
def test_a_worker_elsewhere_is_told_of(opened: Opened, reader: Reader, tmp_path: Path) -> None:
    """An engine with worker="elsewhere" says so, runs nothing by itself, and settles when it is called."""
    engine = opened(tmp_path, worker="elsewhere")
    queue(engine, [0])
    health = engine.doctor().tasks
    assert (health.worker, health.working, health.waiting, health.next_due) == (
        "elsewhere",
        False,
        1,
        timedelta(0),
    )
    assert engine.settle().created == 1


@pytest.mark.directory
@every_row(
    ("options", "match"),
    [
        ({"worker": True, "read_only": True}, "read-only"),
        ({"worker": "elsewhere", "path": ":memory:"}, "in-memory bank"),
        ({"worker": "somewhere"}, "True, False or 'elsewhere'"),
        ({"worker": 1}, "True, False or 'elsewhere'"),
    ],
)
def test_a_worker_that_could_do_nothing_is_refused(
    opened: Opened, tmp_path: Path, options: dict[str, Any], match: str
) -> None:
    """The error says what to use, and the directory is not left locked."""
    opened(tmp_path).close()
    with pytest.raises(InvalidRequest, match=match):
        opened(**{"path": tmp_path, **options})
    opened(tmp_path).close()


def test_no_task_at_all_at_once_cannot_be_asked_for() -> None:
    with pytest.raises(InvalidRequest, match="Use 1 or more"):
        HindsightConfig(concurrent_tasks=0)


def test_several_banks_at_once_but_never_two_tasks_of_one(opened: Opened, reader: Reader) -> None:
    """Four tasks of four banks run concurrently; those of one bank run one after the other."""
    engine = opened(config=config(concurrent_tasks=4))
    queue(engine, [0], [thing(number) for number in range(5)])
    queue(engine, range(1, 4))
    reader.gate.clear()
    with elsewhere(engine.settle) as settling:
        for _ in range(4):
            assert reader.begun.acquire(timeout=SECONDS)
        assert not reader.begun.acquire(timeout=0.05)
        assert sorted(reader.asked) == [thing(number) for number in range(4)]
        reader.gate.set()
        assert settling().created == 8
    assert len(texts(engine, 0)) == 5


def test_no_more_banks_are_open_than_may_be(opened: Opened, reader: Reader) -> None:
    """A worker for thirty banks respects `open_banks`; the writer may open one more."""
    engine = opened(config=config(open_banks=2), worker=True)
    seen: list[int] = []
    reader.watch = lambda: seen.append(len(engine.asynchronous._banks.projections()))
    queue(engine, range(30))
    until(lambda: waiting(engine) == 0)
    assert [texts(engine, number) for number in range(30)] == [[thing(number)] for number in range(30)]
    assert max(seen) <= 3


@pytest.mark.directory
def test_while_nothing_is_due_it_sleeps(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle worker waits without a timeout, also after running a task."""
    sleeps: list[float | None] = []
    wait = Draining._wait

    async def noted(self: Draining, seconds: float | None) -> None:
        sleeps.append(seconds)
        await wait(self, seconds)

    monkeypatch.setattr(Draining, "_wait", noted)
    engine = opened(worker=True)
    until(lambda: sleeps)
    assert sleeps == [None]
    queue(engine, [0])
    until(lambda: waiting(engine) == 0 and sleeps[-1] is None)


def test_a_task_that_is_due_later_is_done_then(opened: Opened, reader: Reader) -> None:
    """A postponed task runs at its time, even if nothing is written meanwhile."""
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger = engine.asynchronous._services.ledger
    (task,) = engine.bank("bank 0").tasks.list()
    ledger.tasks.fail(task.claim, reason="put off", retry_in=timedelta(seconds=0.3), counted=False)
    reader.gate.set()
    until(lambda: texts(engine, 0))
    assert [task.state for task in engine.bank("bank 0").tasks.list()] == [TaskState.DONE]
    assert texts(engine, 0) == [thing(0)]


def test_closing_is_prompt_and_gives_back_what_was_begun(
    opened: Opened, reader: Reader, tmp_path: Path
) -> None:
    """A model that does not answer does not delay close; its tasks are released."""
    engine = opened(tmp_path, worker=True)
    reader.gate.clear()
    queue(engine, range(3))
    for _ in range(3):
        assert reader.begun.acquire(timeout=SECONDS)
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 5
    assert not [thread for thread in threading.enumerate() if thread.name == "hindsight-worker"]
    reader.gate.set()
    with opened(tmp_path) as again:
        for number in range(3):
            (task,) = again.bank(f"bank {number}").tasks.list()
            assert (task.state, task.attempts) == (TaskState.PENDING, 0)
        assert again.settle().created == 3


def test_what_the_worker_runs_cannot_close_its_engine(opened: Opened, reader: Reader, tmp_path: Path) -> None:
    """A model that calls `close` in the worker's own thread would wait for itself; the call is rejected."""
    refused: list[bool] = []

    class Closing:
        name = "closing"

        async def complete(self, prompt: Any) -> Any:
            if not RETAINING.get():
                with pytest.raises(InvalidRequest, match="another thread"):
                    engine.close()
                refused.append(True)
            raise ModelUnavailable("closing", "down")

    engine = Hindsight.open(
        tmp_path, model=Closing(), embeddings=HashEmbedder(), reranker=None, config=config(), worker=True
    )
    queue(engine, [0])
    until(lambda: refused)
    engine.close()


def test_an_engine_that_nobody_holds_ends_its_worker(
    opened: Opened, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    """An engine dropped without close is collected; its worker does not keep it alive, and ends."""
    engine = AsyncHindsight.open(
        ":memory:", embeddings=HashEmbedder(), reranker=None, config=config(), worker=True
    )
    gone, thread = weakref.ref(engine), engine._worker._thread  # type: ignore[union-attr]
    del engine
    gc.collect()
    assert gone() is None
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_a_forgotten_bank_stops_nobody(
    opened: Opened, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    """A bank is forgotten while its task runs: nothing of it comes back, and other banks' tasks continue."""
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0, 1])
    for _ in range(2):
        assert reader.begun.acquire(timeout=SECONDS)
    engine.forget_bank("bank 0")
    reader.gate.set()
    queue(engine, [2])
    until(lambda: waiting(engine) == 0)
    assert [texts(engine, number) for number in (1, 2)] == [[thing(1)], [thing(2)]]
    assert "bank 0" not in engine.banks()
    assert texts(engine, 0) == []
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_worker_erases_what_is_too_old(opened: Opened, reader: Reader, tmp_path: Path) -> None:
    """Memories older than the retention limit are erased when a process with a worker starts."""
    engine = opened(tmp_path)
    engine.bank("alice").retain("An old note.", timestamp="2001-01-01", document_id="old")
    engine.bank("alice").retain("A new note.", document_id="new")
    engine.close()
    engine = opened(tmp_path, worker=True, config=config(retention=RetentionConfig(days=365)))
    until(lambda: engine.bank("alice").count() == 1)
    assert [unit.text for unit in engine.bank("alice").units()] == ["A new note."]
