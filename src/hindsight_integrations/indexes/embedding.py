"""Embedding of memory units and questions, and the calibrated scale of cosines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b
from threading import Lock
from typing import TypeVar

import numpy as np

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, WrongDimension
from hindsight_integrations.model.arrays import Float64Array, Matrix, Vector, fault_of_vectors
from hindsight_integrations.model.embedder import REFERENCE, Thresholds
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.models.protocols import Embedder

Cosine = TypeVar("Cosine", float, Float64Array)


def question_cosine(cosine: Cosine, thresholds: Thresholds) -> Cosine:
    """Map a cosine (or an array) between a question and a passage to the reference scale.

    The map is the line through the embedder's equivalents of 0.3 (channel floor [earlier paper 3.1.1]) and
    0.7 (semantic link [earlier paper 2.5.2]), extended on both sides.
    """
    return _on_line(
        cosine,
        (thresholds.channel_floor, REFERENCE.channel_floor),
        (thresholds.semantic_link, REFERENCE.semantic_link),
    )


def passage_cosine(cosine: Cosine, thresholds: Thresholds) -> Cosine:
    """Map a cosine (or an array) between two passages to the reference scale, clipped to [0, 1].

    The map is the line through the embedder's equivalents of 0.7 (semantic link [earlier paper 2.5.2]) and
    0.92 (duplicate), extended on both sides.
    """
    carried = _on_line(
        cosine,
        (thresholds.semantic_link, REFERENCE.semantic_link),
        (thresholds.duplicate, REFERENCE.duplicate),
    )
    clipped: Cosine = np.clip(carried, 0.0, 1.0)
    return clipped


def _on_line(cosine: Cosine, low: tuple[float, float], high: tuple[float, float]) -> Cosine:
    """Map a cosine by the line through two (own, reference) points; return it unchanged if the own values do not increase."""
    span = high[0] - low[0]
    if span <= 0.0:
        return cosine
    return low[1] + (high[1] - low[1]) * (cosine - low[0]) / span


def embedding_text(text: str, occurred: Interval | None, mentioned_at: datetime) -> str:
    """Return the text to embed: the stored text with a readable date (paper section 4.1.2; earlier paper 2.3.2)."""
    return f"{text} ({readable_time(occurred, mentioned_at)})"


def embed_units(units: Sequence[MemoryUnit], embedder: Embedder) -> Matrix:
    """Embed memory units, (n, dimension); all stored vectors come from here.

    Raises:
        ModelError: the embedder failed, or its vectors are invalid.
    """
    texts = [
        unit.text  # the text of an item has no date
        if unit.kind is UnitKind.ITEM
        else embedding_text(unit.text, unit.occurred, unit.mentioned_at)
        for unit in units
    ]
    return embedded(texts, embedder)


def unit_writes(units: Sequence[MemoryUnit], embedder: Embedder) -> tuple[UnitWrite, ...]:
    """Embed memory units, and return the writes that store them.

    Raises:
        ModelError: the embedder failed, or its vectors are invalid.
    """
    if not units:
        return ()
    vectors = embed_units(units, embedder)
    return tuple(
        UnitWrite(unit, vector.astype("<f4").tobytes()) for unit, vector in zip(units, vectors, strict=True)
    )


def embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    """Embed texts, and check the number, dimension and values of the vectors."""
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
    """Return a question's vector: the caller's, the mean of the caller's texts, or the embedder's.

    Raises:
        WrongDimension: the caller's vector has another dimension than the embedder's.
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
        raise InvalidRequest(
            "embedding", "the mean of the texts' vectors is zero", "Pass texts with similar meanings."
        )
    return np.asarray(mean / length, np.float32)


# Number of vectors in the cache: 3 MB for a common embedder. The least recently used ones are dropped first.
MOST_REMEMBERED = 2_048


class RememberedVectors:
    """A cache of vectors by hash of their text; it does not store the texts, which may be erased later. Thread-safe."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most, self._lock = most, Lock()
        self._known: OrderedDict[bytes, Vector] = OrderedDict()

    def of_questions(self, texts: Sequence[str], embedder: Embedder) -> Matrix:
        """Return vectors (n, dimension) of texts embedded as questions.

        Raises:
            ModelError: the embedder failed.
        """

        def embed(missing: Sequence[str]) -> Matrix:
            return np.stack([embedder.embed_query(text) for text in missing])

        return self._of(b"question", texts, embed, embedder.identity.dimension)

    def of_texts(self, texts: Sequence[str], embedder: Embedder) -> Matrix:
        """Return vectors (n, dimension) of texts embedded as memories.

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
            vectors = {key: self._known[key] for key in keys if key in self._known}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
        if missing:
            vectors.update(zip(missing, embed(list(missing.values())), strict=True))
        with self._lock:
            for key in keys:
                self._known[key] = vectors[key]
                self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return np.array([vectors[key] for key in keys], np.float32).reshape(len(keys), dimension)
