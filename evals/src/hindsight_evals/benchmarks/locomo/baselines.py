"""Plain vector search, plain BM25 and their RRF over a bank's own units, vectors and token counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from hindsight_evals.benchmarks.locomo.coverage import System
from hindsight_integrations.indexes.exact import ExactVectorIndex
from hindsight_integrations.indexes.fts5 import Fts5Keywords
from hindsight_integrations.indexes.hybrid import reciprocal_rank_fusion
from hindsight_integrations.indexes.lucene import LuceneKeywords, java_available
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.watermark import Watermark
from hindsight_integrations.recall.packing import pack

MEMORY = ":memory:"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The content of a bank's ledger: units by row id, and their vectors."""

    bank: str
    units: dict[int, MemoryUnit]
    vectors: ExactVectorIndex

    @classmethod
    def read(cls, folder: Path, bank: str) -> Self:
        """Read a bank that an engine has open."""
        ledger = Ledger.open(folder, read_only=True)
        try:
            with ledger.feed(bank) as feed:
                ids = feed.embedded(0)
                _, vectors = feed.vectors_of(ids)
            index = ExactVectorIndex()
            index.upsert(ids, vectors)
            return cls(bank, ledger.units.get(bank, ids), index)
        finally:
            ledger.close()


class Baselines:
    """Rankings of one corpus by the plain methods. Close it when done.

    Each method ranks as many units as one channel of the engine (`depth`). There is no similarity threshold.
    """

    def __init__(self, corpus: Corpus, *, depth: int) -> None:
        self._corpus, self._depth = corpus, depth
        self._stores = LuceneKeywords(MEMORY) if java_available() else Fts5Keywords(MEMORY)
        self._keywords = self._stores.open("baseline")
        ids = sorted(corpus.units)
        self._keywords.upsert(np.array(ids, np.int64), [corpus.units[row].text for row in ids])
        self._keywords.advance(Watermark("ba5e", 1, 1, f"{1:016x}"))

    def rank(self, question: str, vector: Vector) -> dict[System, IntArray]:
        """Return row ids by cosine (exact), by BM25, and by reciprocal rank fusion of the two (k = 60), best first."""
        near = self._corpus.vectors.search(vector.reshape(1, -1), self._depth)[0].ids
        worded = self._keywords.search(question, self._depth).ids
        fused, _ = reciprocal_rank_fusion({Channel.SEMANTIC: near, Channel.KEYWORD: worded})
        return {System.VECTOR: near, System.BM25: worded, System.RRF: fused}

    def packed(self, ranking: IntArray, max_tokens: int) -> list[MemoryUnit]:
        """Return the units that fit the budget, packed as in the engine."""
        units = [self._corpus.units[int(row)] for row in ranking]
        return [units[place] for place in pack([unit.tokens for unit in units], max_tokens)]

    def close(self) -> None:
        """Close the keyword index."""
        self._stores.close()
