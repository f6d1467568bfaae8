"""Places: so many at once, for coroutines of any event loop and thread."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future


class Places:
    """A semaphore whose waiters may be on different event loops; who asked first is served first.

    Args:
        most: how many may be taken at once, at least 1.
    """

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    async def take(self) -> None:
        """Wait for a place, and take it; whoever is cancelled meanwhile takes none."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            place: Future[None] = Future()
            self._waiting.append(place)
        try:
            await asyncio.wrap_future(place)
        except asyncio.CancelledError:
            if not place.cancel():  # given already, to one who is not there any more
                self.give_back()
            raise

    def give_back(self) -> None:
        """Let the next one have a place."""
        with self._lock:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._free += 1
