"""Follower: brings one index to a feed's revision, and empties and replays one that fails."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from hindsight_integrations.errors import IndexBehind, IndexOutOfStep, LedgerBusy, LedgerLost, StorageError
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.ports.vector_index import VectorIndex

logger = logging.getLogger("hindsight_integrations")

IndexT = TypeVar("IndexT", VectorIndex, KeywordIndex, MemoryGraph)


class Follower(ABC, Generic[IndexT]):
    """One index of one bank and what it has to do to follow the ledger. Writer thread only, but for `rebuilds`.

    Attributes:
        name: which index it is, as the view's `failures` names it.
        rebuilds: how often the index was emptied for a replay so far; recalls under way see from it that they must ask
            again.
        rebuilt: why it last failed and was replayed; empty if it never did.
    """

    def __init__(self, name: str, bank: str, index: IndexT) -> None:
        self.name, self._bank = name, bank
        self._index: IndexT = index
        self.rebuilds = 0
        self.rebuilt = ""

    @abstractmethod
    def _apply(self, since: int, feed: Feed) -> None:
        """Apply what was committed after `since`; the index is advanced afterwards."""

    def check(self, feed: Feed) -> None:
        """Compare a durable index with the ledger; one in memory needs no check.

        Raises:
            StorageError: it does not hold what the ledger does.
        """

    def clear(self) -> None:
        """Empty the index for a replay from the beginning."""
        self.rebuilds += 1
        self._index.clear()

    def follow(self, feed: Feed) -> str:
        """Bring the index to the feed's revision; one that fails is rebuilt from the ledger.

        Returns:
            Empty, or the reason why even rebuilding it failed.
        """
        try:
            self._catch_up(feed)
        except (
            LedgerBusy,
            LedgerLost,
        ):  # another process writes it, or it is evidence: nothing may be dropped
            raise
        except IndexBehind as error:  # nothing is broken either: it waits for room on the disk as it is
            logger.warning("bank %r: the %s index stays behind: %s", self._bank, self.name, error)
            return str(error)
        except StorageError as error:
            return self.heal(error, feed)
        return ""

    def heal(self, error: StorageError, feed: Feed) -> str:
        """Drop the index and replay it; empty if that worked, else the reason it did not."""
        logger.warning(
            "bank %r: the %s index failed and is rebuilt from the ledger: %s", self._bank, self.name, error
        )
        self.rebuilt = str(error)
        try:
            self.clear()
            self._catch_up(feed)
        except (LedgerBusy, LedgerLost):
            raise
        except StorageError as second:
            logger.error("bank %r: the %s index could not be rebuilt: %s", self._bank, self.name, second)  # noqa: TRY400 - the reason is in the message; no traceback in a user's log
            return str(second)
        return ""

    def _catch_up(self, feed: Feed) -> None:
        mark = self._index.watermark
        if mark is not None and not feed.knows(mark):
            logger.warning("bank %r: an index has followed another history; rebuilding it", self._bank)
            self.clear()
            mark = None
        since = mark.revision if mark else 0
        if since != feed.revision:
            self._apply(since, feed)
            self._index.advance(feed.mark)

    def _check_count(self, found: int, feed: Feed) -> None:
        expected = feed.count()
        if found != expected:
            raise IndexOutOfStep(self.name, self._bank, f"it holds {found} units, the ledger {expected}")
