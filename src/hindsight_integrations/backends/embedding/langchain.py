"""Any LangChain `Embeddings` as an Embedder: unit norm, checked, calibrated on first use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.backends.local_models.calibration import calibrate
from hindsight_integrations.backends.vendor_errors import converting, described
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.ports.arrays import Matrix, Vector

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

PROBE = "How long is a vector?"


class LangChainEmbedder:
    """Wraps a LangChain `Embeddings` object. Safe from many threads as far as that object is.

    Args:
        embeddings: what makes the vectors.
        name: the name banks record; by default class and model ("OpenAIEmbeddings/text-embedding-3-small").
        thresholds: its cosines if known; by default calibrated on first use (one batch of 68 texts, 20 questions).
    """

    def __init__(
        self, embeddings: Embeddings, *, name: str | None = None, thresholds: Thresholds | None = None
    ) -> None:
        self._embeddings = embeddings
        self._name = name or described(embeddings)
        self._thresholds = thresholds
        self._dimension: int | None = None
        self._identity: EmbedderIdentity | None = None
        self._lock = threading.Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension and thresholds; the weights of a foreign model cannot be seen. Probed once.

        Raises:
            ModelUnavailable: the model could not be reached.
            ModelRefused: it refuses the key.
            MalformedOutput: it did not return usable vectors.
        """
        if self._identity is None:
            with self._lock:
                if self._identity is None:
                    dimension = self._known_dimension()
                    thresholds = self._thresholds or calibrate(self.embed_documents, self.embed_query)
                    self._identity = EmbedderIdentity(self._name, dimension, "", thresholds)
        return self._identity

    def _known_dimension(self) -> int:
        return self._dimension or len(self.embed_query(PROBE))

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, (n, dimension), float32, unit norm; (0, dimension) for no texts.

        Raises:
            ModelUnavailable, ModelRefused, MalformedOutput: as for `identity`.
        """
        if not texts:
            return np.empty((0, self._known_dimension()), np.float32)
        with converting(self._name):
            found = self._embeddings.embed_documents(list(texts))
        return self._checked(found, len(texts))

    def embed_query(self, text: str) -> Vector:
        """Vector of a question, (dimension,), float32, unit norm.

        Raises:
            ModelUnavailable, ModelRefused, MalformedOutput: as for `identity`.
        """
        with converting(self._name):
            found = self._embeddings.embed_query(text)
        vector: Vector = self._checked([found], 1)[0]
        return vector

    def _checked(self, found: Sequence[Sequence[float]], count: int) -> Matrix:
        """The vectors at unit norm, if there is one a text and all are usable."""
        if len(found) != count:
            raise self._malformed(found, f"{len(found)} vectors for {count} texts")
        widths = sorted({len(row) for row in found} | ({self._dimension} if self._dimension else set()))
        if len(widths) != 1 or widths[0] == 0:
            raise self._malformed(found, f"vectors of different or no length: {widths}")
        try:
            rows = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._malformed(found, f"not numbers: {error}") from error
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(norms).all():
            raise self._malformed(found, "vectors with NaN or infinite numbers")
        if not norms.all():
            raise self._malformed(found, "a vector of zeros, which has no direction")
        self._dimension = widths[0]
        unit: Matrix = (rows / norms).astype(np.float32)
        return unit

    def _malformed(self, found: Sequence[Sequence[float]], problem: str) -> MalformedOutput:
        return MalformedOutput(self._name, repr(found)[:200], problem)
