"""The columns' follower."""

from __future__ import annotations

from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.search.columns import Columns, empty_columns, updated


class ColumnFollower:
    """Follows the filterable facts of a bank's units, in memory.

    Attributes:
        columns: the newest snapshot.
    """

    def __init__(self) -> None:
        self.columns: Columns = empty_columns()
        self._seen = 0

    def follow(self, feed: Feed) -> None:
        """Bring the columns to the feed's revision."""
        self.columns = updated(self.columns, feed.columns(self._seen), feed.removed(self._seen))
        self._seen = feed.revision

    def clear(self) -> None:
        """Show nothing any more."""
        self.columns, self._seen = empty_columns(), 0
