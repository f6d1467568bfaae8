"""The texts of our memories with plain fusion: cosine and BM25 by reciprocal rank, without withdrawals.

The difference to the engine shows what its other parts contribute: the graph, times, validity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.nearest import NearestTexts
from hindsight_evals.peers.ranked import RankedSystem
from hindsight_integrations import Channel
from hindsight_integrations.indexes.fts5 import Fts5Keywords
from hindsight_integrations.indexes.hybrid import reciprocal_rank_fusion
from hindsight_integrations.indexes.lucene import LuceneKeywords, java_available
from hindsight_integrations.indexes.protocols import KeywordIndex
from hindsight_integrations.models.protocols import Embedder


class FusedTexts:
    """Vectors, and a keyword index of the engine."""

    def __init__(self, embedder: Embedder, keywords: KeywordIndex) -> None:
        self._near, self._keywords = NearestTexts(embedder), keywords

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Add texts to both."""
        rows = np.arange(len(self._near.ids), len(self._near.ids) + len(texts), dtype=np.int64)
        self._near.add(texts)
        self._keywords.upsert(rows, [text.text for text in texts])

    def rank(self, question: str, depth: int) -> list[str]:
        """Fuse both lists (paper eq. 15)."""
        lists = {
            Channel.SEMANTIC: self._near.rows(question, depth),
            Channel.KEYWORD: self._keywords.search(question, depth).ids,
        }
        fused, _ = reciprocal_rank_fusion(lists)
        return [self._near.ids[row] for row in fused.tolist()]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    stores = LuceneKeywords(":memory:") if java_available() else Fts5Keywords(":memory:")
    try:
        yield RankedSystem(FusedTexts(place.embedder, stores.open("plain")), place.tokens)
    finally:
        stores.close()


PLAIN_RRF = Peer("plain-rrf", _opened)
