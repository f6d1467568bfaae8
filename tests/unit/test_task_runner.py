"""Running one task: its lease is renewed while it runs, and ends correctly however the task ends."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import ParamSpec, cast

import pytest
from builders import BANK, make_units, make_write_set
from ledger_support import commit

from hindsight_integrations.bank.tasks import (
    LEASE,
    MAX_ATTEMPTS,
    RENEWALS,
    Handler,
    TaskRun,
    lease_task,
    retry_delay,
    run_task,
)
from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.errors import (
    BankForgotten,
    EmbedderMismatch,
    EngineClosed,
    LedgerBusy,
    ModelUnavailable,
    TaskClosed,
)
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState, TaskWrite
from hindsight_integrations.services import Services
from hindsight_integrations.testing.doubles import FrozenClock

P = ParamSpec("P")

KINDS = tuple(TaskKind)
MINUTE = timedelta(minutes=1)


@dataclass
class Engine:
    """The parts of an engine that the runner needs, with a clock on which sleeping takes no time."""

    ledger: Ledger
    workers: Workers
    clock: FrozenClock

    async def sleep(self, seconds: float) -> None:
        """Advance the clock instead of sleeping."""
        await asyncio.sleep(0)
        self.clock.advance(timedelta(seconds=seconds))

    @property
    def services(self) -> Services:
        """The services that the runner uses: the ledger and the threads."""
        return cast("Services", self)

    def enqueue(self, *payloads: str) -> None:
        writes = make_write_set(self.ledger.revision(BANK))
        tasks = tuple(TaskWrite(TaskKind.EXTRACT_QUEUED, payload) for payload in payloads)
        commit(self.ledger, replace(writes, tasks=tasks))

    def lease(self) -> Task:
        task = self.ledger.tasks.lease(KINDS, lasting=LEASE)
        assert task is not None
        return task

    async def run(self, task: Task, handler: Handler) -> TaskRun:
        return await run_task(task, handler, self.services, sleep=self.sleep)

    def end(self, claim: TaskClaim, unit: str) -> Settled:
        """Commit a unit as the task's effect, and complete the task."""
        writes = make_write_set(self.ledger.revision(BANK), units=make_units(unit))
        commit(self.ledger, replace(writes, completed_tasks=(claim,)))
        return Settled(created=1)

    async def effect(self, task: Task) -> Settled:
        """A handler whose effect is a unit named like the payload."""
        return await self.workers.write(self.end, task.claim, task.payload)

    @property
    def task(self) -> Task:
        """Return the first task."""
        return self.ledger.tasks.of_bank(BANK)[0]


@asynccontextmanager
async def opened(*payloads: str) -> AsyncIterator[Engine]:
    clock = FrozenClock()
    ledger = Ledger.open(":memory:", clock=clock)
    ledger.create_bank(BANK)
    engine = Engine(ledger, Workers(1), clock)
    engine.enqueue(*payloads)
    yield engine
    engine.workers.close()
    ledger.close()


def on_a_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    """Run a coroutine test."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def failing(error: Exception) -> Handler:
    """A handler that raises."""

    async def fail(task: Task) -> Settled:
        raise error

    return fail


@on_a_loop
async def test_a_handler_that_takes_ten_minutes_keeps_its_lease() -> None:
    """A long task keeps its lease and is completed once, at the first attempt."""
    async with opened("u") as engine:
        taken = []

        async def slow(task: Task) -> Settled:
            began = engine.clock.now()
            while engine.clock.now() < began + 10 * MINUTE:
                taken.append(await engine.workers.write(engine.ledger.tasks.lease, KINDS, lasting=LEASE))
            return await engine.effect(task)

        run = await engine.run(engine.lease(), slow)
        assert (run.failure, run.settled.created, set(taken)) == (None, 1, {None})
        assert len(taken) >= 10 * MINUTE / (LEASE / RENEWALS)
        assert (engine.task.state, engine.task.lease) == (TaskState.DONE, 1)


@pytest.mark.parametrize("how", ["taken over", "erased"])
@on_a_loop
async def test_a_stolen_lease_is_noticed(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """A holder that loses its lease is stopped and logged, and nothing of it is committed."""
    async with opened("u") as engine:
        stopped = asyncio.Event()
        task = engine.lease()

        async def steal() -> None:
            engine.clock.advance(2 * LEASE)
            other = await engine.workers.write(engine.ledger.tasks.lease, KINDS, lasting=LEASE)
            assert other is not None
            assert other.claim == TaskClaim(task.bank, task.id, 2)

        async def asleep(task: Task) -> Settled:
            if how == "taken over":
                await steal()
            else:
                await engine.workers.write(engine.ledger.erasure.drop_bank, BANK)
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            raise AssertionError

        run = await engine.run(task, asleep)
        assert isinstance(run.failure, TaskClosed)
        assert (list(run.settled.failed), run.settled.done, stopped.is_set()) == ([task.id], (), True)
        assert "lost its lease" in caplog.text
        if how == "taken over":
            assert (engine.task.state, engine.task.lease, engine.task.attempts) == (TaskState.LEASED, 2, 2)


@on_a_loop
async def test_a_late_holder_changes_nothing() -> None:
    """A late holder's commit and failure are rejected; the new holder is not affected."""
    async with opened("u") as engine:
        late = engine.lease()
        engine.clock.advance(2 * LEASE)
        holder = engine.lease()
        for handler in (engine.effect, failing(KeyError("x"))):
            run = await run_task(late, handler, engine.services)
            assert run.failure is not None
            assert engine.task == holder
            assert engine.ledger.units.count(BANK) == 0
        assert (await run_task(holder, engine.effect, engine.services)).settled.done == (holder.id,)
        assert engine.ledger.units.count(BANK) == 1


