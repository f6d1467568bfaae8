"""Event loops for callers that cannot await: one of an engine's own, and one that all borrowed faces share."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from hindsight_integrations.errors import InvalidRequest

R = TypeVar("R")


class OwnLoop:
    """One event loop on a thread; runs coroutines for callers on any other thread.

    Not anyio's `start_blocking_portal`: dropped without being closed (at exit, or in a forked child, where its thread
    does not exist) it waits for that thread for ever. This one just ends with the process.
    """

    def __init__(self, check_open: Callable[[], object]) -> None:
        self._check_open = check_open
        ready: Future[BlockingPortal] = Future()
        self._thread = threading.Thread(
            target=anyio.run, args=(_serve, ready), name="hindsight-loop", daemon=True
        )
        self._thread.start()
        self._portal = ready.result()

    def run(self, call: Callable[[], Awaitable[R]]) -> R:
        """Wait for a coroutine.

        Args:
            call: makes it.

        Raises:
            EngineClosed: the engine was closed, or belongs to the parent of this forked process.
            InvalidRequest: called from the loop's own thread, where waiting would never end.
        """
        self._check_open()
        if threading.current_thread() is self._thread:
            raise InvalidRequest(
                "sync call",
                "it was made inside the engine's own event loop",
                "Use the async face there and await it.",
            )
        return self._portal.call(call)

    def stop(self) -> None:
        """Stop the loop and its thread. Does nothing where it has stopped; interrupted, it can be called again."""
        if self._thread.is_alive():  # in a forked child it is not
            with suppress(RuntimeError):  # an interrupted stop has told it already
                self._portal.call(self._portal.stop)
            self._thread.join()


async def _serve(ready: Future[BlockingPortal]) -> None:
    async with BlockingPortal() as portal:
        ready.set_result(portal)
        await portal.sleep_until_stopped()


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
