"""A gate that many may pass at a time, or one alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Shared by readers, exclusive to a writer; a waiting writer goes before new readers. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writer = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writer)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold it alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writer)
            self._writer = True
            self._changed.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            with self._changed:
                self._writer = False
                self._changed.notify_all()
