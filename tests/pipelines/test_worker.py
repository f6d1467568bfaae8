"""The worker: what waits is done by a thread of the engine's own, when it is due, until close."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hindsight_integrations import (
    AsyncHindsight,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    Message,
    ModelUnavailable,
    Settled,
)
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.engine import draining
from hindsight_integrations.engine.draining import Draining
from hindsight_integrations.errors import LedgerFailed
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.ports.clock import SystemClock
from hindsight_integrations.ports.language_model import Completion
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

PASSAGE = re.compile(r"^\[(?P<id>[^\]]+)\] \([^)]*\) [^:]+: (?P<text>.+)$", re.MULTILINE)
RETAINING: ContextVar[bool] = ContextVar("RETAINING", default=False)
SECONDS = 20  # how long a test waits for what takes milliseconds
Opened = Callable[..., Hindsight]


def config(**changes: Any) -> HindsightConfig:
    storage = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5, open_banks=changes.pop("open_banks", 8))
    retain = RetainConfig(on_model_failure="queue")
    return HindsightConfig(storage=storage, retain=retain, observations=ObservationConfig("off"), **changes)


class Reader:
    """A model that states what each message says; down, hanging or at a loss when the test says so.

    It is down for whoever retains in a `RETAINING` context, so that there is work to do; with `outage` for everybody.
    """

    def __init__(self) -> None:
        self.outage = False
        self.poison = ""
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.begun = threading.Semaphore(0)
        self.watch: Callable[[], object] = lambda: None

    def __call__(self, messages: list[BaseMessage]) -> Any:
        said = PASSAGE.findall(str(messages[1].text))
        if RETAINING.get():
            raise ModelUnavailable("test", "down")
        self.asked.append(said[0][1])
        self.begun.release()
        self.watch()
        assert self.gate.wait(SECONDS)
        if self.outage:
            raise ModelUnavailable("test", "down")
        if self.poison and self.poison in said[0][1]:
            return "no json"
        return {"facts": [{"what": text, "sources": [place]} for place, text in said]}


def thing(number: int) -> str:
    return f"The keeper owns kayak {number}."


def queue(engine: Hindsight, banks: Sequence[int], texts: Sequence[str] = ()) -> None:
    """Messages that wait for the model, in each bank."""
    retaining = RETAINING.set(True)
    for number in banks:
        for place, text in enumerate(texts or [thing(number)]):
            message = Message(text, "Ann", "2024-05-03T10:00", id=f"m{place}")
            engine.bank(f"bank {number}").retain([message])
    RETAINING.reset(retaining)


def until(true: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.005)


@contextmanager
def elsewhere(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """A call on another thread; in the block, a function that waits for its result."""
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(call)
        yield lambda: future.result(SECONDS)


def texts(engine: Hindsight, number: int) -> list[str]:
    return [unit.text for unit in engine.bank(f"bank {number}").units().units if unit.kind == "memory"]


def waiting(engine: Hindsight) -> int:
    return engine.doctor().tasks.waiting


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def opened(opener: Callable[..., Hindsight], reader: Reader) -> Iterator[Opened]:
    """Opens engines with the reading model, on the machine's clock; what hangs is let go at the end."""

    def open_engine(path: str | Path = ":memory:", **options: Any) -> Hindsight:
        settings = options.pop("config", None) or config()
        return opener(path, model=ScriptedModel(reader), config=settings, clock=SystemClock(), **options)

    yield open_engine
    reader.gate.set()


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_what_waits_is_done_without_a_call(
    opened: Opened, reader: Reader, tmp_path: Path, where: str
) -> None:
    """Messages queued while the model was down become memories by themselves, each once."""
    engine = opened(tmp_path if where == "disk" else ":memory:", worker=True)
    queue(engine, range(6))
    until(lambda: waiting(engine) == 0)
    assert [texts(engine, number) for number in range(6)] == [[thing(number)] for number in range(6)]
    health = engine.doctor().tasks
    assert (health.worker, health.working, health.dead, health.next_due) == ("own", True, 0, None)


