"""What the pipelines see of one bank: its ledger, its indexes and a snapshot of its columns."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.ledger import Ledger, LedgerReader, Transaction
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.ports.vector_index import VectorIndex, VectorScorer
from hindsight_integrations.search.columns import Columns

EXACT_LIMIT = 20_000  # up to so many units exact search in memory beats an index [decision 084]


class ScoringVectorIndex(VectorIndex, VectorScorer, Protocol):
    """An exact vector index that can also score chosen units."""


@dataclass(frozen=True, slots=True)
class BankView:
    """One bank as of one revision. Every unit in `columns` is in every index; indexes may already hold newer ones.

    Attributes:
        bank: its name.
        revision: the ledger revision the columns stand at.
        ledger: what the record holds; inside a transaction, as that sees it.
        columns: filterable facts.
        vectors: nearest neighbours of the whole bank.
        scorer: exact cosines of chosen units.
        keywords: BM25.
        graph: links and mentions.
        hubs: row ids of entities that transmit nothing; see graph/activation.
        rebuilds: how often an index had been emptied for a replay when this view was made.
        failures: index name to reason, for indexes that could not be healed and must not be used.
        amended: row ids of units partly taken back by others, ascending.
    """

    bank: str
    revision: int
    ledger: LedgerReader
    columns: Columns
    vectors: VectorIndex
    scorer: ScoringVectorIndex
    keywords: KeywordIndex
    graph: MemoryGraph
    hubs: IntArray
    failures: dict[str, str]
    rebuilds: int = 0
    amended: IntArray = field(default_factory=lambda: np.empty(0, np.int64))


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

    def catch_up(self) -> None:
        """Apply what was committed. Writer thread only."""
        ...

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """The bank held against other writers, and a view of it as the transaction sees it. Writer thread only."""
        ...
