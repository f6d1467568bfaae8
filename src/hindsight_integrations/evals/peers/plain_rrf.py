"""The very texts of our memories under plain fusion: cosine and BM25 by reciprocal rank, nothing withdrawn, nothing else.

What the engine does beyond this is what it gains: the graph, times, validity.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import numpy as np

from hindsight_integrations import Channel
from hindsight_integrations.backends.keyword.fts5 import Fts5Keywords
from hindsight_integrations.backends.keyword.java import java_available
from hindsight_integrations.backends.keyword.lucene import LuceneKeywords
from hindsight_integrations.evals.episode import MemoryText, Session
from hindsight_integrations.evals.memory_system import Context, MemorySystem, Peer, Place, ServedText
from hindsight_integrations.evals.packing import packed
from hindsight_integrations.ports.arrays import Matrix
from hindsight_integrations.ports.keyword_index import KeywordIndex
from hindsight_integrations.search.fusion import reciprocal_rank_fusion

DEPTH = 1000  # texts that either list may name; what fills the largest budget


class PlainRrf:
    """Vectors in one matrix, words in the engine's own keyword index. Not for several writers."""

    def __init__(self, place: Place, keywords: KeywordIndex) -> None:
        self._embedder, self._tokens, self._keywords = place.embedder, place.tokens, keywords
        self._texts: list[ServedText] = []
        self._known: set[str] = set()
        self._vectors: list[Matrix] = []

    def retain(self, session: Session) -> None:
        """Keep every text of a session that is not kept yet."""
        new = [text for text in session.texts if text.id not in self._known]
        if not new:
            return
        start = len(self._texts)
        self._known.update(text.id for text in new)
        self._texts += self._as_served(new)
        self._vectors.append(self._embedder.embed_documents([text.text for text in new]))
        rows = np.arange(start, start + len(new), dtype=np.int64)
        self._keywords.upsert(rows, [text.text for text in new])
        self._keywords.refresh()

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:  # noqa: ARG002 - it knows no time
        """The best by both lists that fit the budget."""
        if not self._texts:
            return Context(())
        near = np.argsort(-self._matrix() @ self._embedder.embed_query(question), kind="stable")[:DEPTH]
        worded = self._keywords.search(question, DEPTH).ids
        fused, _ = reciprocal_rank_fusion({Channel.SEMANTIC: near, Channel.KEYWORD: worded})
        return packed((self._texts[row] for row in fused.tolist()), max_tokens)

    def _matrix(self) -> Matrix:
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        return self._vectors[0]

    def _as_served(self, texts: list[MemoryText]) -> list[ServedText]:
        counts = self._tokens.count([text.text for text in texts])
        return [ServedText(text.text, text.sources, count) for text, count in zip(texts, counts, strict=True)]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    stores = LuceneKeywords(":memory:") if java_available() else Fts5Keywords(":memory:")
    try:
        yield PlainRrf(place, stores.open("plain"))
    finally:
        stores.close()


PLAIN_RRF = Peer("plain-rrf", _opened)
