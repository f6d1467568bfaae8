"""A Reranker that remembers its scores: an agent asks the same thing again and again, and most of the bank is as before."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from hindsight_integrations.model.arrays import FloatArray
from hindsight_integrations.models.protocols import Reranker

CAPACITY = 50_000  # pairs, some 8 MB: over a thousand recalls at the default effort


class RememberingReranker:
    """Scores each pair of question and text once while it is among the latest `capacity` ones.

    It keeps digests, never texts: what is forgotten elsewhere is not left here. Safe from many threads; two that ask
    for the same new pair at once may both have it scored.
    """

    def __init__(self, inner: Reranker, *, capacity: int = CAPACITY) -> None:
        self._inner, self._capacity = inner, capacity
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The other one's name."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Raw logits (n,), in the order given; only pairs that are new are read by the model."""
        keys = [_digest(query, text) for text in texts]
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if fresh:
            scored = self._inner.score(query, list(fresh.values())).tolist()
            made = dict(zip(fresh, scored, strict=True))
            with self._lock:
                self._scores |= made
                while len(self._scores) > self._capacity:
                    self._scores.popitem(last=False)
            known |= made
        return np.array([known[key] for key in keys], np.float32)


def _digest(query: str, text: str) -> bytes:
    """What a pair is known by; the length keeps ("ab", "c") and ("a", "bc") apart."""
    written = query.encode("utf-8", "surrogatepass")
    whole = len(written).to_bytes(4, "big") + written + text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()
