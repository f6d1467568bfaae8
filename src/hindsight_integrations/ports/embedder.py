"""Embedder: text to unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.ports.arrays import Matrix, Vector


class Embedder(Protocol):
    """Turns texts into unit-norm float32 vectors. Loads its weights on first use; safe from many threads."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, weights hash and calibrated thresholds. May load or probe the model."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Vector of a question, (dimension,), float32, unit norm."""
        ...
