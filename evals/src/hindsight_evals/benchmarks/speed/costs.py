"""Models whose cost is known or real while what they say is synthetic."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.benchmarks.speed.clocks import timed
from hindsight_evals.benchmarks.speed.synthetic import SyntheticEmbedder
from hindsight_integrations.model.arrays import FloatArray, Vector
from hindsight_integrations.models.onnx import OnnxEmbedder
from hindsight_integrations.models.protocols import Reranker


class RealQueryCost(SyntheticEmbedder):
    """Synthetic vectors, but a question costs what the real model takes to embed it, inside the recall that asks."""

    def __init__(self, real: OnnxEmbedder) -> None:
        super().__init__()
        self._real = real

    def embed_query(self, text: str) -> Vector:
        """The synthetic vector (dimension,), after the real embedding was made and thrown away."""
        self._real.embed_query(text)
        return super().embed_query(text)


class TimedReranker:
    """Another reranker, with the milliseconds of each batch it scored in `batches`."""

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self.batches: list[float] = []

    @property
    def name(self) -> str:
        """The inner one's name."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """The inner one's scores (n,)."""
        took, scores = timed(self._inner.score, query, texts)
        self.batches.append(took)
        return scores
