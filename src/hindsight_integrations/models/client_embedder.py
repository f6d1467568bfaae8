"""Embedder for a vendor's client: validates and normalises the vectors, and calibrates thresholds on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from pydantic import ValidationError

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.models.protocols import answer_problem
from hindsight_integrations.models.vendor_errors import converting
from hindsight_integrations.models.weights import Once, calibrate

PROBE = "How long is a vector?"


class ClientEmbedder:
    """Embedder for a vendor's client. It is thread-safe if the client is.

    Args:
        name: the name that banks record.
        passages: function that embeds passages.
        question: function that embeds a question.
    """

    def __init__(
        self,
        name: str,
        passages: Callable[[list[str]], Sequence[Sequence[float]]],
        question: Callable[[str], Sequence[float]],
    ) -> None:
        self._name = name
        self._passages = passages
        self._question = question
        self._dimension: int | None = None
        self._identity = Once(self._identified)

    @property
    def identity(self) -> EmbedderIdentity:
        """The name, dimension and thresholds, determined once by embedding 68 texts and 20 questions.

        The hash is empty, since clients do not expose weights.

        Raises:
            ModelUnavailable: the model could not be reached.
            ModelRefused: the service rejected the API key.
            MalformedOutput: the model did not return valid vectors.
        """
        return self._identity()

    def _identified(self) -> EmbedderIdentity:
        dimension = self._known_dimension()
        thresholds = calibrate(self._name, self.embed_documents, self.embed_query)
        return EmbedderIdentity(self._name, dimension, "", thresholds)

    def _known_dimension(self) -> int:
        return self._dimension or len(self.embed_query(PROBE))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, (n, dimension), float32, unit norm; (0, dimension) for no texts.

        Raises:
            ModelUnavailable, ModelRefused, MalformedOutput: as for `identity`.
        """
        if not texts:
            return np.empty((0, self._known_dimension()), np.float32)
        return self._checked(lambda: self._passages(list(texts)), len(texts))

    def embed_query(self, text: str) -> Vector:
        """Embed a question, (dimension,), float32, unit norm.

        Raises:
            ModelUnavailable, ModelRefused, MalformedOutput: as for `identity`.
        """
        vector: Vector = self._checked(lambda: [self._question(text)], 1)[0]
        return vector

    def _checked(self, ask: Callable[[], Sequence[Sequence[float]]], count: int) -> Matrix:
        """Return the vectors, scaled to unit norm, after checking that there is a valid one for each text."""
        try:
            with converting(self._name):
                vectors = ask()
        # raised by LlamaIndex when it validates vectors for its observers
        except ValidationError as error:
            raise MalformedOutput(self._name, "", f"not numbers: {answer_problem(error)}") from error
        if len(vectors) != count:
            raise self._malformed(vectors, f"{len(vectors)} vectors for {count} texts")
        if not all(isinstance(row, Sequence | np.ndarray) for row in vectors):
            raise self._malformed(vectors, "not numbers: a row is not a vector")
        widths = sorted({len(row) for row in vectors} | ({self._dimension} if self._dimension else set()))
        if len(widths) != 1 or widths[0] == 0:
            raise self._malformed(
                vectors, f"vectors with different dimensions, or with dimension 0: {widths}"
            )
        try:
            rows = np.asarray(vectors, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._malformed(vectors, f"not numbers: {error}") from error
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise self._malformed(vectors, "vectors with NaN or infinite numbers")
        if not norms.all():
            raise self._malformed(vectors, "a vector of zeros, which has no direction")
        self._dimension = widths[0]
        unit: Matrix = (rows / norms).astype(np.float32)
        return unit

    def _malformed(self, found: Sequence[Sequence[float]], problem: str) -> MalformedOutput:
        return MalformedOutput(self._name, repr(found)[:200], problem)
