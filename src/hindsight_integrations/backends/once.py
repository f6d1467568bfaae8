"""Something heavy, made when it is first needed and once, however many threads need it at that moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Calls `make` on the first call and gives its result on each one; a call that failed is tried again by the next."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        """What `make` gave."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made
