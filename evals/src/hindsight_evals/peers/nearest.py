"""Exact search of texts by the cosine of their vectors, shared by our own plain systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_evals.episode import MemoryText
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.models.protocols import Embedder


class NearestTexts:
    """Vectors in one matrix.

    Attributes:
        ids: ids of the texts, by row.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.ids: list[str] = []
        self._vectors: list[Matrix] = []

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Add texts, one row each."""
        self._vectors.append(self._embedder.embed_documents([text.text for text in texts]))
        self.ids += [text.id for text in texts]

    def rows(self, question: str, depth: int) -> IntArray:
        """Return the rows nearest to a question, (at most depth,), best first; the earlier one in a tie."""
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        scores = self._vectors[0] @ self._embedder.embed_query(question)
        return np.argsort(-scores, kind="stable")[:depth].astype(np.int64)

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the ids nearest to a question, best first."""
        return [self.ids[row] for row in self.rows(question, depth).tolist()]
