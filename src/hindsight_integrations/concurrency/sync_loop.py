"""Event loops for the sync API: one per engine, and one shared by sync objects made from async ones."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from hindsight_integrations.errors import InvalidRequest

R = TypeVar("R")

GRACE = 0.2
"""Seconds that `stop` gives running calls before it cancels them. Calls without a model finish within this time."""

LONGEST_STOP = 1.0
"""Maximum duration of `stop` in seconds. A model call that cannot be cancelled is left running on its daemon thread."""


@dataclass(frozen=True, slots=True)
class _Serving:
    """A running loop.

    Attributes:
        portal: runs calls on the loop from other threads.
        loop: the event loop.
        stopping: the event that ends the loop; must be set on the loop's own thread.
    """

    portal: BlockingPortal
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event


class OwnLoop:
    """An event loop on its own thread that runs coroutines for callers on other threads.

    anyio's `start_blocking_portal` is not used, because at exit it waits for its thread forever if it was not closed, also in a
    forked child, where the thread does not exist. This loop ends with the process.
    """

    def __init__(self, check_open: Callable[[], object]) -> None:
        self._check_open = check_open
        ready: Future[_Serving] = Future()
        self._thread = threading.Thread(
            target=anyio.run, args=(_serve, ready), name="hindsight-loop", daemon=True
        )
        self._thread.start()
        self._serving = ready.result()

    def run(self, call: Callable[[], Awaitable[R]]) -> R:
        """Run a coroutine and wait for it.

        Args:
            call: creates the coroutine.

        Raises:
            EngineClosed: the engine was closed, also during the call, or belongs to the parent of this forked process.
            InvalidRequest: called on the loop's own thread, which would deadlock.
        """
        self._check_open()
        if threading.current_thread() is self._thread:
            raise InvalidRequest(
                "sync call",
                "it was made on the engine's own event loop",
                "Use the async API there, and await the call.",
            )
        try:
            running = self._serving.portal.start_task_soon(call)
        except RuntimeError:  # the portal stopped after the check above
            self._check_open()
            raise
        try:
            return running.result()
        except CancelledError:
            self._check_open()
            raise

    def stop(self) -> None:
        """Cancel running calls, and stop the loop and its thread. Takes about a second at most.

        Can be called again, also after an interrupt. Close the engine first, so that an abandoned call cannot write.
        """
        if self._thread.is_alive():  # False in a forked child, where the thread does not exist
            with suppress(RuntimeError):  # the loop has already ended
                self._serving.loop.call_soon_threadsafe(self._serving.stopping.set)
            self._thread.join(LONGEST_STOP)


async def _serve(ready: Future[_Serving]) -> None:
    stopping = asyncio.Event()
    async with BlockingPortal() as portal:
        ready.set_result(_Serving(portal, asyncio.get_running_loop(), stopping))
        await stopping.wait()
        await portal.stop()
        if running := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(running, timeout=GRACE)
        await portal.stop(cancel_remaining=True)


class SharedLoop:
    """A loop for many engines. It starts at the first call and runs until the process ends."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: OwnLoop | None = None
        if hasattr(os, "register_at_fork"):  # missing on Windows, which has no fork
            os.register_at_fork(after_in_child=self._reset_after_fork)

    def run(self, call: Callable[[], Awaitable[R]]) -> R:
        """Run a coroutine and wait for it, like `OwnLoop.run`. Methods of a closed engine raise EngineClosed themselves."""
        with self._starting:
            self._loop = self._loop or OwnLoop(lambda: None)
        return self._loop.run(call)

    def stop(self) -> None:
        """Do nothing, because other engines use the loop too."""

    def _reset_after_fork(self) -> None:
        """Forget the loop in a forked child, where its thread does not exist; the next call starts a new one."""
        self._starting, self._loop = threading.Lock(), None
