"""BankProjection: one bank's indexes and columns at the ledger's revision, and the view that recalls take of them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from hindsight_integrations.errors import (
    HindsightError,
    IndexBehind,
    IndexOutOfStep,
    LedgerBusy,
    LedgerLost,
    StorageError,
)
from hindsight_integrations.indexes.bank_vectors import BankVectors, IndexStanding, ScoringVectorIndex
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import (
    ARRAYS,
    Codes,
    Columns,
    ItemColumns,
    coded_arrays,
    empty_columns,
    of_types,
    snapshot,
    updated,
)
from hindsight_integrations.indexes.protocols import KeywordIndex, MemoryGraph, VectorIndex
from hindsight_integrations.indexes.spreading_activation import hub_degree, hub_entities
from hindsight_integrations.ledger.feed import Feed
from hindsight_integrations.ledger.ledger import Ledger, Transaction
from hindsight_integrations.ledger.values import NO_ITEM_UNITS, UnitColumns
from hindsight_integrations.model.arrays import IN_DOCUMENT, STORED, BoolArray, IntArray
from hindsight_integrations.model.units import TOLD_NETWORKS


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of one open bank.

    Attributes:
        vectors: nearest neighbours in a bank too large to score; written in batches.
        scorer: exact cosines of all units; the same object as `vectors` where that is exact itself.
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


SAME_VECTOR = 0.999  # cosine of a vector with itself, allowing for float32

TAIL_LIMIT = 128
"""Vectors that may wait to be written: one turn of two facts in 64 pays for all of them."""

_NOTHING: IntArray = np.empty(0, np.int64)


class ScorerFollower(Follower[ScoringVectorIndex]):
    """Follows the vectors of a bank's units in the index that scores them exactly, at every commit."""

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        self._index.remove(feed.removed(since))
        for ids, vectors in feed.vectors(since):
            self._index.upsert(ids, vectors)
        self._index.advance(feed.mark)

    def check(self, feed: Feed) -> None:
        """As many vectors as the ledger has."""
        self._check_count(self._index.count(), feed.vector_count())


