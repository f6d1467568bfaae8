"""Event loops for callers that cannot await: one of an engine's own, and one that all borrowed faces share."""

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
"""Seconds that running calls get at `stop` before they are cancelled: what needs no model ends by itself."""

LONGEST_STOP = 1.0
"""Seconds that `stop` waits in all; a model's call that cannot be cancelled is left behind on its daemon thread."""


@dataclass(frozen=True, slots=True)
class _Serving:
    """A loop that serves callers.

    Attributes:
        portal: runs calls on it.
        loop: the event loop.
        stopping: set on the loop to end it.
    """

    portal: BlockingPortal
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event

    def stop(self) -> None:
        """Let the loop end; from any thread, and without waiting for a loop that is blocked."""
        with suppress(RuntimeError):  # it has ended already
            self.loop.call_soon_threadsafe(self.stopping.set)


class OwnLoop:
    """One event loop on a thread; runs coroutines for callers on any other thread.

    Not anyio's `start_blocking_portal`: dropped without being closed (at exit, or in a forked child, where its thread
    does not exist) it waits for that thread for ever. This one just ends with the process.
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
        """Wait for a coroutine.

        Args:
            call: makes it.

        Raises:
            EngineClosed: the engine was closed, now or while the call ran, or belongs to the parent of this forked process.
            InvalidRequest: called from the loop's own thread, where waiting would never end.
        """
        self._check_open()
        if threading.current_thread() is self._thread:
            raise InvalidRequest(
                "sync call",
                "it was made inside the engine's own event loop",
                "Use the async face there and await it.",
            )
        try:
            running = self._serving.portal.start_task_soon(call)
        except RuntimeError:  # the portal's only complaint: it stopped after the check
            self._check_open()
            raise
        try:
            return running.result()
        except CancelledError:
            self._check_open()
            raise

    def stop(self) -> None:
        """Cancel running calls, and stop the loop and its thread, in about a second at most.

        Does nothing where it has stopped; interrupted, it can be called again. Call it after the engine is closed, so that a
        call that is left behind can write nothing.
        """
        if self._thread.is_alive():  # in a forked child it is not
            self._serving.stop()
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
    """A loop for many engines: starts at the first call and lives as long as the process."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: OwnLoop | None = None
        if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
            os.register_at_fork(after_in_child=self._start_anew)

    def run(self, call: Callable[[], Awaitable[R]]) -> R:
        """Wait for a coroutine, as `OwnLoop.run`; a closed engine's verbs raise EngineClosed themselves."""
        with self._starting:
            self._loop = self._loop or OwnLoop(lambda: None)
        return self._loop.run(call)

    def stop(self) -> None:
        """Nothing: others run on it too."""

    def _start_anew(self) -> None:
        """In a forked child the loop's thread does not exist; the next call starts another."""
        self._starting, self._loop = threading.Lock(), None
