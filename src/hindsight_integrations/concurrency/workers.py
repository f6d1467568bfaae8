"""Workers for blocking calls: a pool of threads for reads, and one thread for writes or one lane per bank."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import ParamSpec, Protocol, TypeVar

from hindsight_integrations.errors import BankForgotten, BankNotFound, EngineClosed


class InFlight:
    """Serialises retains of the same message or document, so that a later retain sees what an earlier one stored.

    Uses futures of `concurrent.futures`, which do not belong to an event loop. Keys are taken all together or not at all, so
    that callers cannot deadlock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, Future[None]] = {}

    @asynccontextmanager
    async def alone(self, keys: Iterable[Hashable]) -> AsyncIterator[None]:
        """Wait until all keys are free, then hold them until the end of the block."""
        wanted = frozenset(keys)
        mine: Future[None] = Future()
        mine.set_running_or_notify_cancel()  # so that a cancelled waiter cannot cancel the future
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
        """Return the holders of these keys; if there are none, take the keys."""
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
        for future in waiting:
            future.cancel()  # prevents a callback into a cancelled caller's closed loop


P = ParamSpec("P")
R = TypeVar("R")


class Runner(Protocol):
    """Runs blocking functions for coroutines. Implemented by an engine's workers and by the lane of a bank."""

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes nothing."""
        ...

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes something. Such functions run one at a time, in order."""
        ...

    def lane(self, bank: Hashable) -> Runner:
        """Return a runner for a bank, whose writes run one at a time, in order."""
        ...

    def check_open(self) -> None:
        """Raise EngineClosed if the engine was closed."""
        ...


