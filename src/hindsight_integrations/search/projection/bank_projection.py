"""BankProjection: one bank's indexes and columns at the ledger's revision, and the view that recalls take of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from hindsight_integrations.errors import HindsightError, StorageError
from hindsight_integrations.model.units import TOLD_NETWORKS
from hindsight_integrations.ports.ledger import Feed, Ledger, Transaction
from hindsight_integrations.search.bank_vectors import BankVectors
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import of_types
from hindsight_integrations.search.graph.activation import hub_degree, hub_entities
from hindsight_integrations.search.projection.columns import ColumnFollower
from hindsight_integrations.search.projection.follower import Follower, logger
from hindsight_integrations.search.projection.graph import GraphFollower
from hindsight_integrations.search.projection.indexes import Indexes
from hindsight_integrations.search.projection.keywords import KeywordFollower
from hindsight_integrations.search.projection.vectors import ScorerFollower, VectorFollower


class BankProjection:
    """Keeps one bank's indexes and columns at the ledger's revision.

    `open`, `catch_up` and `reembedded` run on the engine's writer thread. `view` may be called from any thread and is
    always a consistent snapshot: columns are replaced last, so every channel finds all they name.

    What was committed is visible at once and written to the indexes' files in batches (`KeywordFollower`,
    `VectorFollower`); `close` writes the rest, through the ledger's feed.
    """

    def __init__(self, bank: str, ledger: Ledger, indexes: Indexes) -> None:
        self._bank, self._ledger, self._indexes = bank, ledger, indexes
        self._scorer = ScorerFollower("scorer", bank, indexes.scorer)
        self._vectors: VectorFollower | None = None
        if indexes.vectors is not indexes.scorer:
            self._vectors = VectorFollower("vector", bank, indexes.vectors, indexes.scorer)
        self._graph = GraphFollower("graph", bank, indexes.graph, ledger.feed)
        keywords = KeywordFollower("keyword", bank, indexes.keywords)
        both = (self._scorer, self._vectors) if self._vectors else (self._scorer,)
        self._followers: tuple[Follower[Any], ...] = (*both, keywords, self._graph)
        self._columns = ColumnFollower()
        self._view = BankView(
            bank=bank,
            revision=0,
            ledger=ledger,
            columns=self._columns.columns,
            items=self._columns.items,
            vectors=BankVectors(indexes.scorer),
            scorer=indexes.scorer,
            keywords=indexes.keywords,
            open_graph=self._graph.wake,
            hubs=np.empty(0, np.int64),
            failures={},
        )

    def view(self) -> BankView:
        """The bank as of the latest revision every channel has reached."""
        return self._view

    def behind(self) -> bool:
        """Whether the ledger has moved on, or a channel waits for its index to be healed."""
        return self.unsettled(self._view) or self._ledger.revision(self._bank) != self._view.revision

    @property
    def rebuilds(self) -> int:
        """How often an index was emptied for a replay so far."""
        return sum(follower.rebuilds for follower in self._followers)

    @property
    def rebuilt(self) -> dict[str, str]:
        """Indexes that failed and were replayed from the ledger since the bank was opened, and why."""
        return {follower.name: follower.rebuilt for follower in self._followers if follower.rebuilt}

    def unsettled(self, view: BankView) -> bool:
        """Whether a channel's index is broken, or was emptied since the view was made: it may have half an answer."""
        return bool(view.failures) or view.rebuilds != self.rebuilds

    def problems(self) -> dict[str, str]:
        """Index name to reason, for each that could not be written or asked. Any thread."""
        found = {follower.name: follower.problem for follower in self._followers}
        if self._vectors:
            found["vector"] = found["vector"] or self._vectors.distrusted()
        return {name: problem for name, problem in found.items() if problem}

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        return self._ledger

    def open(self) -> None:
        """Catch up, then check each durable index against the ledger; one that fails is rebuilt, and the log says so."""
        with self._ledger.feed(self._bank) as feed:
            for follower in self._followers:
                follower.follow(feed)
                if not follower.problem:
                    try:
                        follower.check(feed)
                    except StorageError as error:
                        follower.heal(error, feed)
            self._publish(feed)

    def catch_up(self) -> None:
        """Bring every index, then the columns, to the ledger's revision.

        An index that fails is rebuilt from the ledger; one that cannot be is named in `problems`, and in the view's
        `failures` if its channel cannot do without it.
        """
        with self._ledger.feed(self._bank) as feed:
            self._follow(feed)

    @contextmanager
    def transaction(self) -> Iterator[tuple[BankView, Transaction]]:
        """The bank held against other writers, caught up with, and a view of it as the transaction sees it."""
        with self._ledger.transaction(self._bank) as transaction:
            if transaction.feed.revision != self._view.revision:
                self._follow(transaction.feed)
            yield replace(self._view, ledger=transaction), transaction

    def reembedded(self) -> None:
        """Vectors were replaced by another embedder's: drop both vector indexes and replay."""
        self._scorer.clear()
        if self._vectors:
            self._vectors.clear()
        self.catch_up()

    def close(self) -> None:
        """Write what waits to be written, and close the indexes; the ledger must still be open."""
        try:
            with self._ledger.feed(self._bank) as feed:
                for follower in self._followers:
                    follower.finish(feed)
        except HindsightError as error:
            # A ledger that cannot be read: closing must go on, the next open writes the rest.
            logger.warning("bank %r: its indexes are closed as they are: %s", self._bank, error)
        finally:
            self._indexes.close()

    def discard(self) -> None:
        """The bank was removed: drop what the indexes hold, and show nothing any more."""
        self._indexes.vectors.discard()
        self._indexes.scorer.clear()
        self._indexes.keywords.clear()
        self._graph.sleep()
        self._indexes.close()
        self._columns.clear()
        self._view = replace(
            self._view,
            columns=self._columns.columns,
            items=self._columns.items,
            vectors=BankVectors(self._indexes.scorer),
            hubs=np.empty(0, np.int64),
        )

    def _follow(self, feed: Feed) -> None:
        """Bring everything to the feed's revision."""
        for follower in self._followers:
            follower.follow(feed)
        self._publish(feed)

    def _publish(self, feed: Feed) -> None:
        self._columns.follow(feed)
        columns = self._columns.columns
        memories = int(np.count_nonzero(of_types(columns, TOLD_NETWORKS)))
        self._view = replace(
            self._view,
            revision=feed.revision,
            columns=columns,
            items=self._columns.items,
            vectors=self._vectors.vectors() if self._vectors else BankVectors(self._indexes.scorer),
            hubs=hub_entities(*feed.mentioned(hub_degree(memories)), memories, feed.roles()),
            failures={each.name: each.problem for each in self._followers if not each.usable},
            rebuilds=self.rebuilds,
        )
