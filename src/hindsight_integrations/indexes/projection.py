"""Bank projections: update a bank's indexes and columns to the ledger's revision, and publish views of them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from hindsight_integrations.errors import (
    BankForgotten,
    BankNotFound,
    HindsightError,
    IndexBehind,
    IndexOutOfStep,
    LedgerBusy,
    LedgerLost,
    StorageError,
)
from hindsight_integrations.indexes.bank_view import (
    EXACT_LIMIT,
    BankVectors,
    BankView,
    IndexState,
    ScoringVectorIndex,
)
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
from hindsight_integrations.ledger.copies import UNREGISTERED, RegisteredCopy
from hindsight_integrations.ledger.feed import Ahead, Feed
from hindsight_integrations.ledger.ledger import Ledger, Transaction
from hindsight_integrations.ledger.values import NO_ITEM_UNITS, UnitColumns
from hindsight_integrations.model.arrays import IN_DOCUMENT, STORED, BoolArray, IntArray
from hindsight_integrations.model.units import TOLD_NETWORKS
from hindsight_integrations.model.watermark import Watermark


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of one open bank.

    Attributes:
        vectors: nearest-neighbour index for banks too large for exact search; written in batches.
        scorer: exact cosines of all units; the same object as `vectors` if that index is exact.
        keywords: the BM25 index.
        graph: the graph of links and mentions, in memory.
    """

    vectors: VectorIndex
    scorer: ScoringVectorIndex
    keywords: KeywordIndex
    graph: MemoryGraph

    def close(self) -> None:
        """Close all of them."""
        for index in (self.vectors, self.scorer, self.keywords, self.graph):
            index.close()


logger = logging.getLogger("hindsight_integrations")

IndexT = TypeVar("IndexT", bound=VectorIndex | KeywordIndex | MemoryGraph)


class Follower(ABC, Generic[IndexT]):
    """Keeps one index of one bank up to date with the ledger. Writer thread only, except for reading attributes.

    Attributes:
        name: the index's name, as in the view's `failures`.
        rebuilds: number of times the index was emptied or reverted for a replay; if it changes during a recall,
            the recall searches again.
        rebuilt: the reason of the last rebuild; empty if there was none.
        problem: the reason why the last write failed; empty if it succeeded. The next `follow` tries again.
        usable: whether searches are complete in spite of a problem.
    """

    def __init__(self, name: str, bank: str, index: IndexT) -> None:
        self.name, self._bank = name, bank
        self._index: IndexT = index
        self.rebuilds, self.rebuilt, self.problem, self.usable = 0, "", "", True

    @abstractmethod
    def _catch_up(self, feed: Feed) -> None:
        """Apply the commits since the index's revision."""

    def _write(self, feed: Feed) -> None:
        """Write all waiting changes; do nothing for an index in memory."""

    def check(self, feed: Feed) -> None:
        """Compare a durable index with the ledger; an index in memory needs no check.

        Raises:
            StorageError: it differs from the ledger.
        """

    def clear(self) -> None:
        """Empty the index for a replay from the beginning."""
        self.rebuilds += 1
        self._index.clear()

    def start(self, feed: Feed) -> None:
        """Catch up after opening, and check the index; if that fails, rebuild it or set `problem`."""
        self.follow(feed)
        if not self.problem:
            try:
                self.check(feed)
            except StorageError as error:
                self.heal(error, feed)

    def follow(self, feed: Feed) -> None:
        """Update the index to the feed's revision; if this fails, rebuild it from the ledger or set `problem`."""
        try:
            self._catch_up(feed)
            if self.problem:
                self._write(feed)
        except (LedgerBusy, LedgerLost):
            raise  # another process is writing the index, or the index proves a loss of data and must be kept
        except IndexBehind as error:  # the index is intact and waits for disk space
            logger.warning("bank %r: the %s index is behind: %s", self._bank, self.name, error)
            self.problem = str(error)
        except StorageError as error:
            self.heal(error, feed)
        else:
            self.problem, self.usable = "", True

    def finish(self, feed: Feed) -> None:
        """Write all waiting changes before the index is closed; after a failure, the next open catches up."""
        try:
            self._catch_up(feed)
            self._write(feed)
        except StorageError as error:
            logger.warning(
                "bank %r: the %s index is closed without writing: %s", self._bank, self.name, error
            )

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Drop the index and replay it from the ledger."""
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
            logger.error("bank %r: the %s index could not be rebuilt: %s", self._bank, self.name, second)  # noqa: TRY400 - the message contains the reason; no traceback in a user's log
            self.problem, self.usable = str(second), False
        else:
            self.problem, self.usable = "", True

    def _since(self, feed: Feed) -> int:
        """Return the durable revision of the index; clear an index that was built from another ledger."""
        mark = self._index.watermark
        if mark is None:
            return 0
        if not feed.knows(mark):
            logger.warning("bank %r: an index belongs to another history and is rebuilt", self._bank)
            self.clear()
            return 0
        return mark.revision

    def _check_count(self, found: int, expected: int, *, waiting: int = 0, stale: int = 0) -> None:
        """Compare the number of units with the ledger's, allowing for those that wait to be written or removed."""
        if not expected - waiting <= found <= expected + stale:
            raise IndexOutOfStep(self.name, self._bank, f"it has {found} units, the ledger has {expected}")