class VectorFollower(Follower[VectorIndex]):
    """Follows the vectors of a bank's units in an index that may last longer than the process.

    A commit only makes the tail longer. The index is written when tail and removals have reached the limit, when something was
    erased, and by `finish`; a kill costs the tail, which the next open finds again in the feed. Whatever
    becomes of the index, its channel is usable: `BankVectors` has the rest from the scorer.
    """

    def __init__(self, name: str, bank: str, index: VectorIndex, scorer: ScoringVectorIndex) -> None:
        super().__init__(name, bank, index)
        self._scorer = scorer
        self._standing = IndexStanding()
        self._seen: int | None = None  # the tail is of this revision; None if it is still to be read
        self._tail = _NOTHING
        self._stale = _NOTHING  # removed, as no erasure: the index may still hold them, the scorer does not

    def vectors(self) -> BankVectors:
        """What searches may use from now on."""
        if self._standing.problem or not self._index.watermark:
            return BankVectors(self._scorer)
        hidden = np.union1d(self._tail, self._stale)
        return BankVectors(self._scorer, self._index, hidden, self._standing, self._standing.clears)

    def distrusted(self) -> str:
        """Why searches do without the index; empty if they do not."""
        return self._standing.problem

    def check(self, feed: Feed) -> None:
        """As many vectors as the ledger has, but for the tail and what is to go, and the newest of the others finds itself."""
        expected = feed.vector_count()
        self._check_count(self._index.count(), expected, waiting=len(self._tail), stale=len(self._stale))
        if not self._index.watermark:
            return
        written = np.setdiff1d(feed.embedded(self._index.watermark.revision - 1), self._tail)
        if not len(written):
            return
        best = self._index.search(feed.vectors_of(written[-1:]), 1)[0]
        if not len(best) or best.scores[0] < SAME_VECTOR:
            raise IndexOutOfStep(self.name, self._bank, "a stored vector does not find itself")

    def clear(self) -> None:
        """Empty the index for a replay from the beginning; searches do without it meanwhile."""
        self._standing.clears += 1
        self._seen = None
        self._index.clear()

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Keep a readable index as it is, with a longer tail; drop one that cannot be read, and replay it.

        A full disk is no damage: what it holds is worth keeping, and the next write tries again.
        """
        try:
            self._read_tail(feed)
            self.check(feed)
        except IndexBehind as waiting:  # the disk keeps it from being looked at, too
            self.problem = str(waiting)
        except StorageError:
            self._standing.problem = ""
            super().heal(error, feed)
            self._standing.problem = self.problem
        else:
            logger.warning("bank %r: the vector index could not be written: %s", self._bank, error)
            self.problem, self._standing.problem = str(error), ""
        self.usable = True

    def _catch_up(self, feed: Feed) -> None:
        erased = self._read_tail(feed)
        if self._standing.problem:
            self.check(feed)
            self._standing.problem = ""
        if erased or len(self._tail) + len(self._stale) >= TAIL_LIMIT:
            self._write(feed)

    def _read_tail(self, feed: Feed) -> bool:
        """Bring the tail to the feed's revision; whether something was erased that the index may still hold."""
        durable = self._since(feed)
        since, tail = (durable, _NOTHING) if self._seen is None else (self._seen, self._tail)
        if since != feed.revision:
            tail = np.union1d(tail, feed.embedded(since))
        removed = feed.removed(durable) if durable != feed.revision else _NOTHING
        if len(removed):
            tail = np.setdiff1d(tail, removed)
        self._tail, self._seen, self._stale = tail, feed.revision, removed
        return feed.erased(durable)

    def _write(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        if feed.erased(since) and self._index.keeps_removed:  # what was erased must leave its files too
            self.clear()
            since = 0
        else:
            self._index.remove(feed.removed(since))
        for ids, vectors in feed.vectors(since):
            self._index.upsert(ids, vectors)
        self._index.advance(feed.mark)
        self._tail, self._seen, self._stale = _NOTHING, feed.revision, _NOTHING


COMMIT_AFTER = 128
"""Texts that may wait for the disk: one turn of two facts in 64 waits for it with them."""


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


class GraphFollower(Follower[MemoryGraph]):
    """Follows links and mentions once it was woken; until then it has nothing to follow them with.

    Whoever asks first wakes it, on any thread: the lock keeps the writer thread out meanwhile. A feed opened under the
    lock is never older than a view that is already shown, because a view is shown after the follower was asked.
    """

    def __init__(
        self,
        name: str,
        bank: str,
        index: MemoryGraph,
        open_feed: Callable[[str], AbstractContextManager[Feed]],
    ) -> None:
        super().__init__(name, bank, index)
        self._open_feed = open_feed
        self._lock = Lock()
        self._awake = False

    def follow(self, feed: Feed) -> None:
        """As every follower, if it is awake."""
        with self._lock:
            if self._awake:
                super().follow(feed)

    def wake(self) -> MemoryGraph:
        """The graph, filled from the ledger if nobody had asked for it.

        Raises:
            IndexOutOfStep: it could not be filled; the next call tries again.
        """
        if not self._awake:
            with self._lock:
                if not self._awake:
                    self._fill()
        return self._index

    def _fill(self) -> None:
        with self._open_feed(self._bank) as feed:
            super().follow(feed)
        if problem := self.problem:
            self.problem, self.usable = "", True
            raise IndexOutOfStep(self.name, self._bank, problem)
        self._awake = True

    def finish(self, feed: Feed) -> None:
        """Nothing of a graph in memory is written."""

    def sleep(self) -> None:
        """Drop the graph until it is asked for again."""
        with self._lock:
            self._awake = False
            self._index.clear()

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        if since and since < feed.graph_epoch:  # links or mentions were changed in place
            self.clear()
            since = 0
        units, edges, mentions = feed.graph(since)
        self._index.add(units, edges, mentions)
        self._index.remove(feed.removed(since))
        self._index.advance(feed.mark)


FIRST_CAPACITY = 1024  # rows; 80 kB, so that a small bank grows once
GROWTH = 1.25  # of a full buffer: a row is copied five times on average, and a fifth of the memory is spare at most


class GrowingColumns:
    """The newest snapshot of a bank's columns, and how the next one is made of it.

    A snapshot's arrays are the beginnings of buffers with room behind them. New rows have higher ids, and are written
    behind what any snapshot shows; a value that changes costs a copy of its column; an erasure makes all anew.

    Attributes:
        newest: never written to.
    """

    def __init__(self) -> None:
        self.newest: Columns = empty_columns()
        self._buffers: dict[str, IntArray] = {}
        self._codes: Codes = Codes.of(self.newest)
        self._adopt(self.newest)

    def update(self, changes: UnitColumns, removed: IntArray) -> None:
        """Make a new snapshot with rows changed, added and removed; the same one if there is nothing to do."""
        if not len(changes.ids) and not len(removed):
            return
        last = self.newest.ids[-1] if len(self.newest) else -1
        new: BoolArray = changes.ids > last
        at = self.newest.positions(changes.ids[~new])
        if len(removed) or (at < 0).any():
            self._adopt(updated(self.newest, changes, removed))
            return
        given = coded_arrays(changes, self._codes)
        arrays = {name: self._column(name, given[name], new, at) for name in ARRAYS}
        self.newest = snapshot(arrays, self._codes, self._gaps(changes), self.newest)

    def _adopt(self, columns: Columns) -> None:
        self.newest = columns
        self._buffers = {name: getattr(columns, name) for name in ARRAYS}
        self._codes = Codes.of(columns)

    def _column(self, name: str, values: IntArray, new: BoolArray, at: IntArray) -> IntArray:
        """The column with values changed at some positions, and new ones behind."""
        buffer, used = self._buffers[name], len(self.newest)
        total = used + int(new.sum())
        if total > len(buffer):
            buffer = np.empty(max(total, int(GROWTH * used), FIRST_CAPACITY), np.int64)
            buffer[:used] = self._buffers[name][:used]
        elif not np.array_equal(buffer[at], values[~new]):
            buffer = buffer.copy()
        if buffer is not self._buffers[name]:
            buffer[at] = values[~new]
        buffer[used:total] = values[new]
        self._buffers[name] = buffer
        return buffer[:total]

    def _gaps(self, changes: UnitColumns) -> IntArray:
        gaps = self.newest.gaps
        if not len(gaps):
            return changes.gaps
        return np.concatenate([gaps[~np.isin(gaps[:, 0], changes.ids)], changes.gaps])


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
            changed = feed.columns(self._seen)
            self._growing.update(changed, removed)
            of_items = bool(np.any((changed.types >= STORED) & (changed.types < IN_DOCUMENT)))
            texts = feed.item_units(self._seen) if of_items else NO_ITEM_UNITS
            self.items = self.items.changed(texts, removed)
            self._seen = feed.revision

    def clear(self) -> None:
        """Show nothing any more."""
        self._growing, self._seen = GrowingColumns(), 0
        self.items = ItemColumns()


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
