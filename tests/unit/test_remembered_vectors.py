"""Cached vectors of texts that are compared with every question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.indexes.embedding import RememberedVectors
from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.testing.doubles import HashEmbedder


class Counting(HashEmbedder):
    """Counts the embedded texts; the vector of a text is the opposite of that of a question."""

    def __init__(self) -> None:
        super().__init__(64)
        self.questions: list[str] = []
        self.texts: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.questions.append(text)
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return np.stack([-HashEmbedder.embed_query(self, text) for text in texts])


def test_each_text_is_embedded_once() -> None:
    """Questions and texts are cached separately and returned in order; an empty list gives no vectors."""
    embedder, vectors = Counting(), RememberedVectors()
    first = vectors.of_questions(["plums", "figs", "plums"], embedder)
    again = vectors.of_questions(["figs"], embedder)
    other = vectors.of_texts(["plums"], embedder)
    assert embedder.questions == ["plums", "figs"]
    assert embedder.texts == ["plums"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(first[1], again[0])
    assert np.array_equal(other[0], -first[0])
    assert vectors.of_texts([], embedder).shape == (0, 64)


def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    """Memory is bounded, and no text is stored."""
    embedder, vectors = Counting(), RememberedVectors(most=2)
    for text in ("plums", "figs", "plums", "pears", "plums", "figs"):
        vectors.of_questions([text], embedder)
    assert embedder.questions == ["plums", "figs", "pears", "figs"]
    assert not any(isinstance(key, str) for key in vectors._known)
