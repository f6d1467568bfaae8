"""Models with synthetic results and a known or real cost."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.benchmarks.speed.clocks import timed
from hindsight_evals.benchmarks.speed.synthetic import SyntheticEmbedder
from hindsight_integrations.model.arrays import FloatArray, Vector
from hindsight_integrations.models.onnx import OnnxEmbedder
from hindsight_integrations.models.protocols import Reranker


class RealQueryCost(SyntheticEmbedder):
    """Synthetic vectors; embedding a question takes as long as with the real model."""

    def __init__(self, real: OnnxEmbedder) -> None:
        super().__init__()
        self._real = real

    def embed_query(self, text: str) -> Vector:
        """Embed with the real model, discard the result, and return the synthetic vector (dimension,)."""
        self._real.embed_query(text)
        return super().embed_query(text)


class TimedReranker:
    """A wrapper of a reranker that records the milliseconds of each scored batch in `batches`."""

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self.batches: list[float] = []

    @property
    def name(self) -> str:
        """The name of the wrapped reranker."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return the scores (n,) of the wrapped reranker."""
        took, scores = timed(self._inner.score, query, texts)
        self.batches.append(took)
        return scores
