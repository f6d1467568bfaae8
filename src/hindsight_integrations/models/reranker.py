"""A Reranker with a cache of scores, since agents repeat questions and most memories do not change."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from hindsight_integrations.model.arrays import FloatArray
from hindsight_integrations.models.protocols import Reranker

CAPACITY = 50_000  # maximum number of pairs, about 8 MB: over a thousand recalls with the default budget


class RememberingReranker:
    """Caches the scores of the latest `capacity` pairs of question and text.

    It stores digests instead of texts, so that erased texts do not remain in it. Thread-safe; two threads that score
    the same new pair at once may both call the model.
    """

    def __init__(self, inner: Reranker, *, capacity: int = CAPACITY) -> None:
        self._inner, self._capacity = inner, capacity
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The wrapped reranker's name."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), in the order given; only new pairs are scored by the model."""
        keys = [_digest(query, text) for text in texts]
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if fresh:
            scored = self._inner.score(query, list(fresh.values())).tolist()
            new = dict(zip(fresh, scored, strict=True))
            with self._lock:
                self._scores |= new
                while len(self._scores) > self._capacity:
                    self._scores.popitem(last=False)
            known |= new
        return np.array([known[key] for key in keys], np.float32)


def _digest(query: str, text: str) -> bytes:
    """Hash a pair; the length distinguishes ("ab", "c") from ("a", "bc")."""
    written = query.encode("utf-8", "surrogatepass")
    whole = len(written).to_bytes(4, "big") + written + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()
