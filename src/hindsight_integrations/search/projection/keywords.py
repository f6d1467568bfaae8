"""The keyword index's follower."""

from __future__ import annotations

from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.ledger import Feed
from hindsight_integrations.search.projection.follower import Follower


class KeywordFollower(Follower[KeywordIndex]):
    """Follows the texts of a bank's units."""

    def _apply(self, since: int, feed: Feed) -> None:
        ids, texts = feed.texts(since)
        self._index.remove(feed.removed(since))
        if len(ids):
            self._index.upsert(ids, texts)

    def check(self, feed: Feed) -> None:
        """As many texts as the ledger has, and it can be searched."""
        self._check_count(self._index.count(), feed)
        self._index.search("probe", 1)
