"""The background worker: a thread that runs an engine's due tasks until the engine is closed."""

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
from hindsight_integrations.bank.maintenance import forget_expired_everywhere
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
    LedgerUnreachable,
    MalformedOutput,
    ModelRefused,
    ModelUnavailable,
    StorageError,
)
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.services import Services


class Wakeups:
    """Wakes a sleeping coroutine from any thread.

    `call` takes no lock and never blocks, so finalizers, fork hooks and committing threads can call it.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._called = asyncio.Event()
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def listen(self) -> None:
        """Deliver calls to the current event loop from now on. Earlier calls are dropped, except `stop`."""
        self._loop = asyncio.get_running_loop()

    def call(self) -> None:
        """Wake the coroutine."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._called.set)

    def stop(self) -> None:
        """Ask the coroutine to stop, and wake it."""
        self._stopped = True
        self.call()

    def abandon(self) -> None:
        """Drop the loop in a forked child, which shares its wake-up pipe with the parent."""
        self._loop, self._stopped = None, True

    def clear(self) -> None:
        """Reset the event. Call this before checking for work."""
        self._called.clear()

    async def wait(self) -> None:
        """Wait for the first call since `clear`."""
        if not self._stopped:
            await self._called.wait()


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Pauses in seconds. A single timed-out call delays other tasks by a second; an outage of an hour causes about 20 calls."""


@dataclass(slots=True)
class Outage:
    """Exponential back-off after consecutive model failures. The first successful call resets it.

    Times are in seconds of a monotonic clock.

    Attributes:
        failures: number of failed calls since the model last answered; concurrent calls count as one.
        until: time from which the model may be called again, one call at a time until a call succeeds.
    """

    failures: int = 0
    until: float = 0.0

    def failed(self, now: float) -> None:
        """Record a failed call. Failures during a pause are ignored."""
        if now >= self.until:
            self.until = now + min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)
            self.failures += 1

    def answered(self) -> None:
        """Record a successful call."""
        self.failures, self.until = 0, 0.0

    def may_ask(self, now: float, *, asking: bool) -> bool:
        """Return whether another call may be made."""
        return not self.failures or (now >= self.until and not asking)


SHORTEST_SLEEP, LONGEST_SLEEP = 0.05, 300.0
"""Minimum and maximum seconds of a sleep, which apply even if the tasks' clock is stopped or changed."""

POLL = 2.0
"""Seconds after which a worker of a shared ledger looks for tasks and erasures of other processes."""

PATIENCE = 3
"""Consecutive model failures after which `NOTHING_IS_DUE` stops waiting for the model."""


class Until(Enum):
    """When a `Draining` ends."""

    NOTHING_IS_DUE = "nothing is due"
    """No task is due, or the model is unavailable."""
    NOTHING_WAITS = "nothing waits"
    """No task is left that can run, including tasks that are due later."""
    STOPPED = "stopped"


class Draining:
    """Leases and runs the due tasks of all banks on the current event loop.

    Args:
        services: services of the engine; writes through their workers do not wake the worker.
        banks: the engine's open banks.
        ended: callback after each task, on the event loop.
        wakeups: wake-up calls after writes, for `Until.STOPPED`.
        early: treat tasks that were never started as due, even if they are due later.
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
        """Run due tasks, and sleep when none is due.

        On cancellation or an error, cancel running tasks and return their leases.

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
        """Return the kinds of tasks that may start now; those that need the model only if it may be called."""
        able, needing = self._able(), model_kinds(self._services)
        asking = any(task.kind in needing for task in self._running.values())
        if self._outage.may_ask(time.monotonic(), asking=asking):
            return tuple(able)
        return tuple(able - needing)

    def _able(self) -> frozenset[TaskKind]:
        """Return the kinds of tasks that this engine can run; with `early`, without kinds that must not run early."""
        able = able_kinds(self._services)
        return able - AT_THEIR_TIME if self._early else able

    async def _over(self, until: Until, sleep: float | None) -> bool:
        """Return whether to end, given that nothing is running and the next task is due after `sleep` seconds."""
        match until:
            case Until.NOTHING_IS_DUE:
                outage = self._outage
                if not outage.failures or outage.failures >= PATIENCE or time.monotonic() >= outage.until:
                    return True
                # At 0, a due task waits for the model to recover.
                return await self._due(self._able(), ()) != 0
            case Until.NOTHING_WAITS:
                return sleep is None
            case Until.STOPPED:
                return False

    async def _begin(self) -> float | None:
        """Start due tasks up to the limit. Return the seconds until more may be due, or None to wait for an event."""
        while len(self._running) < self._most:
            kinds, busy = self._kinds(), {task.bank for task in self._running.values()}
            due = await self._due(kinds, busy)
            task = None
            if due == 0 or self._early:
                task = await lease_task(kinds, self._services, lasting=LEASE, besides=busy, early=self._early)
            if task is None:
                return self._polling(self._sleep(due))
            self._running[asyncio.create_task(self._do(task))] = task
        return None

    async def _due(self, kinds: Collection[TaskKind], busy: Collection[str]) -> float | None:
        """Return the seconds until the next task is due, or None. Takes no lease, so that idle wake-ups do not block writers."""
        services = self._services
        due = await services.workers.read(services.ledger.tasks.next_due, kinds, besides=busy)
        return None if due is None else due.total_seconds()

    def _polling(self, sleep: float | None) -> float | None:
        """Shorten a sleep, because other processes may enqueue tasks meanwhile; `settle` waits only for known tasks."""
        if not self._services.ledger.shared or self._early:
            return sleep
        return POLL if sleep is None else min(sleep, POLL)

    def _sleep(self, due: float | None) -> float | None:
        """Return the seconds until the next task is due or the model may be called again; None if neither is expected."""
        pause = self._outage.until - time.monotonic()
        ends = [seconds for seconds in (due, pause if pause > 0 else None) if seconds is not None]
        return min(max(min(ends), SHORTEST_SLEEP), LONGEST_SLEEP) if ends else None

    async def _wait(self, seconds: float | None) -> None:
        """Wait until a task ends, a wake-up arrives or the time elapses; record the tasks that ended."""
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
        """Run one task; return None if its bank was forgotten."""
        services = self._services
        try:
            header = await services.workers.read(services.ledger.bank, task.bank)
            context = BankContext(header, self._banks, services)
            return await run_task(task, handlers(context)[task.kind], context.services, lasting=LEASE)
        except BankNotFound:
            return None

    async def _give_back(self) -> None:
        """Cancel the running tasks, which then return their leases."""
        for begun in self._running:
            begun.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()


