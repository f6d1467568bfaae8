"""ThreadReader: reads of the log of a bank's threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations.model.threads import Thread, ThreadMark
from hindsight_integrations.model.writes import Place


class ThreadReader(Protocol):
    """Reads of one bank's threads, which commits write (`WriteSet.thread`)."""

    def thread_mark(self, bank: str, thread: str, namespace: str) -> ThreadMark:
        """How far a thread was read; of one never followed the mark of an empty list."""
        ...

    def dropped_messages(self, bank: str, places: Sequence[Place]) -> frozenset[Place]:
        """Which of these messages forks dropped: no list of their thread has them on its branch."""
        ...

    def thread(self, bank: str, thread: str, namespace: str) -> Thread:
        """The whole log of a thread; an empty one if it was never followed."""
        ...
