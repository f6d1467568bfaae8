"""InFlight: one at a time per key, for coroutines of any event loop and thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Hashable, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager


class InFlight:
    """Keeps two retains of the same message or document from running at once; the second then sees the first's work.

    Futures of `concurrent.futures`, so that nothing here is bound to an event loop. All keys are taken together or not
    at all, so that two callers cannot wait for each other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Hashable, Future[None]] = {}

    @asynccontextmanager
    async def alone(self, keys: Iterable[Hashable]) -> AsyncIterator[None]:
        """Wait until nobody else holds any of the keys, and hold them for the block."""
        wanted = frozenset(keys)
        mine: Future[None] = Future()
        mine.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel it
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
        """Whoever holds one of the keys; if nobody does, they are mine."""
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
        for future in waiting:  # else a cancelled caller's loop would be called back after it has closed
            future.cancel()
