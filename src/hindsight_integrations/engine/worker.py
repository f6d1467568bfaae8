"""Worker: a thread that does an engine's due tasks until it is closed, and sleeps while none is due."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from pathlib import Path
from traceback import extract_tb

from hindsight_integrations.bank import OpenBanks, Tools
from hindsight_integrations.bank.task_runner import TaskRun
from hindsight_integrations.concurrency.wakeups import Wakeups
from hindsight_integrations.engine.draining import Draining, Until
from hindsight_integrations.errors import EngineClosed, HindsightError
from hindsight_integrations.model.tasks import Task

logger = logging.getLogger("hindsight_integrations")

FIRST_REST, LONGEST_REST = 1.0, 60.0
"""Seconds between a failure of the worker itself, on a full disk say, and its next beginning; doubled each time."""


class Worker:
    """Runs a `Draining` on a thread and an event loop of its own, for as long as it is let.

    It knows its engine's tools and not the engine: one that nobody holds any more is collected, and dismisses it.

    Args:
        tools: the engine's; what is written through their workers calls nobody.
        banks: the engine's.
    """

    def __init__(self, tools: Tools, banks: OpenBanks) -> None:
        self._wakeups = Wakeups()
        self._draining = Draining(tools, banks, self._ended, wakeups=self._wakeups)
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