SAME_VECTOR = 0.999  # cosine of a vector with itself, allowing for float32

TAIL_LIMIT = 128
"""Maximum number of vectors waiting to be written; with two facts per turn, every 64th turn writes them."""

WRITE_AT_ONCE = 512
"""Maximum number of vectors that one call writes to an index, in less than a second; the rest follows in the background."""

_NOTHING: IntArray = np.empty(0, np.int64)


class ScorerFollower(Follower[ScoringVectorIndex]):
    """Keeps the exact vector index up to date, at every commit."""

    def _catch_up(self, feed: Feed) -> None:
        since = self._since(feed)
        if since == feed.revision:
            return
        self._index.remove(feed.removed(since))
        for ids, vectors in feed.vectors(since):
            self._index.upsert(ids, vectors)
        self._index.advance(feed.mark)

    def check(self, feed: Feed) -> None:
        """Compare the number of vectors with the ledger's."""
        self._check_count(self._index.count(), feed.vector_count())


class VectorFollower(Follower[VectorIndex]):
    """Keeps a vector index that may be durable up to date.

    A commit only extends `_tail`, the ids that are not in the index yet. New vectors and removals are written to the
    index when they reach a limit, after an erasure, and by `finish`; after a kill, they are read from the ledger again.
    One call writes at most WRITE_AT_ONCE vectors. The index is opened when it is first written, or in the background if
    the bank is so large that searches use it (see `behind`). Searches are always complete, because `BankVectors` scores
    the vectors in `_tail` exactly.

    Attributes:
        awake: whether the index has been opened and checked.
    """

    def __init__(self, name: str, bank: str, index: VectorIndex, scorer: ScoringVectorIndex) -> None:
        super().__init__(name, bank, index)
        self._scorer = scorer
        self._state = IndexState()
        self._seen: int | None = (
            None  # ledger revision up to which `_tail` was read; None if it must be read again
        )
        self._tail = _NOTHING
        # removed units that the index may still contain
        self._stale = _NOTHING
        # Revision up to which all erasures are applied to the index; None if it is empty.
        self._clean: int | None = 0
        self.awake = False

    @property
    def behind(self) -> bool:
        """Whether there is work for the background: `load` on any thread, then `go_on` on the writer thread."""
        return (self._searched and not self.awake) or (not self.problem and len(self._tail) >= TAIL_LIMIT)

    @property
    def _searched(self) -> bool:
        """Whether the bank is so large that the index is faster than exact search."""
        return self._scorer.count() > EXACT_LIMIT

    def vectors(self) -> BankVectors:
        """Return the vectors for searches."""
        usable = self._searched and self.awake and not self._state.problem
        if not usable or not self._index.watermark:
            return BankVectors(self._scorer)
        hidden = np.union1d(self._tail, self._stale)
        return BankVectors(self._scorer, self._index, hidden, self._state, self._state.clears)

    def distrusted(self) -> str:
        """Return the reason why searches do not use the index; empty if they do."""
        return self._state.problem

    def start(self, feed: Feed) -> None:
        """Read the ids that are missing from the index; an erasure that the index lacks is applied immediately."""
        recorded = self._index.recorded
        self._clean = recorded.revision if recorded else 0
        if self._read_tail(feed):
            self.follow(feed)

    def load(self) -> None:
        """Open the index. Any thread; `go_on` detects a failure."""
        if not self.awake:
            with suppress(StorageError):
                self._index.load()

    def go_on(self, feed: Feed) -> None:
        """Check the index after `load`; if it still lacks many vectors, write the next batch."""
        try:
            if not self.awake:
                self._wake(feed)
            if len(self._tail) >= TAIL_LIMIT:
                self._write(feed)
        except StorageError as error:
            self.heal(error, feed)

    def _wake(self, feed: Feed) -> None:
        """Open the index and check it.

        Raises:
            StorageError: it is damaged, or differs from the ledger.
        """
        self.awake, self._seen = True, None
        mark = self._index.watermark
        self._clean = mark.revision if mark else 0
        self._read_tail(feed)
        self.check(feed)

    def finish(self, feed: Feed) -> None:
        """Write waiting changes, at most WRITE_AT_ONCE, before the index is closed; replace a damaged index."""
        try:
            self._catch_up(feed)
            self._write(feed)
        except StorageError as error:
            self.heal(error, feed)

    def check(self, feed: Feed) -> None:
        """Compare the number of vectors with the ledger's, allowing for unwritten changes, and search for the newest."""
        expected = feed.vector_count()
        self._check_count(self._index.count(), expected, waiting=len(self._tail), stale=len(self._stale))
        if not self._index.watermark:
            return
        written = np.setdiff1d(feed.embedded(self._index.watermark.revision - 1), self._tail)
        _, newest = feed.vectors_of(written[-1:])
        if not len(newest):
            return
        best = self._index.search(newest, 1)[0]
        if not len(best) or best.scores[0] < SAME_VECTOR:
            raise IndexOutOfStep(self.name, self._bank, "a search does not find a stored vector")

    def clear(self) -> None:
        """Empty the index for a replay from the beginning; searches do not use it until then."""
        self._state.clears += 1
        self._seen = self._clean = None
        self.awake = True
        self._index.clear()

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Keep a readable index, and score vectors that it lacks exactly; drop and rebuild an unreadable one.

        A full disk is not damage: the content is kept, and the next write tries again.
        """
        try:
            self._read_tail(feed)
            self.check(feed)
        except IndexBehind as behind:  # the disk prevents the check too
            self.problem = str(behind)
        except StorageError:
            self._state.problem = ""
            super().heal(error, feed)
            self._state.problem = self.problem
        else:
            logger.warning("bank %r: the vector index could not be written: %s", self._bank, error)
            self.problem, self._state.problem = str(error), ""
        self.usable = True

    def _catch_up(self, feed: Feed) -> None:
        erased = self._read_tail(feed)
        if self._state.problem:
            self.check(feed)
            self._state.problem = ""
        if erased or TAIL_LIMIT <= len(self._tail) + len(self._stale) <= WRITE_AT_ONCE:
            self._write(feed)

    def _read_tail(self, feed: Feed) -> bool:
        """Read the ids of vectors missing from the index; return whether erased vectors may still be in it."""
        since, tail, stale = self._seen, self._tail, self._stale
        if since is None:
            since, tail, stale = self._durable(feed), _NOTHING, _NOTHING
        if since != feed.revision:
            removed = feed.removed(since)
            tail = np.setdiff1d(np.union1d(tail, feed.embedded(since)), removed)
            stale = np.union1d(stale, removed)
        self._tail, self._seen, self._stale = tail, feed.revision, stale
        return self._clean is not None and feed.erased(self._clean)

    def _durable(self, feed: Feed) -> int:
        """Return the revision of the index; before it is opened, that of its files."""
        if self.awake:
            return self._since(feed)
        mark = self._index.recorded
        return mark.revision if mark and feed.knows(mark) else 0

    def _write(self, feed: Feed) -> None:
        """Apply removals, and write the first missing vectors; once none is missing, the index is at the feed's revision."""
        if self._durable(feed) == feed.revision:
            return
        if not self.awake:
            self._wake(feed)
        if self._read_tail(feed) and self._index.keeps_removed:
            # Erased vectors must be removed from the index's files too.
            self.clear()
            self._read_tail(feed)
        else:
            self._index.remove(self._stale)
        if self._clean is None:
            self._clean = feed.revision
        fits = len(self._tail) < WRITE_AT_ONCE + TAIL_LIMIT  # avoid a remainder below the limit
        now = len(self._tail) if fits else WRITE_AT_ONCE
        self._index.upsert(*feed.vectors_of(self._tail[:now]))
        self._tail = self._tail[now:]
        if not len(self._tail):
            self._index.advance(feed.mark)
            self._stale, self._clean = _NOTHING, feed.revision


