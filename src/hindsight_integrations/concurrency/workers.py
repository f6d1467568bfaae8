"""Workers for blocking calls: a bounded pool for reads, and one thread for all writes of an engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

from hindsight_integrations.errors import EngineClosed


class InFlight:
    """Serialises retains of the same message or document; the second one sees the first one's work.

    Uses futures of `concurrent.futures`, which are bound to no event loop. All keys are taken together or not
    at all, so that callers cannot deadlock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, Future[None]] = {}

    @asynccontextmanager
    async def alone(self, keys: Iterable[Hashable]) -> AsyncIterator[None]:
        """Wait until all keys are free, and hold them for the block."""
        wanted = frozenset(keys)
        mine: Future[None] = Future()
        mine.set_running_or_notify_cancel()  # a cancelled waiter must not cancel it
        while others := self._taken(wanted, mine):
            await _all_of(others)
        try:
            yield
        finally:
            with self._lock:
                for key in wanted:
                    del self._held[key]
            mine.set_result(None)

    def _taken(self, wanted: frozenset[Hashable], mine: Future[None]) -> set[Future[None]]:
        """Return the holders of any of the keys; if there are none, take the keys."""
        with self._lock:
            others = {self._held[key] for key in wanted if key in self._held}
            if not others:
                self._held.update(dict.fromkeys(wanted, mine))
            return others


async def _all_of(futures: Iterable[Future[None]]) -> None:
    waiting = [asyncio.wrap_future(future) for future in futures]
    try:
        await asyncio.wait(waiting)
    finally:
        for future in waiting:  # otherwise a cancelled caller's loop would be called back after it has closed
            future.cancel()


P = ParamSpec("P")
R = TypeVar("R")


class Runner(Protocol):
    """Runs blocking functions for coroutines: an engine's workers, or one bank's view of them."""

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes nothing."""
        ...

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes something; one at a time, in order."""
        ...

    def check_open(self) -> None:
        """Raise EngineClosed once closed."""
        ...


class Workers:
    """Runs blocking functions for any event loop.

    All writes of an engine use one thread, so that a write needs no lock and cannot deadlock.
    """

    def __init__(self, readers: int) -> None:
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="hindsight-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="hindsight-write")
        self._lock = threading.Lock()
        self._closed: str | None = None

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes nothing."""
        return await asyncio.wrap_future(self._submitted(self._readers, function, *args, **kwargs))

    def read_now(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a read without an event loop, blocking until it is done."""
        return self._submitted(self._readers, function, *args, **kwargs).result()

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes something; one at a time, in order.

        Once started it finishes even if the caller is cancelled: a commit is never half acknowledged.
        """
        return await asyncio.wrap_future(self._submitted(self._writer, function, *args, **kwargs))

    def _submitted(
        self, pool: ThreadPoolExecutor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Future[R]:
        self.check_open()  # first without the lock: in a forked child it may be held forever
        with self._lock:
            self.check_open()
            try:
                return pool.submit(function, *args, **kwargs)
            except RuntimeError as error:  # raised only while the interpreter shuts down
                raise EngineClosed("the process is ending") from error

    def check_open(self) -> None:
        """Raise EngineClosed once closed."""
        if self._closed is not None:
            raise EngineClosed(self._closed)

    def close(self) -> None:
        """Reject new work, finish started work, stop the threads. Can be called again after an interrupt."""
        with self._lock:
            self._closed = self._closed or "it was closed"
        self._readers.shutdown(wait=True)
        self._writer.shutdown(wait=True)

    def abandon(self, reason: str) -> None:
        """Reject new work for good; takes no lock, so that it may run in a forked child."""
        self._closed = reason


class CheckedWorkers:
    """Workers that stop when `check` fails: then nothing runs and no result is returned.

    Args:
        workers: run the work.
        check: raises if the work is no longer useful; called on the worker thread, before and after the work.
    """

    def __init__(self, workers: Runner, check: Callable[[], None]) -> None:
        self._workers, self._check = workers, check

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.read`."""
        return await self._workers.read(self._checked, partial(function, *args, **kwargs))

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.write`."""
        return await self._workers.write(self._checked, partial(function, *args, **kwargs))

    def check_open(self) -> None:
        """See `Runner.check_open`."""
        self._workers.check_open()

    def _checked(self, work: Callable[[], R]) -> R:
        self._check()
        try:
            return work()
        finally:  # if it fails meanwhile, results are incomplete and exceptions meaningless
            self._check()


class HeardWorkers:
    """Workers that call back after each write.

    Args:
        workers: run the work.
        heard: called on the worker thread, after each write.
    """

    def __init__(self, workers: Runner, heard: Callable[[], None]) -> None:
        self._workers, self._heard = workers, heard

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.read`."""
        return await self._workers.read(function, *args, **kwargs)

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.write`."""
        return await self._workers.write(self._run_and_report, partial(function, *args, **kwargs))

    def check_open(self) -> None:
        """See `Runner.check_open`."""
        self._workers.check_open()

    def _run_and_report(self, work: Callable[[], R]) -> R:
        try:
            return work()
        finally:
            self._heard()
