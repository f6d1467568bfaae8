"""The columns' follower."""

from __future__ import annotations

from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.search.columns import Columns
from hindsight_integrations.search.growing_columns import GrowingColumns
from hindsight_integrations.search.item_columns import ItemColumns


class ColumnFollower:
    """Follows the filterable facts of a bank's units, in memory.

    Attributes:
        items: which of them are texts of items, the newest snapshot.
    """

    def __init__(self) -> None:
        self._growing, self._seen = GrowingColumns(), 0
        self.items = ItemColumns()

    @property
    def columns(self) -> Columns:
        """The newest snapshot."""
        return self._growing.newest

    def follow(self, feed: Feed) -> None:
        """Bring the columns to the feed's revision."""
        if self._seen != feed.revision:
            removed = feed.removed(self._seen)
            self._growing.update(feed.columns(self._seen), removed)
            self.items = self.items.changed(feed.item_units(self._seen), removed)
            self._seen = feed.revision

    def clear(self) -> None:
        """Show nothing any more."""
        self._growing, self._seen = GrowingColumns(), 0
        self.items = ItemColumns()
