"""The pipelines' view of one bank: its ledger, its indexes and a snapshot of its columns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations.errors import EmbedderMismatch
from hindsight_integrations.indexes.bank_vectors import BankVectors, ScoringVectorIndex
from hindsight_integrations.indexes.columns import Columns, ItemColumns
from hindsight_integrations.indexes.protocols import KeywordIndex, MemoryGraph
from hindsight_integrations.ledger.ledger import Ledger, LedgerReader, Transaction
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.embedder import EmbedderIdentity

EXACT_LIMIT = 100_000
"""Maximum number of units for which exact search in memory is used instead of an index.

Exact search takes 0.9 ms of CPU time for 10,000 units and 11 ms for 100,000, and loads no graph; Chroma takes
5.6 and 11.5 ms (k = 300, ef = 1,000, 384 dimensions).
"""


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
