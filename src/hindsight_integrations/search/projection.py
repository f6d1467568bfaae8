"""Projection: applies what the ledger committed to a bank's indexes, and rebuilds any that fell out of step.

Each index keeps its own watermark. What it has not seen is read from the ledger's change feed and applied; applying
twice is harmless, so a kill between an index's work and its watermark costs a replay, never a memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from hindsight_integrations.errors import IndexOutOfStep, LedgerBusy, StorageError
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.ledger import Feed, Ledger, Transaction
from hindsight_integrations.ports.memory_graph import MemoryGraph, Mentions
from hindsight_integrations.ports.vector_index import VectorIndex
from hindsight_integrations.search.bank_view import BankView, ScoringVectorIndex
from hindsight_integrations.search.columns import empty_columns, updated
from hindsight_integrations.search.graph.activation import hub_entities

logger = logging.getLogger("hindsight_integrations")

Index: TypeAlias = VectorIndex | KeywordIndex | MemoryGraph

SAME_VECTOR = 0.999  # cosine of a vector with itself, allowing for float32


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of one open bank.

    Attributes:
        vectors: serves unfiltered nearest-neighbour queries.
        scorer: exact cosines, in memory; the same object as `vectors` where that is exact itself.
        keywords: BM25.
        graph: links and mentions, in memory.
    """

    vectors: VectorIndex
    scorer: ScoringVectorIndex
    keywords: KeywordIndex
    graph: MemoryGraph

    def close(self) -> None:
        """Close them all."""
        for index in (self.vectors, self.scorer, self.keywords, self.graph):
            index.close()


