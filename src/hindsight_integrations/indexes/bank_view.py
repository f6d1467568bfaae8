"""What the pipelines see of one bank: its ledger, its indexes and a snapshot of its columns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations.indexes.bank_vectors import BankVectors, ScoringVectorIndex
from hindsight_integrations.indexes.columns import Columns, ItemColumns
from hindsight_integrations.indexes.protocols import KeywordIndex, MemoryGraph
from hindsight_integrations.ledger.ledger import Ledger, LedgerReader, Transaction
from hindsight_integrations.model.arrays import IntArray

EXACT_LIMIT = 20_000  # up to so many units exact search in memory beats an index


@dataclass(frozen=True, slots=True)
class BankView:
    """One bank as of one revision. Every channel finds every unit in `columns`; indexes may already hold newer ones.

    Attributes:
        bank: its name.
        revision: the ledger revision the columns stand at.
        ledger: what the record holds; inside a transaction, as that sees it.
        columns: filterable facts.
        items: which units are texts of items.
        vectors: nearest neighbours of the whole bank, what waits to be written included.
        scorer: exact cosines of chosen units.
        keywords: BM25.
        open_graph: gives links and mentions; see `graph`.
        hubs: row ids of entities that transmit nothing; see graph/activation.
        rebuilds: how often an index had been emptied for a replay when this view was made.
        failures: index name to reason, for indexes that could not be healed and must not be used.
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

    @property
    def graph(self) -> MemoryGraph:
        """Links and mentions. The first time in a process they are read from the ledger, which takes a moment.

        Raises:
            IndexOutOfStep: they cannot be read.
        """
        return self.open_graph()


class Projector(Protocol):
    """One bank to write to: its record, and what brings its indexes to the record's revision."""

    @property
    def name(self) -> str:
        """The bank's id."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        ...

    def viewing(self) -> AbstractAsyncContextManager[BankView]:
        """The newest view, for reading; its indexes stay open until the end of the block."""
        ...

    def catch_up(self) -> None:
        """Apply what was committed. Writer thread only."""
        ...

    def problems(self) -> dict[str, str]:
        """Index name to reason, for each that could not be written; what it lacks is served otherwise where it can be. Writer thread only."""
        ...

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """The bank held against other writers, and a view of it as the transaction sees it. Writer thread only."""
        ...