def test_without_a_worker_nothing_runs(opened: Opened, reader: Reader) -> None:
    """Neither by default nor with worker="elsewhere" is there a thread or a call that nobody made."""
    engine = opened()
    queue(engine, [0])
    assert not [thread for thread in threading.enumerate() if thread.name == "hindsight-worker"]
    assert (reader.asked, waiting(engine)) == ([], 1)
    assert engine.doctor().tasks.worker == "none"


def test_a_worker_elsewhere_is_told_of(opened: Opened, reader: Reader, tmp_path: Path) -> None:
    """An engine that leaves the work to others says so, does nothing by itself, and settles when it is called."""
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


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"worker": True, "read_only": True}, "read-only"),
        ({"worker": "elsewhere", "path": ":memory:"}, "this process"),
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
    with pytest.raises(InvalidRequest, match="Allow 1 or more"):
        HindsightConfig(concurrent_tasks=0)


def test_several_banks_at_once_but_never_two_tasks_of_one(opened: Opened, reader: Reader) -> None:
    """Four tasks are under way, of four banks; of a bank with many, one after the other."""
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
    """A worker over thirty banks keeps to `open_banks`; the writer may open one beyond."""
    engine = opened(config=config(open_banks=2), worker=True)
    seen: list[int] = []
    reader.watch = lambda: seen.append(len(engine.asynchronous._banks.projections()))
    queue(engine, range(30))
    until(lambda: waiting(engine) == 0)
    assert [texts(engine, number) for number in range(30)] == [[thing(number)] for number in range(30)]
    assert max(seen) <= 3


