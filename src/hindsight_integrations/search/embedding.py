"""Vectors of texts and memory units: the one way to vectors that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Matrix, fault_of_vectors
from hindsight_integrations.ports.embedder import Embedder


def embedding_text(text: str, occurred: Interval | None, mentioned_at: datetime) -> str:
    """What is embedded: the text with a readable time, which the stored text does not carry (earlier paper 2.3.2)."""
    return f"{text} ({readable_time(occurred, mentioned_at)})"


def embed_units(units: Sequence[MemoryUnit], embedder: Embedder) -> Matrix:
    """Vectors of memory units, (n, dimension): the one way to vectors that are stored, of retain, observations, edit and reindex.

    Raises:
        ModelError: the embedder failed, or its vectors are not what they must be.
    """
    return embedded([embedding_text(unit.text, unit.occurred, unit.mentioned_at) for unit in units], embedder)


def embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    """Vectors of texts, if they are usable and as many and as long as they must be."""
    identity = embedder.identity
    vectors, expected = embedder.embed_documents(texts), (len(texts), identity.dimension)
    if vectors.shape != expected:
        raise MalformedOutput(
            identity.name, str(vectors.shape), f"vectors of shape {vectors.shape}, not {expected}"
        )
    if fault := fault_of_vectors(vectors):
        raise MalformedOutput(identity.name, "", fault)
    return vectors
