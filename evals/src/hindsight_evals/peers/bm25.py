"""bm25s: BM25 over English stems; the index is rebuilt after texts were added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import bm25s
import Stemmer

from hindsight_evals.episode import MemoryText
from hindsight_evals.memory_system import MemorySystem, Peer, Place
from hindsight_evals.peers.ranked import RankedSystem


class Bm25Texts:
    """Texts and, after the first search, their index."""

    def __init__(self) -> None:
        self._stem = Stemmer.Stemmer("english")
        self._texts: list[MemoryText] = []
        self._index: bm25s.BM25 | None = None
        self._lock = Lock()

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Add texts; the index is built at the next search."""
        self._texts += texts
        self._index = None

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the texts that share a word with the question, best first."""
        with self._lock:
            index = self._index = self._index or self._indexed()
            words = self._tokenised([question])
        rows, scores = index.retrieve(words, k=min(depth, len(self._texts)), show_progress=False)
        return [
            self._texts[row].id
            for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True)
            if score > 0
        ]

    def _indexed(self) -> bm25s.BM25:
        index = bm25s.BM25()
        index.index(self._tokenised([text.text for text in self._texts]), show_progress=False)
        return index

    def _tokenised(self, texts: list[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(texts, stopwords="en", stemmer=self._stem, show_progress=False)


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield RankedSystem(Bm25Texts(), place.tokens)


BM25 = Peer("bm25s", _opened)
