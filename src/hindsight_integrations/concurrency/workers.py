"""Workers: where blocking calls run. A bounded pool for reads, one thread for every write of an engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from hindsight_integrations.errors import EngineClosed

P = ParamSpec("P")
R = TypeVar("R")


class Workers:
    """Runs blocking functions for any event loop; nothing here is bound to one.

    All writes of an engine go through one thread, so a write turn needs no lock and cannot deadlock.
    """

    def __init__(self, readers: int) -> None:
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="hindsight-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="hindsight-write")
        self._lock = threading.Lock()
        self._closed: str | None = None

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes nothing."""
        return await self._run(self._readers, function, *args, **kwargs)

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that changes something; one at a time, in order.

        Once started it finishes even if the caller is cancelled: a commit is never half acknowledged.
        """
        return await self._run(self._writer, function, *args, **kwargs)

    async def _run(
        self, pool: ThreadPoolExecutor, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        with self._lock:
            self.check_open()
            future = pool.submit(function, *args, **kwargs)
        return await asyncio.wrap_future(future)

    def check_open(self) -> None:
        """Raises EngineClosed once closed."""
        if self._closed is not None:
            raise EngineClosed(self._closed)

    def close(self, reason: str = "it was closed", *, wait: bool = True) -> None:
        """Refuse new work, finish what was started, stop the threads."""
        with self._lock:
            if self._closed is None:
                self._closed = reason
        if wait:
            self._readers.shutdown(wait=True)
            self._writer.shutdown(wait=True)
