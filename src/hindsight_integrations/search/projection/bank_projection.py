"""BankProjection: one bank's indexes and columns at the ledger's revision, and the view that recalls take of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from hindsight_integrations.errors import StorageError
from hindsight_integrations.ports.ledger import Feed, Ledger, Transaction
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.projection.columns import ColumnFollower
from hindsight_integrations.search.projection.follower import Follower
from hindsight_integrations.search.projection.graph import GraphFollower
from hindsight_integrations.search.projection.indexes import Indexes
from hindsight_integrations.search.projection.keywords import KeywordFollower
from hindsight_integrations.search.projection.vectors import ScorerFollower, VectorFollower


class BankProjection:
    """Keeps one bank's indexes and columns at the ledger's revision.

    `open`, `catch_up` and `reembedded` run on the engine's writer thread. `view` may be called from any thread and is
    always a consistent snapshot: columns are replaced last, so all they name is in every index.
    """

    def __init__(self, bank: str, ledger: Ledger, indexes: Indexes) -> None:
        self._bank, self._ledger, self._indexes = bank, ledger, indexes
        self._vectors: list[ScorerFollower] = [VectorFollower("vector", bank, indexes.vectors)]
        if indexes.scorer is not indexes.vectors:
            self._vectors.insert(0, ScorerFollower("scorer", bank, indexes.scorer))
        self._graph = GraphFollower("graph", bank, indexes.graph)
        self._followers: tuple[Follower[Any], ...] = (
            *self._vectors,
            KeywordFollower("keyword", bank, indexes.keywords),
            self._graph,
        )
        self._columns = ColumnFollower()
        self._view = BankView(
            bank=bank,
            revision=0,
            ledger=ledger,
            columns=self._columns.columns,
            vectors=indexes.vectors,
            scorer=indexes.scorer,
            keywords=indexes.keywords,
            graph=indexes.graph,
            hubs=np.empty(0, np.int64),
            failures={},
        )

    def view(self) -> BankView:
        """The bank as of the latest revision every index has reached."""
        return self._view

    def behind(self) -> bool:
        """Whether the ledger has moved on, or an index waits to be healed."""
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
        """Whether an index is broken, or was emptied since the view was made: what it finds may be half an answer."""
        return bool(view.failures) or view.rebuilds != self.rebuilds

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        return self._ledger

    def open(self) -> None:
        """Catch up, then check each durable index against the ledger; one that fails is rebuilt, and the log says so."""
        with self._ledger.feed(self._bank) as feed:
            self._follow(feed)
            for follower in self._followers:
                if follower.name in self._view.failures:
                    continue
                try:
                    follower.check(feed)
                except StorageError as error:
                    self._heal(follower, error, feed)

    def catch_up(self) -> None:
        """Bring every index, then the columns, to the ledger's revision.

        An index that fails is rebuilt from the ledger; one that cannot be is reported in the view's `failures`.
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
        for follower in self._vectors:
            follower.clear()
        self.catch_up()

    def close(self) -> None:
        """Close the indexes."""
        self._indexes.close()

    def discard(self) -> None:
        """The bank was removed: drop what the indexes hold, and show nothing any more."""
        self._indexes.vectors.discard()
        for index in (self._indexes.scorer, self._indexes.keywords, self._indexes.graph):
            index.clear()
        self._indexes.close()
        self._columns.clear()
        self._view = replace(self._view, columns=self._columns.columns, hubs=np.empty(0, np.int64))

    def _follow(self, feed: Feed) -> None:
        """Bring everything to the feed's revision."""
        problems = {follower.name: follower.follow(feed) for follower in self._followers}
        self._publish(feed, {name: problem for name, problem in problems.items() if problem})

    def _heal(self, follower: Follower[Any], error: StorageError, feed: Feed) -> None:
        problem = follower.heal(error, feed)
        failures = {**self._view.failures, **({follower.name: problem} if problem else {})}
        self._view = replace(self._view, failures=failures, rebuilds=self.rebuilds)

    def _publish(self, feed: Feed, failures: dict[str, str]) -> None:
        if (
            feed.revision == self._view.revision
            and failures == self._view.failures
            and not self.unsettled(self._view)
        ):
            return
        self._columns.follow(feed)
        columns = self._columns.columns
        self._view = replace(
            self._view,
            revision=feed.revision,
            columns=columns,
            hubs=self._graph.hubs(len(columns), feed.roles()),
            failures=failures,
            rebuilds=self.rebuilds,
            amended=feed.amended(),
        )