COMMIT_AFTER = 128
"""Maximum number of texts waiting for a commit; with two facts per turn, every 64th turn writes them."""


class KeywordFollower(Follower[KeywordIndex]):
    """Keeps the texts of a bank's units up to date.

    Every commit is visible to searches at once. The index is committed to disk when enough texts have
    accumulated, when one was erased or corrected (its words are still in the files), and by `finish`.
    """

    def __init__(self, name: str, bank: str, index: KeywordIndex) -> None:
        super().__init__(name, bank, index)
        self._seen: int | None = None  # revision that searches see; None if it is that of the files
        self._waiting = 0  # number of indexed texts that are not yet in the files

    def clear(self) -> None:
        """Empty the index for a replay from the beginning."""
        super().clear()
        self._seen, self._waiting = None, 0

    def check(self, feed: Feed) -> None:
        """Compare the number of texts with the ledger's, and run a search."""
        self._check_count(self._index.count(), feed.count())
        self._index.search("probe", 1)

    def heal(self, error: StorageError, feed: Feed) -> None:
        """Revert to the last commit and replay later ones, in memory if the index cannot be written; else rebuild everything.

        A full disk is not damage: the content is kept, and the next write tries again.
        """
        try:
            self._revert(feed)
            self.check(feed)
            try:
                self._write(feed)
            except StorageError as refused:
                logger.warning(
                    "bank %r: the keyword index could not be written to disk: %s", self._bank, refused
                )
                self._revert(feed)
                self.problem, self.usable = str(refused), True
            else:
                self.problem, self.usable = "", True
        except StorageError:
            super().heal(error, feed)

    def _catch_up(self, feed: Feed) -> None:
        reopened = self._seen is None and self._since(feed) != feed.revision
        self._show(feed)
        # After a kill, write immediately, because the files may contain texts that have been replaced since.
        if reopened or self._waiting >= COMMIT_AFTER:
            self._write(feed)

    def _show(self, feed: Feed) -> None:
        """Make all commits visible to searches; only an erasure or a correction forces a write."""
        since = self._since(feed) if self._seen is None else self._seen
        if since == feed.revision:
            self._seen = since
            return
        (ids, texts), removed = feed.texts(since), feed.removed(since)
        self._index.remove(removed)
        holds_removed = len(ids) > 0 and self._index.upsert(ids, texts, feed.told(since, ids))
        self._seen = feed.revision
        # Removed units may stay in the files for a while; erased and corrected texts may not.
        at_once = feed.erased(since) or (holds_removed and not len(removed))
        self._waiting = COMMIT_AFTER if at_once else self._waiting + len(ids) + len(removed)

    def _write(self, feed: Feed) -> None:
        if self._since(feed) != feed.revision:
            self._index.advance(feed.mark)
        self._waiting = 0

    def _revert(self, feed: Feed) -> None:
        self.rebuilds += 1  # searches are incomplete until the replay is done
        self._index.revert()
        self._seen, self._waiting = None, 0
        self._show(feed)