class Workers:
    """Runs blocking functions for callers on any event loop.

    With one writer, all writes of an engine run on one thread, so that they need no lock and cannot deadlock. With more
    writers, each bank has a lane: the bank's writes run in order, in parallel with those of other banks, so that a bank that
    waits for another process does not delay other banks. In other modules, "writer thread" means the thread that runs a bank's
    write.

    Args:
        readers: number of threads for reads.
        writers: number of threads for writes, which is how many banks can be written at the same time.

    Attributes:
        one_writer: whether all writes run on the same thread.
    """

    def __init__(self, readers: int, writers: int = 1) -> None:
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="hindsight-read")
        self._writers = ThreadPoolExecutor(writers, thread_name_prefix="hindsight-write")
        self.one_writer = writers == 1
        self._lanes: dict[Hashable, deque[Callable[[], object]]] = {}  # queued work of each running lane
        self._lock = threading.Lock()
        self._closed: str | None = None

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes nothing."""
        return await asyncio.wrap_future(self.queued_read(function, *args, **kwargs))

    def queued_read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run a read in the background."""
        return self._submitted(self._readers, function, *args, **kwargs)

    def read_now(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a read without an event loop, and block until it is done."""
        return self.queued_read(function, *args, **kwargs).result()

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes something. Such functions run one at a time, in order.

        Once started, the function finishes even if the caller is cancelled, so that a commit is never left half acknowledged.
        """
        return await asyncio.wrap_future(self.queued(None, function, *args, **kwargs))

    def lane(self, bank: Hashable) -> Runner:
        """Return a runner for a bank, whose writes run one at a time, in order."""
        return self if self.one_writer else _Lane(self, bank)

    def queued(
        self, bank: Hashable, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[R]:
        """Queue a write on a bank's lane. None is the lane for work that belongs to no bank."""
        if self.one_writer:
            return self._submitted(self._writers, function, *args, **kwargs)
        future: Future[R] = Future()
        work = partial(_complete, future, partial(function, *args, **kwargs))
        self.check_open()  # before taking the lock, which may be held forever in a forked child
        with self._lock:
            self.check_open()
            waiting = self._lanes.get(bank)
            if waiting is not None:
                waiting.append(work)
                return future
            self._lanes[bank] = deque([work])
            try:
                self._writers.submit(self._run_lane, bank)
            except RuntimeError as error:  # raised only while the interpreter shuts down
                del self._lanes[bank]
                raise EngineClosed("the process is ending") from error
        return future

    def _run_lane(self, bank: Hashable) -> None:
        """Run the next job of a lane, then queue the lane again, so that other lanes get their turn."""
        while True:
            with self._lock:
                work = self._lanes[bank].popleft()
            work()
            with self._lock:
                if not self._lanes[bank]:
                    del self._lanes[bank]
                    return
                try:
                    self._writers.submit(self._run_lane, bank)
                except RuntimeError:  # the pool is closing: finish the queued work here
                    continue
                return

    def _submitted(
        self, pool: ThreadPoolExecutor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> Future[R]:
        self.check_open()  # before taking the lock, which may be held forever in a forked child
        with self._lock:
            self.check_open()
            try:
                return pool.submit(function, *args, **kwargs)
            except RuntimeError as error:  # raised only while the interpreter shuts down
                raise EngineClosed("the process is ending") from error

    def check_open(self) -> None:
        """Raise EngineClosed if the workers were closed."""
        if self._closed is not None:
            raise EngineClosed(self._closed)

    def close(self) -> None:
        """Reject new work, finish started work and stop the threads. Can be called again after an interrupt."""
        with self._lock:
            self._closed = self._closed or "it was closed"
        self._readers.shutdown(wait=True)
        self._writers.shutdown(wait=True)

    def abandon(self, reason: str) -> None:
        """Reject new work permanently. Takes no lock, so that a forked child can call it."""
        self._closed = reason


class _Delivered:
    """A context manager that stores an exception of its block in a future."""

    def __init__(self, future: Future[R]) -> None:
        self._future = future

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self._future.set_exception(error)
        return True


def _complete(future: Future[R], work: Callable[[], R]) -> None:
    """Run work and store its result in a future, unless the future was cancelled before."""
    if future.set_running_or_notify_cancel():
        with _Delivered(future):
            future.set_result(work())


class _Lane:
    """Runs the work of one bank; its writes run in order."""

    def __init__(self, workers: Workers, bank: Hashable) -> None:
        self._workers, self._bank = workers, bank

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.read`."""
        return await self._workers.read(function, *args, **kwargs)

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.write`."""
        return await asyncio.wrap_future(self._workers.queued(self._bank, function, *args, **kwargs))

    def lane(self, bank: Hashable) -> Runner:
        """See `Runner.lane`."""
        return self._workers.lane(bank)

    def check_open(self) -> None:
        """See `Runner.check_open`."""
        self._workers.check_open()


class CheckedWorkers:
    """Workers with a check before and after each job. If the check fails, the job's result is not returned.

    Args:
        workers: run the work.
        bank: name of the bank; if a job reports that this bank does not exist, the bank was forgotten.
        before: called on the worker thread before the job; raises an error if the job must not run.
        after: called on the worker thread after the job; raises an error if the result must not be used.
    """

    def __init__(
        self, workers: Runner, bank: str, before: Callable[[], None], after: Callable[[], None]
    ) -> None:
        self._workers, self._bank, self._before, self._after = workers, bank, before, after

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.read`."""
        return await self._workers.read(self._checked, partial(function, *args, **kwargs))

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.write`."""
        return await self._workers.write(self._checked, partial(function, *args, **kwargs))

    def lane(self, bank: Hashable) -> Runner:
        """See `Runner.lane`; the lane has the same checks."""
        return CheckedWorkers(self._workers.lane(bank), self._bank, self._before, self._after)

    def check_open(self) -> None:
        """See `Runner.check_open`."""
        self._workers.check_open()

    def _checked(self, work: Callable[[], R]) -> R:
        self._before()
        try:
            return work()
        except BankNotFound as error:
            if error.bank != self._bank or isinstance(error, BankForgotten):
                raise
            raise BankForgotten(self._bank) from error
        finally:  # a failed check replaces the job's result or exception, which may be wrong
            self._after()


class HeardWorkers:
    """Workers that call a function after each write.

    Args:
        workers: run the work.
        heard: called on the worker thread after each write.
    """

    def __init__(self, workers: Runner, heard: Callable[[], None]) -> None:
        self._workers, self._heard = workers, heard

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.read`."""
        return await self._workers.read(function, *args, **kwargs)

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """See `Runner.write`."""
        return await self._workers.write(self._run_and_report, partial(function, *args, **kwargs))

    def lane(self, bank: Hashable) -> Runner:
        """See `Runner.lane`; the lane calls the function too."""
        return HeardWorkers(self._workers.lane(bank), self._heard)

    def check_open(self) -> None:
        """See `Runner.check_open`."""
        self._workers.check_open()

    def _run_and_report(self, work: Callable[[], R]) -> R:
        try:
            return work()
        finally:
            self._heard()
