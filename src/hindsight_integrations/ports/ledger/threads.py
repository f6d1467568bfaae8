"""ThreadReader: reads of the log of a bank's threads."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.model.threads import Thread, ThreadMark


class ThreadReader(Protocol):
    """Reads of one bank's threads, which commits write (`WriteSet.thread`)."""

    def thread_mark(self, bank: str, thread: str, namespace: str) -> ThreadMark:
        """How far a thread was read; of one never followed the mark of an empty list."""
        ...

    def thread(self, bank: str, thread: str, namespace: str) -> Thread:
        """The whole log of a thread; an empty one if it was never followed."""
        ...