def test_while_nothing_is_due_it_sleeps(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle it waits for a call, without an end in sight, and so again once it has done what it was called for."""
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
    """A task put off is done when its time has come, though nobody writes anything meanwhile."""
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger = engine.asynchronous._tools.ledger
    (task,) = engine.bank("bank 0").tasks.list()
    ledger.fail_task(task.claim, reason="put off", retry_in=timedelta(seconds=0.3), counted=False)
    reader.gate.set()
    until(lambda: texts(engine, 0))
    assert [task.state for task in engine.bank("bank 0").tasks.list()] == [TaskState.DONE]
    assert texts(engine, 0) == [thing(0)]


def test_closing_is_prompt_and_gives_back_what_was_begun(
    opened: Opened, reader: Reader, tmp_path: Path
) -> None:
    """A model that does not answer does not keep close waiting; its tasks are as if nobody had begun them."""
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
    """A model that calls `close` in the worker's own thread would wait for itself; it is refused instead."""
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
    """An engine dropped without being closed is collected; its worker does not keep it, and ends."""
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
    """A bank forgotten while its task is under way: nothing of it comes back, and other banks' work goes on."""
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


def test_a_failure_of_the_worker_itself_is_told_and_it_goes_on(
    opened: Opened, reader: Reader, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that cannot be read is in the log and in `doctor`; once it can, the worker does what waits."""
    monkeypatch.setattr("hindsight_integrations.engine.worker.FIRST_REST", 0.05)
    broken = threading.Event()
    engine = opened(worker=True)
    ledger = engine.asynchronous._tools.ledger
    next_due = ledger.next_due

    def failing(*arguments: Any, **options: Any) -> Any:
        if broken.is_set() and threading.current_thread().name.startswith("hindsight-read") and options:
            raise LedgerFailed(Path("memory"), "disk I/O error")
        return next_due(*arguments, **options)

    monkeypatch.setattr(ledger, "next_due", failing)
    broken.set()
    queue(engine, [0])
    until(lambda: "disk I/O error" in engine.doctor().tasks.last_failure)
    assert "the worker failed" in caplog.text
    assert engine.doctor().tasks.working
    broken.clear()
    until(lambda: texts(engine, 0))
    assert engine.doctor().tasks.last_failure == ""


def test_not_even_an_exit_ends_the_worker(
    opened: Opened, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SystemExit out of a model, which would end a thread without a word, is told of; the worker goes on."""
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
        assert "SystemExit" in caplog.text
        queue(engine, [1])
        until(lambda: texts(engine, 1))
        assert engine.doctor().tasks.working


def test_an_unavailable_model_is_left_alone(opened: Opened, reader: Reader) -> None:
    """Of thirty tasks only those under way and one a pause reach a model that is down; back, it gets them all."""
    engine = opened(worker=True)
    reader.outage = True
    queue(engine, range(30))
    until(lambda: engine.doctor().tasks.last_failure)
    assert "ModelUnavailable" in engine.doctor().tasks.last_failure
    assert len(reader.asked) <= 4 + 2
    assert max(task.attempts for n in range(30) for task in engine.bank(f"bank {n}").tasks.list()) == 0
    reader.outage = False
    asked = len(reader.asked)
    until(lambda: waiting(engine) <= asked)  # those that failed rest for a minute


def test_a_poisoned_task_holds_nobody_up(opened: Opened, reader: Reader) -> None:
    """A passage that fails every time waits for its next try; the others are done meanwhile."""
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
    """While a task takes many times its lease, nobody else is given it."""
    monkeypatch.setattr(draining, "LEASE", timedelta(seconds=0.3))
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger, end = engine.asynchronous._tools.ledger, time.monotonic() + 1.5
    while time.monotonic() < end:
        assert ledger.lease_due(tuple(TaskKind), lasting=timedelta(0), bank="bank 0") is None
        time.sleep(0.01)
    reader.gate.set()
    until(lambda: texts(engine, 0))
    (task,) = engine.bank("bank 0").tasks.list()
    assert (task.state, task.lease) == (TaskState.DONE, 1)


def test_a_stolen_lease_is_noticed(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whose lease went to somebody else stops at once, says so, and writes nothing."""
    monkeypatch.setattr(draining, "LEASE", timedelta(seconds=0.3))
    engine = opened(worker=True)
    reader.gate.clear()
    queue(engine, [0])
    assert reader.begun.acquire(timeout=SECONDS)
    ledger = engine.asynchronous._tools.ledger
    (task,) = engine.bank("bank 0").tasks.list()
    ledger.fail_task(task.claim, reason="", retry_in=timedelta(0))
    thief = ledger.lease_due(tuple(TaskKind), lasting=timedelta(hours=1), bank="bank 0")
    assert thief is not None
    until(lambda: "taken over" in caplog.text)
    reader.gate.set()
    assert waiting(engine) == 1
    assert texts(engine, 0) == []


def test_settling_all_banks_is_the_same_on_both_faces(opened: Opened, reader: Reader) -> None:
    """`settle` does what is due in every bank, tells of each task, and gives back what all brought together."""
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
    """By default what rests is left; with wait=True it is waited for, until nothing waits."""
    engine = opened()
    queue(engine, [0, 1])
    ledger = engine.asynchronous._tools.ledger
    task = ledger.lease_due(tuple(TaskKind), lasting=timedelta(minutes=1), bank="bank 0")
    assert task is not None
    ledger.fail_task(task.claim, reason="rests", retry_in=timedelta(seconds=0.3))
    assert engine.settle().created == 1
    assert engine.settle(wait=True).created == 1
    assert engine.doctor().tasks.next_due is None


def test_settling_gives_a_model_three_chances(
    opened: Opened, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the model down `settle` ends soon, having asked a few times, and what it did not try waits as it did."""
    monkeypatch.setattr("hindsight_integrations.engine.outage.FIRST_PAUSE", 0.01)
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
    """Where the one task that is due has failed, there is nothing to ask the model for, and `settle` ends."""
    monkeypatch.setattr("hindsight_integrations.engine.outage.FIRST_PAUSE", 3600.0)
    engine = opened()
    reader.outage = True
    queue(engine, [0])
    assert len(engine.settle().failed) == 1


def test_a_cancelled_settle_gives_its_tasks_back(opened: Opened, reader: Reader) -> None:
    """Whoever gives up waiting leaves tasks as they were."""
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
    """What cannot be called, and an engine that may not write, are refused by name."""
    opened(tmp_path).close()
    with pytest.raises(InvalidRequest, match="progress"):
        opened().settle(progress=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"settle.*read-only"):
        opened(tmp_path, read_only=True).settle()
