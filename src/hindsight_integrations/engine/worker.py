"""Worker: a thread that does an engine's due tasks until it is closed, and sleeps while none is due."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from traceback import extract_tb

from hindsight_integrations.bank import BankContext, OpenBanks
from hindsight_integrations.bank.tasks import (
    AT_THEIR_TIME,
    LEASE,
    TaskRun,
    able_kinds,
    handlers,
    lease_task,
    model_kinds,
    run_task,
)
from hindsight_integrations.errors import (
    BankNotFound,
    EngineClosed,
    HindsightError,
    MalformedOutput,
    ModelRefused,
    ModelUnavailable,
)
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.services import Services


class Wakeups:
    """What a sleeping coroutine is called by.

    Calling takes no lock and waits for nothing, so that a finalizer, the hook of a fork and the thread of a commit may do it.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._called = asyncio.Event()
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop, for good."""
        return self._stopped

    def listen(self) -> None:
        """From here on calls reach the running event loop; earlier ones are forgotten, unless they were to stop."""
        self._loop = asyncio.get_running_loop()

    def call(self) -> None:
        """Something may be to do."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(self._called.set)

    def stop(self) -> None:
        """It is to stop."""
        self._stopped = True
        self.call()

    def abandon(self) -> None:
        """In a forked child: the loop is the parent's, and must not be called through the pipe they share."""
        self._loop, self._stopped = None, True

    def clear(self) -> None:
        """Forget the calls so far: what they were about is looked at next."""
        self._called.clear()

    async def wait(self) -> None:
        """Until the first call since `clear`."""
        if not self._stopped:
            await self._called.wait()


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds. One call that timed out costs the other tasks a second; an hour without the model about twenty calls."""


@dataclass(slots=True)
class Outage:
    """Failures of the model one after the other: each doubles the pause, and one answer ends it.

    Times are seconds of one monotonic clock.

    Attributes:
        failures: calls that failed since the model last answered; those asked at the same time count as one.
        until: when it may be asked again, one call at a time until one is answered.
    """

    failures: int = 0
    until: float = 0.0

    def failed(self, now: float) -> None:
        """The model could not be asked; while it is left alone anyway, that says nothing new."""
        if now >= self.until:
            self.until = now + min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)
            self.failures += 1

    def answered(self) -> None:
        """The model is back."""
        self.failures, self.until = 0, 0.0

    def may_ask(self, now: float, *, asking: bool) -> bool:
        """Whether one more call may be made.

        Args:
            now: the time.
            asking: a call is under way.
        """
        return not self.failures or (now >= self.until and not asking)


SHORTEST_SLEEP, LONGEST_SLEEP = 0.05, 300.0
"""Seconds. The clock of tasks may stand still, be set back or forth: a sleep neither spins nor is overslept for long."""

PATIENCE = 3
"""Failures of the model in a row after which nobody waits for it who does not wait for ever."""


class Until(Enum):
    """When a draining ends by itself."""

    NOTHING_IS_DUE = "nothing is due"
    """Or the model is unavailable."""
    NOTHING_WAITS = "nothing waits"
    """That could be done: what is due later is waited for."""
    STOPPED = "stopped"


class Draining:
    """Leases due tasks of all banks and does them, on whatever event loop it is run.

    Args:
        services: the engine's; what is written through their workers calls nobody.
        banks: the engine's.
        ended: told of each task that was begun and ended, on the loop.
        wakeups: calls of those who write, for who goes on for ever.
        early: tasks never begun are due whatever their delay.
    """

    def __init__(
        self,
        services: Services,
        banks: OpenBanks,
        ended: Callable[[Task, TaskRun], None],
        *,
        wakeups: Wakeups | None = None,
        early: bool = False,
    ) -> None:
        self._services, self._banks, self._ended = services, banks, ended
        self._wakeups, self._early = wakeups or Wakeups(), early
        self._most = min(services.config.concurrent_tasks, services.config.storage.open_banks)
        self._running: dict[asyncio.Task[TaskRun | None], Task] = {}
        self._outage = Outage()

    async def run(self, until: Until) -> None:
        """Do what is due, and sleep while nothing is.

        Cancelled, or where it raises, what was begun is cancelled too and given back.

        Raises:
            EngineClosed: the engine was closed.
            StorageError: the ledger cannot be read or written.
        """
        try:
            while not self._wakeups.stopped:
                self._wakeups.clear()
                sleep = await self._begin()
                if not self._running and await self._over(until, sleep):
                    break
                await self._wait(sleep)
        finally:
            await self._give_back()

    def _kinds(self) -> tuple[TaskKind, ...]:
        """What may be begun now: kinds that need the model only while it may be asked."""
        able, needing = self._able(), model_kinds(self._services)
        asking = any(task.kind in needing for task in self._running.values())
        if self._outage.may_ask(time.monotonic(), asking=asking):
            return tuple(able)
        return tuple(able - needing)

    def _able(self) -> frozenset[TaskKind]:
        """What can be done here; what is never early is not waited for by whoever settles."""
        able = able_kinds(self._services)
        return able - AT_THEIR_TIME if self._early else able

    async def _over(self, until: Until, sleep: float | None) -> bool:
        """Whether to end, with nothing under way and so many seconds until there is more to do."""
        match until:
            case Until.NOTHING_IS_DUE:
                outage = self._outage
                if not outage.failures or outage.failures >= PATIENCE or time.monotonic() >= outage.until:
                    return True
                return await self._due(self._able(), ()) != 0  # a model that failed is given another chance
            case Until.NOTHING_WAITS:
                return sleep is None
            case Until.STOPPED:
                return False

    async def _begin(self) -> float | None:
        """Begin what is due while there is room; returns seconds until more may be, None if only an event brings it."""
        while len(self._running) < self._most:
            kinds, busy = self._kinds(), {task.bank for task in self._running.values()}
            due = await self._due(kinds, busy)
            task = None
            if due == 0 or self._early:
                task = await lease_task(kinds, self._services, lasting=LEASE, besides=busy, early=self._early)
            if task is None:
                return self._sleep(due)
            self._running[asyncio.create_task(self._do(task))] = task
        return None

    async def _due(self, kinds: Collection[TaskKind], busy: Collection[str]) -> float | None:
        """Seconds until the next task; None if none waits. A read: who wakes to nothing keeps no writer waiting."""
        services = self._services
        due = await services.workers.read(services.ledger.tasks.next_due, kinds, besides=busy)
        return None if due is None else due.total_seconds()

    def _sleep(self, due: float | None) -> float | None:
        """Seconds until the next task is due or the model may be asked again; None if neither is to come."""
        pause = self._outage.until - time.monotonic()
        ends = [seconds for seconds in (due, pause if pause > 0 else None) if seconds is not None]
        return min(max(min(ends), SHORTEST_SLEEP), LONGEST_SLEEP) if ends else None

    async def _wait(self, seconds: float | None) -> None:
        """Until a task has ended, somebody calls, or the time is over."""
        called = asyncio.create_task(self._wakeups.wait())
        try:
            await asyncio.wait({called, *self._running}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            called.cancel()
        for begun in [begun for begun in self._running if begun.done()]:
            task, run = self._running.pop(begun), begun.result()
            if run is not None:
                self._note(task, run)

    def _note(self, task: Task, run: TaskRun) -> None:
        if isinstance(run.failure, ModelUnavailable | ModelRefused):
            self._outage.failed(time.monotonic())
        elif task.kind in model_kinds(self._services) and isinstance(run.failure, MalformedOutput | None):
            self._outage.answered()
        self._ended(task, run)

    async def _do(self, task: Task) -> TaskRun | None:
        """One task to its end; None where its bank was forgotten, and the task with it."""
        services = self._services
        try:
            header = await services.workers.read(services.ledger.bank, task.bank)
            context = BankContext(header, self._banks, services)
            return await run_task(task, handlers(context)[task.kind], context.services, lasting=LEASE)
        except BankNotFound:
            return None

    async def _give_back(self) -> None:
        """Cancel what is under way: each gives its lease back."""
        for begun in self._running:
            begun.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()


logger = logging.getLogger("hindsight_integrations")

FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds between a failure of the worker itself, on a full disk say, and its next beginning; doubled each time."""


