"""The indexes of one open bank."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.ports.memory_graph import MemoryGraph
from hindsight_integrations.ports.vector_index import VectorIndex
from hindsight_integrations.search.bank_vectors import ScoringVectorIndex


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
