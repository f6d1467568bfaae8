"""The pipelines' view of one bank: its ledger, its indexes with vector search, and a snapshot of its columns."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hindsight_integrations.errors import EmbedderMismatch, StorageError
from hindsight_integrations.indexes.columns import Columns, ItemColumns
from hindsight_integrations.indexes.protocols import KeywordIndex, MemoryGraph, VectorIndex, VectorScorer
from hindsight_integrations.ledger.ledger import Ledger, LedgerReader, Transaction
from hindsight_integrations.model.arrays import Hits, IntArray, Matrix, Vector, ranked
from hindsight_integrations.model.embedder import EmbedderIdentity

logger = logging.getLogger("hindsight_integrations")

EXACT_LIMIT = 100_000
"""Maximum number of units for which exact search in memory is used instead of an index.

Exact search takes 0.9 ms of CPU time for 10,000 units and 11 ms for 100,000, and loads no graph; Chroma takes
5.6 and 11.5 ms (k = 300, ef = 1,000, 384 dimensions).
"""


class ScoringVectorIndex(VectorIndex, VectorScorer, Protocol):
    """An exact vector index that can also score chosen units."""


@dataclass(slots=True)
class IndexState:
    """The state of an index, shared by all its users on any thread.

    Attributes:
        problem: the reason why the index must not be searched, or empty. A failing search sets it, a rebuild
            resets it.
        clears: number of times the index has been emptied.
    """

    problem: str = ""
    clears: int = 0


@dataclass(frozen=True, slots=True)
class BankVectors:
    """Nearest neighbours in a whole bank, from the index and from the vectors not yet written to it (the tail).

    The tail is scored exactly; entries of the index with an id in the tail are ignored. If the index cannot
    be searched, all vectors are scored exactly, which is slower in a large bank.

    Attributes:
        scorer: exact cosines of all units.
        index: the index; None if it is empty or must not be searched.
        tail: the ids changed since the index was written, ascending.
        state: whether the index may be searched.
        clears: the value of `state.clears` when this object was created; if it has changed since, the index
            may lack vectors.
    """

    scorer: ScoringVectorIndex
    index: VectorIndex | None = None
    tail: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    state: IndexState = field(default_factory=IndexState)
    clears: int = 0

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with the scorer's cosine in [-1, 1]."""
        indexed = self._indexed(vectors, limit) if limit > 0 and len(vectors) else None
        if indexed is None:
            return self.scorer.search(vectors, limit)
        return [self._joined(query, hits, limit) for query, hits in zip(vectors, indexed, strict=True)]

    def _indexed(self, vectors: Matrix, limit: int) -> list[Hits] | None:
        """Return the index's hits without outdated ones, at least `limit` per query if there are as many; None on failure."""
        if self.index is None or not self._trusted():
            return None
        ask = limit
        try:
            while True:
                results = self.index.search(vectors, ask)
                kept = [self._outside(hits) for hits in results]
                if all(
                    len(some) >= limit or len(hits) < ask for some, hits in zip(kept, results, strict=True)
                ):
                    return kept if self._trusted() else None
                ask *= 2
        except StorageError as error:
            if self._trusted():
                logger.warning("the vector index failed; using exact search instead: %s", error)
                self.state.problem = str(error)
            return None

    def _trusted(self) -> bool:
        return not self.state.problem and self.state.clears == self.clears

    def _outside(self, hits: Hits) -> Hits:
        if not len(self.tail):
            return hits
        place = np.minimum(np.searchsorted(self.tail, hits.ids), len(self.tail) - 1)
        keep = self.tail[place] != hits.ids
        return Hits(hits.ids[keep], hits.scores[keep])

    def _joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """Rank the index's hits and the unwritten vectors by the scorer's cosines; the index rounds differently."""
        ids = np.concatenate([hits.ids, self.tail])
        cosines = self.scorer.similarities(query, ids)
        known = ~np.isnan(cosines)  # a unit erased after the search has no cosine
        return ranked(ids[known], cosines[known], limit)


@dataclass(frozen=True, slots=True)
class BankView:
    """One bank at one revision. Every channel finds every unit in `columns`; indexes may contain newer ones.

    Attributes:
        bank: the bank's name.
        revision: the ledger revision of the columns.
        ledger: the ledger, for reading; inside a transaction, it shows the transaction's state.
        columns: the filterable attributes of the units.
        items: the units that are texts of stored items.
        vectors: nearest-neighbour search in the whole bank, including vectors not yet written to the index.
        scorer: exact cosines of given units.
        keywords: the BM25 index.
        open_graph: function that returns the graph; see `graph`.
        hubs: row ids of entities that transmit no activation; see `spreading_activation`.
        rebuilds: number of index rebuilds when this view was made.
        failures: reasons by index name, for indexes that could not be rebuilt and must not be used.
        embedder: the embedder of the bank's vectors; None if there are none.
        row: row id of the bank; 0 before the first revision is published.
    """

    bank: str
    revision: int
    ledger: LedgerReader
    columns: Columns
    items: ItemColumns
    vectors: BankVectors
    scorer: ScoringVectorIndex
    keywords: KeywordIndex
    open_graph: Callable[[], MemoryGraph]
    hubs: IntArray
    failures: dict[str, str]
    rebuilds: int = 0
    embedder: EmbedderIdentity | None = None
    row: int = 0

    def snapshot(self) -> AbstractContextManager[LedgerReader]:
        """Open a block whose reads of the ledger all see one state of the bank."""
        return self.ledger.snapshot(self.bank, self.row)

    def single_read(self) -> AbstractContextManager[LedgerReader]:
        """Open a block that runs one SELECT on the ledger."""
        return self.ledger.single_read(self.bank, self.row)

    def check_embedder(self, given: EmbedderIdentity) -> None:
        """Check that the bank's vectors were made by this embedder, or that there are none.

        Raises:
            EmbedderMismatch: they were made by another one.
        """
        if self.embedder is not None and not self.embedder.matches(given):
            raise EmbedderMismatch(self.bank, str(self.embedder), str(given))

    @property
    def graph(self) -> MemoryGraph:
        """The graph of links and mentions, loaded from the ledger on first use.

        Raises:
            IndexOutOfStep: the graph cannot be loaded.
        """
        return self.open_graph()


class Projector(Protocol):
    """Access to one bank for writing: its ledger, and updates of its indexes."""

    @property
    def name(self) -> str:
        """The bank's id."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        ...

    def single_read(self) -> AbstractContextManager[LedgerReader]:
        """Open a block that runs one SELECT on the ledger."""
        ...

    def viewing(self) -> AbstractAsyncContextManager[BankView]:
        """Open the newest view for reading; its indexes stay open until the end of the block."""
        ...

    def catch_up(self) -> None:
        """Update the indexes to the ledger's revision. Writer thread only."""
        ...

    def problems(self) -> dict[str, str]:
        """Return the reason for each index that could not be written. Writer thread only.

        Searches take the missing content from elsewhere if possible.
        """
        ...

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """Lock the bank against other writers; yield a view of the bank as the transaction sees it. Writer thread only."""
        ...
