"""Test doubles of embedder, reranker, clock and token counter: deterministic, offline and fast."""

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
# ignored, because unrelated sentences would share most of these
_STOP_WORDS = """
    a about an and are as at be but by did do does for from had has have he her his how i in is it its me my of on
    or our she that the their them they this to was we were what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())

# Set by hand: two thirds of the words for a link, one in five or six for the channel floor.
HASH_THRESHOLDS = Thresholds(semantic_link=0.6, channel_floor=0.15, duplicate=0.95)


def words(text: str) -> list[str]:
    """Return the lower-case words of a text without stop words, in order."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


class HashEmbedder:
    """Bag-of-words embedder with feature hashing: texts that share words are similar.

    Args:
        dimension: length of the vectors; below about 64, unrelated words collide.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 1:
            raise InvalidRequest("dimension", f"must be positive, not {dimension}", "Use 64 or more.")
        self._identity = EmbedderIdentity("hash-embedder", dimension, "", HASH_THRESHOLDS)

    @property
    def identity(self) -> EmbedderIdentity:
        """The embedder's identity, without weights and with hand-set thresholds."""
        return self._identity

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return vectors (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        rows = np.zeros((len(texts), self._identity.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self.embed_query(text)
        return rows

    def embed_query(self, text: str) -> Vector:
        """Return a vector (dimension,), float32, unit norm. Texts without words share a separate direction."""
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
        """Return a word's index and sign; uses blake2b, because `hash` differs between processes."""
        number = int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        return (number >> 1) % self._identity.dimension, 1.0 if number & 1 else -1.0


class FixedReranker:
    """Reranker that scores with a function of (query, text), by default the share of the query's words in the text.

    Args:
        score: returns the score of one pair.
        on_call: called with the number of pairs before each scoring, for example to count them or to advance a clock.
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
        """Return scores (n,), float32, one per text, in the given order."""
        if self._on_call:
            self._on_call(len(texts))
        return np.array([self._score(query, text) for text in texts], np.float32)


def word_overlap(query: str, text: str) -> float:
    """Return the share of the query's words that occur in the text, in [0, 1]; 0 for a query without words."""
    wanted = set(words(query))
    return len(wanted & set(words(text))) / len(wanted) if wanted else 0.0


class FrozenClock:
    """A clock that moves only by `set` and `advance`.

    Args:
        moment: the initial time; aware.
    """

    def __init__(self, moment: datetime = datetime(2024, 6, 12, 12, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self.set(moment)

    def now(self) -> datetime:
        """Return the current time, aware UTC."""
        return self._moment

    def set(self, moment: datetime) -> None:
        """Set the time, possibly backwards.

        Raises:
            InvalidRequest: `moment` has no time zone.
        """
        if moment.tzinfo is None:
            raise InvalidRequest("moment", f"{moment} has no time zone", "Pass an aware datetime.")
        self._moment = moment.astimezone(UTC)

    def advance(self, step: timedelta) -> datetime:
        """Advance by `step` and return the new time."""
        with self._lock:
            self._moment += step
            return self._moment


class WordCounter:
    """Token counter that counts whitespace-separated words, so that budgets are easy to compute in tests."""

    @property
    def name(self) -> str:
        """The counter's name."""
        return "words"

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        return [len(text.split()) for text in texts]
