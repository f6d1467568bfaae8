"""The columns' follower."""

from __future__ import annotations

from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.growing_columns import GrowingColumns


class ColumnFollower:
    """Follows the filterable facts of a bank's units, in memory."""

    def __init__(self) -> None:
        self._growing, self._seen = GrowingColumns(), 0

    @property
    def columns(self) -> Columns:
        """The newest snapshot."""
        return self._growing.newest

    def follow(self, feed: Feed) -> None:
        """Bring the columns to the feed's revision."""
        if self._seen != feed.revision:
            self._growing.update(feed.columns(self._seen), feed.removed(self._seen))
            self._seen = feed.revision

    def clear(self) -> None:
        """Show nothing any more."""
        self._growing, self._seen = GrowingColumns(), 0
