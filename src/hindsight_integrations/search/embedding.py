"""Vectors of texts and memory units, the one way to vectors that are stored; and of questions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, WrongDimension
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.ports.arrays import Float64Array, Matrix, Vector, fault_of_vectors
from hindsight_integrations.ports.embedder import Embedder


def embedding_text(text: str, occurred: Interval | None, mentioned_at: datetime) -> str:
    """Return the text to embed: the stored text with a readable time (paper section 4.1.2; earlier paper 2.3.2)."""
    return f"{text} ({readable_time(occurred, mentioned_at)})"


def embed_units(units: Sequence[MemoryUnit], embedder: Embedder) -> Matrix:
    """Vectors of memory units, (n, dimension): the one way to vectors that are stored, of retain, observations, edit and reindex.

    Raises:
        ModelError: the embedder failed, or its vectors are not what they must be.
    """
    texts = [
        unit.text  # an item is of no time
        if unit.kind is UnitKind.ITEM
        else embedding_text(unit.text, unit.occurred, unit.mentioned_at)
        for unit in units
    ]
    return embedded(texts, embedder)


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


def question_vector(query: RecallQuery, embedder: Embedder) -> Vector:
    """A question's vector: the caller's, else the mean of the texts it is embedded as, else the embedder's.

    Raises:
        WrongDimension: the caller's vector is of another embedder.
        InvalidRequest: the vectors of the caller's texts cancel out.
        ModelError: the embedder failed.
    """
    texts = [given for given in query.embedding if isinstance(given, str)]
    if query.embedding and not texts:
        if len(query.embedding) != embedder.identity.dimension:
            raise WrongDimension(len(query.embedding), embedder.identity.dimension)
        return np.array(query.embedding, np.float32)
    if len(texts) < 2:
        return embedder.embed_query(texts[0] if texts else query.text)
    mean: Float64Array = np.mean([embedder.embed_query(text) for text in texts], axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    if not length:
        raise InvalidRequest("embedding", "the vectors of its texts cancel out", "Pass texts that agree.")
    return np.asarray(mean / length, np.float32)