logger = logging.getLogger("hindsight_integrations")

FIRST_REST, LONGEST_REST, LONGEST_WITHOUT_SERVER = 1.0, 60.0, 5.0
"""Seconds until the worker restarts after a failure of its own, such as a full disk; doubled after each failure."""

RETENTION = 3_600.0  # seconds between erasures of memories older than `RetentionConfig` allows


class Worker:
    """Runs a `Draining` on its own thread and event loop until it is stopped.

    It refers to the engine's services but not to the engine, so that an unreferenced engine is collected and ends its worker.
    """

    def __init__(self, services: Services, banks: OpenBanks) -> None:
        self._wakeups = Wakeups()
        self._draining = Draining(services, banks, self._ended, wakeups=self._wakeups)
        self._services, self._banks = services, banks
        self._failures = 0
        self._problem = self._failed = ""
        self._thread = threading.Thread(target=self._serve, name="hindsight-worker", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether the worker's thread is alive: False after `stop`, in a forked child, or after a fatal error."""
        return self._thread.is_alive()

    @property
    def last_failure(self) -> str:
        """The latest failure of the worker itself, otherwise of a task; empty if there was none."""
        return self._problem or self._failed

    def is_here(self) -> bool:
        """Return whether the caller runs on the worker's thread."""
        return threading.current_thread() is self._thread

    def call(self) -> None:
        """Wake the worker after a write. Can be called from any thread."""
        self._wakeups.call()

    def dismiss(self) -> None:
        """Ask the worker to end, without waiting. Can be called from any thread."""
        self._wakeups.stop()

    def stop(self) -> None:
        """Stop the worker: cancel running tasks and return their leases. Can be called again after an interrupt."""
        self._wakeups.stop()
        self._thread.join()

    def abandon(self) -> None:
        """Drop the event loop in a forked child, which does not have the thread."""
        self._wakeups.abandon()

    def _serve(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            work = loop.create_task(self._supervised())
            while not work.done():
                # A model or embedder may raise these, which ends the loop; awaiting the task raises the error again.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_until_complete(work)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()  # does not wait for model calls on its threads

    async def _supervised(self) -> None:
        self._wakeups.listen()
        while not self._wakeups.stopped:
            erasing = asyncio.gather(self._apply_erasures(), self._apply_retention())
            # Catches every exception, so that the worker never ends without a report.
            (outcome,) = await asyncio.gather(self._draining.run(Until.STOPPED), return_exceptions=True)
            erasing.cancel()
            await asyncio.gather(erasing, return_exceptions=True)
            if isinstance(outcome, EngineClosed):  # the process ends without `close`
                self._wakeups.stop()
            elif isinstance(outcome, BaseException):
                await self._rest(outcome)

    async def _apply_erasures(self) -> None:
        """Apply erasures made by other processes, so that an idle engine confirms them too.

        Failures are ignored here: the loop that runs the tasks uses the same ledger and reports them.
        """
        while self._banks.registered:
            with suppress(StorageError, EngineClosed):
                await self._banks.apply_erasures()
            await asyncio.sleep(POLL)

    async def _apply_retention(self) -> None:
        """Erase expired memories at the start and every hour. A failure is logged, and the next round tries again."""
        while True:
            try:
                await forget_expired_everywhere(self._services, self._banks)
            except EngineClosed:
                return
            except HindsightError as error:
                logger.warning("expired memories were not erased: %s", error)
            await asyncio.sleep(RETENTION)

    async def _rest(self, failure: BaseException) -> None:
        """Log a failure and pause before restarting."""
        longest = LONGEST_WITHOUT_SERVER if isinstance(failure, LedgerUnreachable) else LONGEST_REST
        seconds = min(FIRST_REST * 2**self._failures, longest)
        self._failures += 1
        self._problem = f"the worker failed {self._failures} times in a row, last with {_described(failure)}"
        logger.error("%s; it will restart in %.0f s", self._problem, seconds)
        end = time.monotonic() + seconds
        while not self._wakeups.stopped and (left := end - time.monotonic()) > 0:
            self._wakeups.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wakeups.wait(), left)

    def _ended(self, task: Task, run: TaskRun) -> None:
        """Reset the count of worker failures after a task, and record the task's own failure."""
        self._failures, self._problem = 0, ""
        for reason in run.settled.failed.values():
            self._failed = f"task {task.id} of bank {task.bank!r} ({task.kind}): {reason}"


def _described(failure: BaseException) -> str:
    """Describe a failure. Exceptions of other packages are described by type and location only: their text may quote memories."""
    if isinstance(failure, HindsightError):
        return f"{type(failure).__name__}: {failure}"
    places = [
        f" at {Path(frame.filename).name}:{frame.lineno}" for frame in extract_tb(failure.__traceback__)
    ]
    return type(failure).__name__ + "".join(places[-1:])
