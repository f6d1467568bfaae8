"""Follower: brings one index to a feed's revision, and empties and replays one that fails."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from hindsight_integrations.errors import IndexBehind, IndexOutOfStep, LedgerBusy, LedgerLost, StorageError
from hindsight_integrations.ledger.feed import Feed
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.ports.vector_index import VectorIndex

logger = logging.getLogger("hindsight_integrations")

IndexT = TypeVar("IndexT", bound=VectorIndex | KeywordIndex | MemoryGraph)


class Follower(ABC, Generic[IndexT]):
    """One index of one bank and what it has to do to follow the ledger. Writer thread only, but for what is read of it.

    Attributes:
        name: which index it is, as the view's `failures` names it.
        rebuilds: how often the index was emptied, or fell back, for a replay so far; recalls under way see from it that they
            must ask again.
        rebuilt: why it last failed and was replayed; empty if it never did.
        problem: why it could not be written; empty when all is well. The next `follow` tries again.
        usable: whether the channel it serves has whole answers all the same.
    """

    def __init__(self, name: str, bank: str, index: IndexT) -> None:
        self.name, self._bank = name, bank
        self._index: IndexT = index
        self.rebuilds, self.rebuilt, self.problem, self.usable = 0, "", "", True

    @abstractmethod
    def _catch_up(self, feed: Feed) -> None:
        """Apply what was committed since."""

    def _write(self, feed: Feed) -> None:
        """Leave nothing waiting to be written; an index in memory has no such thing."""

    def check(self, feed: Feed) -> None:
        """Compare a durable index with the ledger; one in memory needs no check.

        Raises:
            StorageError: it does not hold what the ledger does.
        """

    def clear(self) -> None:
        """Empty the index for a replay from the beginning."""
        self.rebuilds += 1
        self._index.clear()

    def follow(self, feed: Feed) -> None:
        """Bring the index to the feed's revision; one that fails is healed from the ledger, or has a `problem` from then on."""
        try:
            self._catch_up(feed)
            if self.problem:
                self._write(feed)
        except (LedgerBusy, LedgerLost):
            raise  # another process writes it, or it is evidence: nothing may be dropped
        except IndexBehind as error:  # nothing is broken either: it waits for room on the disk as it is
            logger.warning("bank %r: the %s index stays behind: %s", self._bank, self.name, error)
            self.problem = str(error)
        except StorageError as error:
            self.heal(error, feed)
        else:
            self.problem, self.usable = "", True

    def finish(self, feed: Feed) -> None:
        """Leave nothing waiting to be written, before the index is closed; what fails is left for the next open to heal."""
        try:
            self._catch_up(feed)
            self._write(feed)
        except StorageError as error:
            logger.warning("bank %r: the %s index is closed as it is: %s", self._bank, self.name, error)

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Drop the index and replay it."""
        logger.warning(
            "bank %r: the %s index failed and is rebuilt from the ledger: %s", self._bank, self.name, error
        )
        self.rebuilt = str(error)
        try:
            self.clear()
            self._catch_up(feed)
            self._write(feed)
        except (LedgerBusy, LedgerLost):
            raise
        except StorageError as second:
            logger.error("bank %r: the %s index could not be rebuilt: %s", self._bank, self.name, second)  # noqa: TRY400 - the reason is in the message; no traceback in a user's log
            self.problem, self.usable = str(second), False
        else:
            self.problem, self.usable = "", True

    def _since(self, feed: Feed) -> int:
        """The revision the index stands at for good; one that has followed another history starts anew."""
        mark = self._index.watermark
        if mark is None:
            return 0
        if not feed.knows(mark):
            logger.warning("bank %r: an index has followed another history; rebuilding it", self._bank)
            self.clear()
            return 0
        return mark.revision

    def _check_count(self, found: int, expected: int, *, waiting: int = 0, stale: int = 0) -> None:
        """Compare a number of units found with the ledger's: some may wait to be written, and some to be removed."""
        if not expected - waiting <= found <= expected + stale:
            raise IndexOutOfStep(self.name, self._bank, f"it holds {found} units, the ledger {expected}")
