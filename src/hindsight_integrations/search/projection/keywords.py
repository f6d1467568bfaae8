"""The keyword index's follower."""

from __future__ import annotations

from hindsight_integrations.errors import StorageError
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.search.projection.follower import Follower, logger

COMMIT_AFTER = 128
"""Texts that may wait for the disk: one turn of two facts in 64 waits for it with them (decision 091)."""


class KeywordFollower(Follower[KeywordIndex]):
    """Follows the texts of a bank's units.

    Every commit is visible to searches at once. The disk is waited for when enough texts have come together, when one was
    erased or corrected (its words are still in the files), and by `finish`.
    """

    def __init__(self, name: str, bank: str, index: KeywordIndex) -> None:
        super().__init__(name, bank, index)
        self._seen: int | None = None  # searches see this revision; None if only what the files hold
        self._waiting = 0  # texts that only a process remembers

    def clear(self) -> None:
        """Empty the index for a replay from the beginning."""
        super().clear()
        self._seen, self._waiting = None, 0

    def check(self, feed: Feed) -> None:
        """As many texts as the ledger has, and it can be searched."""
        self._check_count(self._index.count(), feed.count())
        self._index.search("probe", 1)

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Write again what came after the last commit, in memory if the disk refuses; drop and replay what that does not mend.

        A full disk is no damage: what it holds is worth keeping, and the next write tries again.
        """
        try:
            self._revert(feed)
            self.check(feed)
            try:
                self._write(feed)
            except StorageError as refused:
                logger.warning("bank %r: the keyword index is not on disk: %s", self._bank, refused)
                self._revert(feed)
                self.problem, self.usable = str(refused), True
            else:
                self.problem, self.usable = "", True
        except StorageError:
            super().heal(error, feed)

    def _catch_up(self, feed: Feed) -> None:
        reopened = self._seen is None and self._since(feed) != feed.revision
        self._show(feed)
        # What a kill took is written at once: nobody knows any more whether a text of the files was replaced by it.
        if reopened or self._waiting >= COMMIT_AFTER:
            self._write(feed)

    def _show(self, feed: Feed) -> None:
        """Let searches find all that was committed; only an erasure or a correction waits for the disk."""
        since = self._since(feed) if self._seen is None else self._seen
        if since == feed.revision:
            self._seen = since
            return
        (ids, texts), removed = feed.texts(since), feed.removed(since)
        self._index.remove(removed)
        if len(ids):
            self._index.upsert(ids, texts, feed.told(ids))
        holds_removed = self._index.refresh()
        self._seen = feed.revision
        # What is removed as no erasure may stay in the files for a while; what came under the same id was corrected.
        at_once = feed.erased(since) or (holds_removed and not len(removed))
        self._waiting = COMMIT_AFTER if at_once else self._waiting + len(ids) + len(removed)

    def _write(self, feed: Feed) -> None:
        if self._since(feed) != feed.revision:
            self._index.advance(feed.mark)
        self._waiting = 0

    def _revert(self, feed: Feed) -> None:
        self.rebuilds += 1  # searches find less until the rest is shown again
        self._index.revert()
        self._seen, self._waiting = None, 0
        self._show(feed)
