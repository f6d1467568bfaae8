"""A KeywordIndex in plain Python: BM25 as Lucene computes it."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter

import numpy as np

from hindsight_integrations.ports.arrays import Hits, IntArray, no_hits, ranked
from hindsight_integrations.ports.keyword_index import BM25_B, BM25_K1

# Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
_STOP_LIST = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with
"""
STOP_WORDS = frozenset(_STOP_LIST.split())
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """Lowercase alphanumeric words of a text, without English stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def bm25_idf(documents: int, containing: int) -> float:
    """Inverse document frequency ln(1 + (N - df + 0.5) / (df + 0.5)) (Lucene BM25Similarity.idf)."""
    return math.log(1 + (documents - containing + 0.5) / (containing + 0.5))


def bm25_tf(occurrences: int, length: int, average_length: float) -> float:
    """Saturated term frequency tf / (tf + k1 (1 - b + b dl / avgdl)), in [0, 1) (Lucene BM25Similarity.score)."""
    return occurrences / (occurrences + BM25_K1 * (1 - BM25_B + BM25_B * length / average_length))


class DictKeywordIndex:
    """KeywordIndex over dicts of word counts. Words are compared whole: there is no stemming."""

    def __init__(self) -> None:
        self._texts: dict[int, Counter[str]] = {}
        self._postings: dict[str, set[int]] = {}
        self._total_length = 0
        self._watermark = 0
        self._lock = threading.RLock()

    @property
    def watermark(self) -> int:
        """The bank revision this index has reached; 0 when new."""
        return self._watermark

    def upsert(self, ids: IntArray, texts: list[str]) -> None:
        """Index texts under ids; an id already there is replaced."""
        with self._lock:
            for key, text in zip(ids.tolist(), texts, strict=True):
                self._forget(key)
                counts = Counter(words(text))
                self._texts[key] = counts
                self._total_length += counts.total()
                for word in counts:
                    self._postings.setdefault(word, set()).add(key)

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        with self._lock:
            for key in ids.tolist():
                self._forget(key)

    def advance(self, revision: int) -> None:
        """Record that everything up to `revision` has been applied."""
        self._watermark = revision

    def count(self) -> int:
        """How many texts it holds."""
        return len(self._texts)

    def search(self, text: str, limit: int, among: IntArray | None = None) -> Hits:
        """The `limit` best matches by BM25, ties by id; only among the given sorted ids if any."""
        allowed = None if among is None else set(among.tolist())
        with self._lock:
            scores = self._scores(Counter(words(text)))
        found = [(key, score) for key, score in scores.items() if allowed is None or key in allowed]
        if not found:
            return no_hits()
        ids, values = zip(*found, strict=True)
        return ranked(np.array(ids, np.int64), np.array(values, np.float32), limit)

    def clear(self) -> None:
        """Drop everything, watermark included."""
        with self._lock:
            self._texts.clear()
            self._postings.clear()
            self._total_length = self._watermark = 0

    def close(self) -> None:
        """Nothing to release."""

    def _forget(self, key: int) -> None:
        counts = self._texts.pop(key, Counter())
        self._total_length -= counts.total()
        for word in counts:
            self._postings[word].discard(key)

    def _scores(self, query: Counter[str]) -> dict[int, float]:
        """BM25 of every text sharing a word with the query; a word asked for twice counts twice."""
        scores: dict[int, float] = {}
        average = self._total_length / max(1, len(self._texts))
        for word, times in query.items():
            holders = self._postings.get(word, set())
            weight = times * bm25_idf(len(self._texts), len(holders))
            for key in holders:
                counts = self._texts[key]
                scores[key] = scores.get(key, 0.0) + weight * bm25_tf(counts[word], counts.total(), average)
        return scores