class Worker:
    """Runs a `Draining` on a thread and an event loop of its own, for as long as it is let.

    It knows its engine's services and not the engine: one that nobody holds any more is collected, and dismisses it.

    Args:
        services: the engine's; what is written through their workers calls nobody.
        banks: the engine's.
    """

    def __init__(self, services: Services, banks: OpenBanks) -> None:
        self._wakeups = Wakeups()
        self._draining = Draining(services, banks, self._ended, wakeups=self._wakeups)
        self._failures = 0
        self._problem = self._failed = ""
        self._thread = threading.Thread(target=self._serve, name="hindsight-worker", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether its thread is there: not after `stop`, in a forked child, or where something brought it down."""
        return self._thread.is_alive()

    @property
    def last_failure(self) -> str:
        """What went wrong last, with the worker itself or else with a task; empty if nothing has."""
        return self._problem or self._failed

    def is_here(self) -> bool:
        """Whether the caller runs on its thread."""
        return threading.current_thread() is self._thread

    def call(self) -> None:
        """Something was written: tasks may be due. From any thread."""
        self._wakeups.call()

    def dismiss(self) -> None:
        """Let it end soon, from any thread; waits for nothing."""
        self._wakeups.stop()

    def stop(self) -> None:
        """End it: what is under way is cancelled, and its leases are given back. Interrupted, it can be called again."""
        self._wakeups.stop()
        self._thread.join()

    def abandon(self) -> None:
        """In a forked child, where its thread is not: call nobody any more."""
        self._wakeups.abandon()

    def _serve(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            work = loop.create_task(self._supervised())
            while not work.done():
                # Raised by a model or an embedder, either leaves the loop at once, and is found again where it is awaited.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_until_complete(work)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()  # without waiting for a model's call on a thread of the loop

    async def _supervised(self) -> None:
        self._wakeups.listen()
        while not self._wakeups.stopped:
            # Whatever it raises must not end the worker unseen.
            (outcome,) = await asyncio.gather(self._draining.run(Until.STOPPED), return_exceptions=True)
            if isinstance(outcome, EngineClosed):  # at the end of a process that has not closed its engine
                self._wakeups.stop()
            elif isinstance(outcome, BaseException):
                await self._rest(outcome)

    async def _rest(self, failure: BaseException) -> None:
        """Say what went wrong, and begin again a little later: a full disk has room again one day."""
        seconds = min(FIRST_REST * 2**self._failures, LONGEST_REST)
        self._failures += 1
        self._problem = f"the worker failed {self._failures} times in a row, last of {_described(failure)}"
        logger.error("%s; it begins again in %.0f s", self._problem, seconds)
        end = time.monotonic() + seconds
        while not self._wakeups.stopped and (left := end - time.monotonic()) > 0:
            self._wakeups.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wakeups.wait(), left)

    def _ended(self, task: Task, run: TaskRun) -> None:
        """A task was begun and ended, so the worker itself works."""
        self._failures, self._problem = 0, ""
        for reason in run.settled.failed.values():
            self._failed = f"task {task.id} of bank {task.bank!r} ({task.kind}): {reason}"


def _described(failure: BaseException) -> str:
    """A failure without the words of a foreign one, which may be a memory's: its type and where it was raised."""
    if isinstance(failure, HindsightError):
        return f"{type(failure).__name__}: {failure}"
    places = [
        f" at {Path(frame.filename).name}:{frame.lineno}" for frame in extract_tb(failure.__traceback__)
    ]
    return type(failure).__name__ + "".join(places[-1:])