class GraphFollower(Follower[MemoryGraph]):
    """Keeps links and mentions up to date after the graph is loaded.

    The first use loads the graph, on any thread, under a lock. The writer thread does not wait for this lock:
    it records that a commit was missed, and the next use of the graph reads it.

    Attributes:
        awake: whether the graph is loaded.
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
        self._missed = False  # whether a commit came while the graph was being loaded
        self.awake = False

    def follow(self, feed: Feed) -> None:
        """Apply the ledger's new links and mentions, if the graph is loaded."""
        if not self._lock.acquire(blocking=False):
            self._missed = True
            return
        try:
            if self.awake:
                self._missed = False
                super().follow(feed)
        finally:
            self._lock.release()

    def wake(self) -> MemoryGraph:
        """Return the graph, loading it from the ledger on first use.

        Raises:
            IndexOutOfStep: the graph could not be loaded; the next call tries again.
        """
        if not self.awake or self._missed:
            with self._lock:
                if not self.awake or self._missed:
                    self._missed = False
                    with ExitStack() as on_failure:
                        on_failure.callback(setattr, self, "_missed", True)
                        self._fill()
                        on_failure.pop_all()
        return self._index

    def _fill(self) -> None:
        with self._open_feed(self._bank) as feed:
            super().follow(feed)
        if problem := self.problem:
            self.problem, self.usable = "", True
            raise IndexOutOfStep(self.name, self._bank, problem)
        self.awake = True

    def finish(self, feed: Feed) -> None:
        """Do nothing: the graph is in memory."""

    def sleep(self) -> None:
        """Drop the graph until the next request."""
        with self._lock:
            self.awake = False
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