class BankProjection:
    """Keeps one bank's indexes and columns at the ledger's revision.

    `open`, `catch_up` and `rebuild` run on the engine's writer thread. `view` may be called from any thread and is
    always a consistent snapshot: columns are replaced last, so all they name is in every index.
    """

    def __init__(self, bank: str, ledger: Ledger, indexes: Indexes) -> None:
        self._bank, self._ledger, self._indexes = bank, ledger, indexes
        self._counts: IntArray = np.zeros(0, np.int64)
        self._rebuilds = 0
        nothing = np.empty(0, np.int64)
        self._view = BankView(
            bank=bank,
            revision=0,
            ledger=ledger,
            columns=empty_columns(),
            vectors=indexes.vectors,
            scorer=indexes.scorer,
            keywords=indexes.keywords,
            graph=indexes.graph,
            hubs=nothing,
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
        return self._rebuilds

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
            for name, check in (("vector", self._check_vectors), ("keyword", self._check_keywords)):
                if name in self._view.failures:
                    continue
                try:
                    check(feed)
                except StorageError as error:
                    self._heal(name, error, feed)

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
        self._clear(self._indexes.vectors)
        self._clear(self._indexes.scorer)
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
        self._view = replace(self._view, columns=empty_columns(), hubs=np.empty(0, np.int64))

    def _follow(self, feed: Feed) -> None:
        """Bring everything to the feed's revision."""
        failures: dict[str, str] = {}
        for name, (_, step) in self._steps().items():
            try:
                step(feed)
            except LedgerBusy:  # another process writes this index: nothing is broken or may be dropped
                raise
            except StorageError as error:
                if problem := self._rebuilt(name, error, feed):
                    failures[name] = problem
        self._publish(feed, failures)

    def _steps(self) -> dict[str, tuple[Index, Callable[[Feed], None]]]:
        """Each index by name, and what brings it to a feed's revision."""
        indexes = self._indexes
        return {
            "scorer": (indexes.scorer, lambda feed: self._follow_vectors(indexes.scorer, feed)),
            "vector": (indexes.vectors, lambda feed: self._follow_vectors(indexes.vectors, feed)),
            "keyword": (indexes.keywords, self._follow_texts),
            "graph": (indexes.graph, self._follow_graph),
        }

    def _follow_vectors(self, index: VectorIndex, feed: Feed) -> None:
        since = self._since(index, feed.revision)
        if since == feed.revision:
            return
        removed = feed.removed(since)
        if since and len(removed) and index.keeps_removed:  # what was erased must leave its files too
            self._clear(index)
            since = 0
        ids, vectors = feed.vectors(since)
        index.remove(removed)
        if len(ids):
            index.upsert(ids, vectors)
        index.advance(feed.revision)

    def _follow_texts(self, feed: Feed) -> None:
        index = self._indexes.keywords
        since = self._since(index, feed.revision)
        if since == feed.revision:
            return
        ids, texts = feed.texts(since)
        index.remove(feed.removed(since))
        if len(ids):
            index.upsert(ids, texts)
        index.advance(feed.revision)

    def _follow_graph(self, feed: Feed) -> None:
        graph = self._indexes.graph
        since = self._since(graph, feed.revision)
        if since == feed.revision:
            return
        if since and since < feed.graph_epoch:  # links or mentions were changed in place
            self._clear(graph)
            self._counts = np.zeros(0, np.int64)
            since = 0
        removed = feed.removed(since)
        units, edges, mentions = feed.graph(since)
        graph.add(units, edges, mentions)
        graph.remove(removed)
        if since == 0 or len(removed):
            mentions = feed.graph(0)[2] if since else mentions
            self._counts = np.zeros(0, np.int64)
        self._count(mentions)
        graph.advance(feed.revision)

    def _count(self, mentions: Mentions) -> None:
        if len(mentions.entities):
            more = np.bincount(mentions.entities)
            counts = np.zeros(max(len(more), len(self._counts)), np.int64)
            counts[: len(self._counts)] = self._counts
            counts[: len(more)] += more
            self._counts = counts

    def _since(self, index: Index, revision: int) -> int:
        """Where the index stands; one that is ahead of the ledger belongs to another ledger and starts anew."""
        if index.watermark > revision:
            logger.warning("bank %r: an index is ahead of the ledger; rebuilding it", self._bank)
            self._clear(index)
        return index.watermark

    def _clear(self, index: Index) -> None:
        """Empty an index that is then replayed; recalls under way see from the count that they must ask again."""
        self._rebuilds += 1
        index.clear()

    def _rebuilt(self, name: str, error: StorageError, feed: Feed) -> str:
        """Drop and replay one index; empty if that worked, else the reason it did not."""
        logger.warning(
            "bank %r: the %s index failed and is rebuilt from the ledger: %s", self._bank, name, error
        )
        index, step = self._steps()[name]
        try:
            self._clear(index)
            step(feed)
        except StorageError as second:
            logger.error("bank %r: the %s index could not be rebuilt: %s", self._bank, name, second)  # noqa: TRY400 - the reason is in the message; no traceback in a user's log
            return str(second)
        return ""

    def _heal(self, name: str, error: StorageError, feed: Feed) -> None:
        problem = self._rebuilt(name, error, feed)
        failures = {**self._view.failures, **({name: problem} if problem else {})}
        self._view = replace(self._view, failures=failures, rebuilds=self._rebuilds)

    def _check_vectors(self, feed: Feed) -> None:
        self._check_count("vector", self._indexes.vectors.count(), feed)
        newest, vectors = feed.vectors(feed.revision - 1)
        if not len(newest):
            return
        best = self._indexes.vectors.search(vectors[-1:], 1)[0]
        if not len(best) or best.scores[0] < SAME_VECTOR:
            raise IndexOutOfStep("vector", self._bank, "a stored vector does not find itself")

    def _check_keywords(self, feed: Feed) -> None:
        self._check_count("keyword", self._indexes.keywords.count(), feed)
        self._indexes.keywords.search("probe", 1)

    def _check_count(self, name: str, found: int, feed: Feed) -> None:
        expected = feed.count()
        if found != expected:
            raise IndexOutOfStep(name, self._bank, f"it holds {found} units, the ledger {expected}")

    def _publish(self, feed: Feed, failures: dict[str, str]) -> None:
        seen = self._view.revision
        if feed.revision == seen and failures == self._view.failures and not self.unsettled(self._view):
            return
        columns = updated(self._view.columns, feed.columns(seen), feed.removed(seen))
        entities = np.flatnonzero(self._counts)
        self._view = replace(
            self._view,
            revision=feed.revision,
            columns=columns,
            hubs=hub_entities(entities, self._counts[entities], len(columns), feed.roles()),
            failures=failures,
            rebuilds=self._rebuilds,
            amended=feed.amended(),
        )
