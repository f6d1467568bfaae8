"""Wakeups: calls from any thread to one coroutine that sleeps: something may be to do, or it is to stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress


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