FIRST_CAPACITY = 1024  # rows; 80 kB, so that a small bank grows only once
# factor by which a full buffer grows: a row is copied five times on average, and at most 20 % are unused
GROWTH = 1.25


class GrowingColumns:
    """Builds successive snapshots of a bank's columns without copying all rows.

    A snapshot's arrays are prefixes of larger buffers. New rows have higher ids, and are written after the prefix;
    a changed value copies its column; an erasure copies all columns.

    Attributes:
        newest: the newest snapshot; never modified.
    """

    def __init__(self) -> None:
        self.newest: Columns = empty_columns()
        self._buffers: dict[str, IntArray] = {}
        self._codes: Codes = Codes.of(self.newest)
        self._adopt(self.newest)

    def update(self, changes: UnitColumns, removed: IntArray) -> None:
        """Build a new snapshot with rows changed, added and removed; keep the old one if nothing changed."""
        if not len(changes.ids) and not len(removed):
            return
        last = self.newest.ids[-1] if len(self.newest) else -1
        new: BoolArray = changes.ids > last
        at = self.newest.positions(changes.ids[~new])
        if len(removed) or (at < 0).any():
            self._adopt(updated(self.newest, changes, removed))
            return
        coded = coded_arrays(changes, self._codes)
        arrays = {name: self._column(name, coded[name], new, at) for name in ARRAYS}
        self.newest = snapshot(arrays, self._codes, self._gaps(changes), self.newest)

    def _adopt(self, columns: Columns) -> None:
        self.newest = columns
        self._buffers = {name: getattr(columns, name) for name in ARRAYS}
        self._codes = Codes.of(columns)

    def _column(self, name: str, values: IntArray, new: BoolArray, at: IntArray) -> IntArray:
        """Return the column with some values changed and new ones appended."""
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
    """Keeps the columns of a bank's units up to date, in memory.

    Attributes:
        items: the newest snapshot of the units that are texts of stored items.
    """

    def __init__(self) -> None:
        self._growing, self._seen = GrowingColumns(), 0
        self.items = ItemColumns()

    @property
    def columns(self) -> Columns:
        """The newest snapshot."""
        return self._growing.newest

    def follow(self, feed: Feed) -> None:
        """Update the columns to the feed's revision."""
        if self._seen != feed.revision:
            removed = feed.removed(self._seen)
            changed = feed.columns(self._seen)
            self._growing.update(changed, removed)
            of_items = bool(np.any((changed.types >= STORED) & (changed.types < IN_DOCUMENT)))
            texts = feed.item_units(self._seen) if of_items else NO_ITEM_UNITS
            self.items = self.items.changed(texts, removed)
            self._seen = feed.revision

    def clear(self) -> None:
        """Remove everything."""
        self._growing, self._seen = GrowingColumns(), 0
        self.items = ItemColumns()


Background: TypeAlias = Callable[["BankProjection"], None]
"""A function that starts work of a projection in the background."""

GRAPH_ON_DEMAND = 50_000
"""Number of units up to which the graph is loaded on first use, which takes about half a second.

For larger banks it is loaded in the background, although updating it then takes 1 ms of each turn.
"""

FEW_COMMITS = 16
"""Maximum number of commits of other processes that a writer applies while it holds the bank's lock."""


