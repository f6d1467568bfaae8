"""A readers-writer lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Gate:
    """A lock that readers share and a writer holds exclusively. Not reentrant.

    A waiting writer takes precedence over readers that arrive later. Readers that waited for a writer take precedence over
    the next writer.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = self._waiting = 0
        self._first = 0  # number of waiting readers that take precedence over the next writer
        self._writer = False

    @contextmanager
    def shared(self, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock together with other readers.

        Args:
            timeout: seconds to wait; None waits forever.

        Raises:
            TimeoutError: a writer held the lock for longer.
        """
        with self._changed:
            self._waiting += 1
            try:
                self._wait(lambda: not self._writer, timeout)
            finally:
                self._waiting -= 1
                self._first = max(0, self._first - 1)
                self._changed.notify_all()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self, *, timeout: float | None = None) -> Iterator[None]:
        """Hold the lock exclusively.

        Args:
            timeout: seconds to wait for earlier callers, and again for readers to finish; None waits forever.

        Raises:
            TimeoutError: other callers held the lock for longer.
        """
        with self._changed:
            self._wait(lambda: not self._writer and not self._first, timeout)
            self._writer = True
            alone = False
            try:
                self._wait(lambda: not self._readers, timeout)
                alone = True
            finally:
                if not alone:
                    self._release()
        try:
            yield
        finally:
            with self._changed:
                self._release()

    def _release(self) -> None:
        self._writer, self._first = False, self._waiting
        self._changed.notify_all()

    def _wait(self, free: Callable[[], bool], timeout: float | None) -> None:
        if not self._changed.wait_for(free, timeout):
            raise TimeoutError(f"others held the lock for more than {timeout} seconds")
