"""Vectors of texts that are compared with every question, kept in memory; the texts are not."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock

import numpy as np

from hindsight_integrations.ports.arrays import Matrix, Vector
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.search.embedding import embedded

MOST_REMEMBERED = (
    2_048  # vectors: three megabytes of a common embedder's; those not asked for longest go first
)


class RememberedVectors:
    """Vectors by a hash of their text, so that nothing erased is left here in words. Safe to use from many threads."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most, self._lock = most, Lock()
        self._known: OrderedDict[bytes, Vector] = OrderedDict()

    def of_questions(self, texts: Sequence[str], embedder: Embedder) -> Matrix:
        """Vectors (n, dimension) of texts as questions are embedded.

        Raises:
            ModelError: the embedder failed.
        """

        def embed(missing: Sequence[str]) -> Matrix:
            return np.stack([embedder.embed_query(text) for text in missing])

        return self._of(b"question", texts, embed, embedder.identity.dimension)

    def of_texts(self, texts: Sequence[str], embedder: Embedder) -> Matrix:
        """Vectors (n, dimension) of texts as memories are embedded.

        Raises:
            ModelError: the embedder failed.
        """
        dimension = embedder.identity.dimension
        return self._of(b"text", texts, lambda missing: embedded(missing, embedder), dimension)

    def _of(
        self, kind: bytes, texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix], dimension: int
    ) -> Matrix:
        keys = [blake2b(text.encode(), digest_size=16, person=kind).digest() for text in texts]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            found.update(zip(missing, embed(list(missing.values())), strict=True))
        with self._lock:
            for key in keys:
                self._known[key] = found[key]
                self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return np.array([found[key] for key in keys], np.float32).reshape(len(keys), dimension)