@on_a_loop
async def test_poison_is_dead_after_twelve_attempts_and_the_others_are_done() -> None:
    """A task that always fails is delayed longer each time, blocks no others, and is abandoned after twelve attempts."""
    async with opened("poison", *(f"u{number}" for number in range(9))) as engine:

        async def handle(task: Task) -> Settled:
            if task.payload == "poison":
                raise KeyError("poison")
            return await engine.effect(task)

        order, began = [], engine.clock.now()
        while engine.task.state is not TaskState.DEAD:
            task = engine.ledger.tasks.lease(KINDS, lasting=LEASE)
            if task is None:
                engine.clock.advance(MINUTE)
                continue
            order.append(task.payload)
            await engine.run(task, handle)
        assert order == ["poison", *(f"u{number}" for number in range(9)), *["poison"] * (MAX_ATTEMPTS - 1)]
        assert engine.ledger.units.count(BANK) == 9
        rests = sum((retry_delay(attempt) for attempt in range(1, MAX_ATTEMPTS)), timedelta(0))
        assert rests <= engine.clock.now() - began <= rests + MAX_ATTEMPTS * MINUTE


@on_a_loop
async def test_a_graceful_stop_gives_the_lease_back() -> None:
    """A cancelled task is due again immediately, without counting the attempt."""
    async with opened("u") as engine:
        begun = asyncio.Event()

        async def slow(task: Task) -> Settled:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        running = asyncio.create_task(engine.run(engine.lease(), slow))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (engine.task.state, engine.task.attempts) == (TaskState.PENDING, 0)
        assert (await engine.run(engine.lease(), engine.effect)).settled.created == 1


@on_a_loop
async def test_a_stop_while_a_task_is_leased_leaves_it_to_others() -> None:
    """A cancellation during leasing leaves the task available."""
    async with opened("u") as engine:
        held = threading.Event()
        blocking = asyncio.ensure_future(engine.workers.write(held.wait, 60))
        leasing = asyncio.create_task(lease_task(KINDS, engine.services))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        leasing.cancel()
        await asyncio.sleep(0)
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await leasing
        await blocking
        assert (engine.task.state, engine.task.attempts, engine.task.lease) == (TaskState.PENDING, 0, 1)


@on_a_loop
async def test_what_is_being_committed_at_a_stop_stays_committed() -> None:
    """A cancellation during the commit neither repeats nor loses the effect."""
    async with opened("u") as engine:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def end(claim: TaskClaim) -> Settled:
            loop.call_soon_threadsafe(started.set)
            return engine.end(claim, "u")

        async def handle(task: Task) -> Settled:
            return await engine.workers.write(end, task.claim)

        running = asyncio.create_task(engine.run(engine.lease(), handle))
        await started.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        assert (engine.task.state, engine.ledger.units.count(BANK)) == (TaskState.DONE, 1)


@pytest.mark.parametrize(
    "error",
    [ModelUnavailable("m", "down"), EmbedderMismatch(BANK, "one", "another")],
    ids=["model", "embedder"],
)
@on_a_loop
async def test_what_is_not_the_tasks_fault_is_no_attempt(error: Exception) -> None:
    """Postponements through no fault of the task do not count as attempts."""
    async with opened("u") as engine:
        for _ in range(2 * MAX_ATTEMPTS):
            run = await engine.run(engine.lease(), failing(error))
            assert run.failure is error
            engine.clock.advance(5 * MINUTE)
        assert (engine.task.state, engine.task.attempts) == (TaskState.PENDING, 0)


@on_a_loop
async def test_a_task_of_a_forgotten_bank_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A task whose bank was forgotten is not a failure."""
    caplog.set_level(logging.INFO)
    async with opened("u") as engine:
        run = await engine.run(engine.lease(), failing(BankForgotten(BANK)))
        assert (run.settled, type(run.failure)) == (Settled(), BankForgotten)
        assert caplog.text == ""


@on_a_loop
async def test_a_ledger_that_is_busy_for_once_costs_no_lease(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A failed renewal is retried well before the lease ends."""
    async with opened("u") as engine:
        renew, calls = engine.ledger.tasks.renew, []
        enough, loop = asyncio.Event(), asyncio.get_running_loop()

        def busy_at_first(claim: TaskClaim, *, lasting: timedelta) -> bool:
            calls.append(claim)
            if len(calls) == 6:
                loop.call_soon_threadsafe(enough.set)
            if len(calls) == 1:
                raise LedgerBusy(Path(), None)
            return renew(claim, lasting=lasting)

        monkeypatch.setattr(engine.ledger.tasks, "renew", busy_at_first)

        async def slow(task: Task) -> Settled:
            await enough.wait()
            return await engine.effect(task)

        assert (await engine.run(engine.lease(), slow)).settled.created == 1
        assert "could not be renewed" in caplog.text


@on_a_loop
async def test_a_closed_engine_leaves_the_task_to_the_next() -> None:
    """If the engine is closed during a task, the lease expires by itself."""
    async with opened("u") as engine:

        async def close(task: Task) -> Settled:
            engine.workers.close()
            return await engine.effect(task)

        with pytest.raises(EngineClosed):
            await engine.run(engine.lease(), close)
        assert engine.task.state is TaskState.LEASED
        engine.clock.advance(LEASE)
        assert engine.lease().attempts == 2


@on_a_loop
async def test_a_task_begun_too_often_is_given_up() -> None:
    """A task whose process was killed at every attempt is abandoned."""
    async with opened("u") as engine:
        for _ in range(MAX_ATTEMPTS):
            engine.lease()
            engine.clock.advance(LEASE)
        run = await engine.run(engine.lease(), engine.effect)
        assert ("never finished" in run.settled.failed[engine.task.id], engine.task.state) == (
            True,
            TaskState.DEAD,
        )