class BankProjection:
    """Updates one bank's indexes and columns to the ledger's revision.

    `open`, `catch_up`, `reembedded` and `continue_vectors` run on the engine's writer thread. `view` may be
    called from any thread and always returns a consistent snapshot: columns are replaced last, so every
    channel finds all their units.

    Commits are visible immediately and written to the indexes' files in batches (`KeywordFollower`,
    `VectorFollower`); `close` writes the rest.

    Args:
        bank: the bank's name.
        ledger: the ledger.
        indexes: the indexes of the bank.
        copy: the registration of these indexes as a copy of the bank; None if copies are not registered.
        background: called when an index is behind; it must run `load` on any thread, and then
            `continue_vectors`. None leaves the index behind.
    """

    def __init__(
        self,
        bank: str,
        ledger: Ledger,
        indexes: Indexes,
        copy: RegisteredCopy | None = None,
        *,
        background: Background | None = None,
    ) -> None:
        self._bank, self._ledger, self._indexes, self._copy = bank, ledger, indexes, copy
        self._background = background
        self._continuing = False  # whether a call of `continue_vectors` is pending
        self._clean: int | None = None  # revision up to which erasures are applied and must be confirmed
        self._mark: Watermark | None = None  # the commit of the view
        self._generation: int | None = None
        self._hub_degree = hub_degree(0)
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
        """Return the bank at the latest revision that every channel has reached."""
        return self._view

    def behind(self) -> bool:
        """Return whether the ledger has advanced, an index must be rebuilt, or an erasure could not be confirmed."""
        with self._existing():
            unsettled = self.unsettled(self._view) or self._clean is not None
            return unsettled or self._ledger.mark(self._bank) != self._mark

    @contextmanager
    def _existing(self) -> Iterator[None]:
        """Convert the error for a missing bank: another process has forgotten it.

        Raises:
            BankForgotten: the bank does not exist any more.
        """
        try:
            yield
        except BankForgotten:
            raise
        except BankNotFound as error:
            raise BankForgotten(self._bank) from error

    @property
    def rebuilds(self) -> int:
        """Number of times an index was emptied for a rebuild."""
        return sum(follower.rebuilds for follower in self._followers)

    @property
    def rebuilt(self) -> dict[str, str]:
        """The indexes that were rebuilt from the ledger since the bank was opened, with the reasons."""
        return {follower.name: follower.rebuilt for follower in self._followers if follower.rebuilt}

    def unsettled(self, view: BankView) -> bool:
        """Return whether an index is broken, or was emptied since the view was created, so that searches may be incomplete."""
        return bool(view.failures) or view.rebuilds != self.rebuilds

    def problems(self) -> dict[str, str]:
        """Return the reason for each index that could not be written or searched. Any thread."""
        problems = {follower.name: follower.problem for follower in self._followers}
        if self._vectors:
            problems["vector"] = problems["vector"] or self._vectors.distrusted()
        return {name: problem for name, problem in problems.items() if problem}

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self._ledger

    def open(self) -> None:
        """Catch up, then check each durable index against the ledger; rebuild and log those that fail."""
        with self._ledger.feed(self._bank) as feed:
            self._check_history(feed)
            for follower in self._followers:
                follower.start(feed)
            self._publish(feed)
        self._confirm()

    def catch_up(self) -> None:
        """Update every index, then the columns, to the ledger's revision.

        An index that fails is rebuilt from the ledger. If that fails too, it is listed in `problems`, and in
        the view's `failures` if its channel needs it.
        """
        with self._existing(), self._ledger.feed(self._bank, self._ahead()) as feed:
            self._follow(feed)
        self._confirm()

    @contextmanager
    def transaction(self) -> Iterator[tuple[BankView, Transaction]]:
        """Lock the bank against other writers, catch up, and yield a view of the bank as the transaction sees it."""
        for again in (False, True):
            with self._existing(), self._ledger.transaction(self._bank) as transaction:
                feed = transaction.feed
                if again or self._is_near(feed):
                    if feed.mark != self._mark:
                        self._follow(feed)
                    yield replace(self._view, ledger=transaction, embedder=feed.embedder), transaction
                    return
            self.catch_up()  # catch up without holding the lock

    def load(self) -> None:
        """Open the vector index if it is behind, and load the graph of a large bank. Any thread."""
        if self._vectors and self._vectors.behind:
            self._vectors.load()
        if self._is_large:
            with suppress(StorageError, BankNotFound):  # the first question that needs the graph tries again
                self._graph.wake()

    @property
    def _is_large(self) -> bool:
        """Whether loading the graph on first use would take noticeably long."""
        return len(self._columns.columns) > GRAPH_ON_DEMAND

    def continue_vectors(self) -> None:
        """Check a vector index that was opened in the background, and write the next vectors to it."""
        self._continuing = False
        if self._vectors is None or self._mark is None or not self._vectors.behind:
            return
        with self._existing(), self._ledger.feed(self._bank, self._ahead()) as feed:
            self._check_history(feed)
            self._vectors.go_on(feed)
            self._follow(feed)
        self._confirm()

    def reembedded(self) -> None:
        """Rebuild both vector indexes from the ledger after the vectors were replaced by another embedder's."""
        self._scorer.clear()
        if self._vectors:
            self._vectors.clear()
        self.catch_up()

    def close(self) -> None:
        """Write all waiting changes, and close the indexes; the ledger must still be open."""
        try:
            with self._ledger.feed(self._bank) as feed:
                for follower in self._followers:
                    follower.finish(feed)
        except HindsightError as error:
            # If the ledger cannot be read, close without writing; the next open writes the rest.
            logger.warning("bank %r: its indexes are closed without writing: %s", self._bank, error)
        finally:
            self._mark = None
            self._indexes.close()

    def discard(self) -> None:
        """Empty the indexes and publish an empty view, after the bank was removed."""
        self._mark = None
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

    def _check_history(self, feed: Feed) -> None:
        """Drop everything derived from commits that the ledger no longer has, for example after restoring a backup.

        Raises:
            BankForgotten: the bank was forgotten; a new bank may have its name.
        """
        if self._generation not in (None, feed.mark.generation):
            raise BankForgotten(self._bank)
        self._generation = feed.mark.generation
        if self._mark is None or feed.mark == self._mark or feed.knows(self._mark):
            return
        logger.error(
            "bank %r: the ledger was restored from a backup, and its indexes are rebuilt", self._bank
        )
        for follower in self._followers:
            follower.clear()
        self._columns.clear()
        self._mark = None
        if self._copy:
            self._copy.confirmed = UNREGISTERED  # the backup may be older than this copy's registration

    def _is_near(self, feed: Feed) -> bool:
        """Return whether the indexes can be updated quickly: few commits are missing, and no index must be rebuilt."""
        if self._mark is None or feed.mark == self._mark:
            return self._mark is not None
        return feed.revision - self._mark.revision <= FEW_COMMITS and feed.knows(self._mark)

    def _ahead(self) -> Ahead | None:
        """Return the SELECT statements that the followers will run on the next feed; None before the first feed."""
        if self._mark is None:
            return None
        return Ahead(self._mark.generation, self._mark.revision, int(self._hub_degree), self._graph.awake)

    def _follow(self, feed: Feed) -> None:
        self._check_history(feed)
        for follower in self._followers:
            follower.follow(feed)
        self._publish(feed)

    def _publish(self, feed: Feed) -> None:
        self._columns.follow(feed)
        columns = self._columns.columns
        memories = int(np.count_nonzero(of_types(columns, TOLD_NETWORKS)))
        # The selects that `_ahead` predicted may have used the earlier, lower limit.
        more_than = min(self._hub_degree, hub_degree(memories))
        self._hub_degree = hub_degree(memories)
        self._view = replace(
            self._view,
            revision=feed.revision,
            columns=columns,
            items=self._columns.items,
            vectors=self._vectors.vectors() if self._vectors else BankVectors(self._indexes.scorer),
            hubs=hub_entities(*feed.mentioned(more_than), memories, feed.roles()),
            failures={follower.name: follower.problem for follower in self._followers if not follower.usable},
            rebuilds=self.rebuilds,
            embedder=feed.embedder,
            row=feed.bank.id,
        )
        self._mark = feed.mark
        if self._copy and feed.erased(self._copy.confirmed) and not self.problems():
            self._clean = feed.revision
        asleep = self._is_large and not self._graph.awake
        behind = asleep or (self._vectors is not None and self._vectors.behind)
        if self._background and behind and not self._continuing:
            self._continuing = True
            self._background(self)

    def _confirm(self) -> None:
        """Record in the ledger that erasures are applied; not inside a transaction, which this would wait for."""
        if self._copy is None or self._clean is None:
            return
        try:
            self._copy.confirm(self._clean)
        except StorageError as error:  # try again at the next catch-up
            logger.warning("bank %r: its erasures could not be confirmed yet: %s", self._bank, error)
        else:
            self._clean = None
