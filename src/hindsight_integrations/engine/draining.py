"""Draining: the due tasks of all banks, several at once and never two of one bank."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

from hindsight_integrations.bank import BankContext, OpenBanks, Tools
from hindsight_integrations.bank.handlers import AT_THEIR_TIME, able_kinds, handlers, model_kinds
from hindsight_integrations.bank.task_runner import LEASE, TaskRun, lease_task, run_task
from hindsight_integrations.concurrency.wakeups import Wakeups
from hindsight_integrations.errors import BankNotFound, MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.model.tasks import Task, TaskKind

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
        tools: the engine's; what is written through their workers calls nobody.
        banks: the engine's.
        ended: told of each task that was begun and ended, on the loop.
        wakeups: calls of those who write, for who goes on for ever.
        early: tasks never begun are due whatever their delay.
    """

    def __init__(
        self,
        tools: Tools,
        banks: OpenBanks,
        ended: Callable[[Task, TaskRun], None],
        *,
        wakeups: Wakeups | None = None,
        early: bool = False,
    ) -> None:
        self._tools, self._banks, self._ended = tools, banks, ended
        self._wakeups, self._early = wakeups or Wakeups(), early
        self._most = min(tools.config.concurrent_tasks, tools.config.storage.open_banks)
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
        able, needing = self._able(), model_kinds(self._tools)
        asking = any(task.kind in needing for task in self._running.values())
        if self._outage.may_ask(time.monotonic(), asking=asking):
            return tuple(able)
        return tuple(able - needing)

    def _able(self) -> frozenset[TaskKind]:
        """What can be done here; what is never early is not waited for by whoever settles."""
        able = able_kinds(self._tools)
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
                task = await lease_task(kinds, self._tools, lasting=LEASE, besides=busy, early=self._early)
            if task is None:
                return self._sleep(due)
            self._running[asyncio.create_task(self._do(task))] = task
        return None

    async def _due(self, kinds: Collection[TaskKind], busy: Collection[str]) -> float | None:
        """Seconds until the next task; None if none waits. A read: who wakes to nothing keeps no writer waiting."""
        tools = self._tools
        due = await tools.workers.read(tools.ledger.tasks.next_due, kinds, besides=busy)
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
        elif task.kind in model_kinds(self._tools) and isinstance(run.failure, MalformedOutput | None):
            self._outage.answered()
        self._ended(task, run)

    async def _do(self, task: Task) -> TaskRun | None:
        """One task to its end; None where its bank was forgotten, and the task with it."""
        tools = self._tools
        try:
            header = await tools.workers.read(tools.ledger.bank, task.bank)
            context = BankContext(header, self._banks, tools)
            return await run_task(task, handlers(context)[task.kind], context.tools, lasting=LEASE)
        except BankNotFound:
            return None

    async def _give_back(self) -> None:
        """Cancel what is under way: each gives its lease back."""
        for begun in self._running:
            begun.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()
