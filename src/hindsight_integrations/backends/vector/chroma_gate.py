"""Keeps our work on Chroma's files apart from Chroma's own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ChromaGate:
    """Many calls to Chroma at a time, or one piece of work on its files, alone.

    Chroma brings a SQLite of its own beside Python's. SQLite's file locks are those of the whole process, so neither
    library sees the other's: a VACUUM by Python rewrites pages that a search is reading, each takes the other's
    journal for its own, and closing the file drops the locks of both (sqlite.org, "How To Corrupt An SQLite Database
    File"; decision 084).

    Work that waits comes before calls that come after it, so that searches cannot keep it out. Neither may be begun
    inside the other.
    """

    def __init__(self) -> None:
        self._entrance = threading.Lock()
        self._calls = 0
        self._ended = threading.Condition()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call to Chroma, beside others."""
        with self._entrance, self._ended:
            self._calls += 1
        try:
            yield
        finally:
            with self._ended:
                self._calls -= 1
                self._ended.notify()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Work on Chroma's files or its database: begins when the calls under way have ended; others wait for it."""
        with self._entrance:
            with self._ended:
                self._ended.wait_for(lambda: not self._calls)
            yield
