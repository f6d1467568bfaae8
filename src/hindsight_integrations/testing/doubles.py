"""Stand-ins for the ports: deterministic, offline and quick. For tests of code that uses this package."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import numpy as np

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.arrays import FloatArray, Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds

_WORD = re.compile(r"\w+")
# Words that say nothing of a text's topic; without this list unrelated sentences share most of their features.
_STOP_WORDS = """
    a about an and are as at be but by did do does for from had has have he her his how i in is it its me my of on
    or our she that the their them they this to was we were what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())

# Bag of words knows no synonyms, so these are set by hand on texts that share words: sentences with two thirds of
# their words in common are alike, those with one in five or six are worth a look, and the same words are a duplicate.
HASH_THRESHOLDS = Thresholds(semantic_link=0.6, channel_floor=0.15, duplicate=0.95)


def words(text: str) -> list[str]:
    """The lower-case words of a text that say something of its topic, in order."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


class HashEmbedder:
    """Bag of words by feature hashing: texts that share words are similar, without any model.

    Args:
        dimension: length of the vectors; below about 64 unrelated words collide.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise InvalidRequest("dimension", f"{dimension} is not positive", "Use 64 or more.")
        self._identity = EmbedderIdentity("hash-embedder", dimension, "", HASH_THRESHOLDS)

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, no weights, and thresholds set by hand."""
        return self._identity

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        rows = np.zeros((len(texts), self._identity.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self.embed_query(text)
        return rows

    def embed_query(self, text: str) -> Vector:
        """Vector (dimension,), float32, unit norm. A text without words has a direction of its own."""
        vector = np.zeros(self._identity.dimension, np.float32)
        for word in words(text):
            place, sign = self._feature(word)
            vector[place] += sign
        norm = float(np.linalg.norm(vector))
        if norm == 0.0:
            vector[self._feature("")[0]], norm = 1.0, 1.0
        unit: Vector = vector / np.float32(norm)
        return unit

    def _feature(self, word: str) -> tuple[int, float]:
        """Place and sign of a word; blake2b, because `hash` differs from one process to the next."""
        number = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        return (number >> 1) % self._identity.dimension, 1.0 if number & 1 else -1.0


class FixedReranker:
    """Scores by a function of (query, text); by default the share of the query's words found in the text.

    Args:
        score: the score of one pair.
        on_call: called with the number of pairs before each scoring: count them, or let a clock advance (the cost).
    """

    def __init__(
        self,
        score: Callable[[str, str], float] | None = None,
        *,
        on_call: Callable[[int], object] | None = None,
    ) -> None:
        self._score = score or word_overlap
        self._on_call = on_call

    @property
    def name(self) -> str:
        """The double's name."""
        return "fixed-reranker"

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Scores (n,), float32, one a text, in the order given."""
        if self._on_call:
            self._on_call(len(texts))
        return np.array([self._score(query, text) for text in texts], np.float32)


def word_overlap(query: str, text: str) -> float:
    """Share of the query's words that the text has, in [0, 1]; 0 for a query without words."""
    wanted = set(words(query))
    return len(wanted & set(words(text))) / len(wanted) if wanted else 0.0


class FrozenClock:
    """A clock that moves by `set` and `advance` alone.

    Args:
        moment: where it stands at first; aware.
    """

    def __init__(self, moment: datetime = datetime(2024, 6, 12, 12, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self.set(moment)

    def now(self) -> datetime:
        """The instant it stands at, aware UTC."""
        return self._moment

    def set(self, moment: datetime) -> None:
        """Move it to another instant, back in time too.

        Raises:
            InvalidRequest: the instant has no time zone.
        """
        if moment.tzinfo is None:
            raise InvalidRequest("moment", f"{moment} has no time zone", "Pass an aware datetime.")
        self._moment = moment.astimezone(UTC)

    def advance(self, step: timedelta) -> datetime:
        """Move it on by `step` and return where it stands then."""
        with self._lock:
            self._moment += step
            return self._moment


class WordCounter:
    """Counts words split at white space: budgets in tests can be worked out by eye."""

    @property
    def name(self) -> str:
        """The rule."""
        return "words"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Words of each text; 0 for an empty one."""
        return [len(text.split()) for text in texts]
