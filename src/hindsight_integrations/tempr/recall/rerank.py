"""Reranking under a deadline (paper section 4.2.4; design section 6)."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import FloatArray
from hindsight_integrations.ports.reranker import Reranker

BATCH = 8  # pairs scored between looks at the clock [design section 6]


def rerank_text(unit: MemoryUnit) -> str:
    """What the cross-encoder reads: the text with a readable date (paper section 4.2.4; notes/upstream 2.7)."""
    moment = unit.occurred.start if unit.occurred else unit.mentioned_at
    return f"[Date: {moment:%B %d, %Y} ({moment:%Y-%m-%d})] {unit.text}"


def score_until(
    reranker: Reranker, query: str, units: Sequence[MemoryUnit], deadline_ms: float
) -> FloatArray:
    """Logits of the first m <= n units, (m,): batches in order until the next one would overrun the deadline.

    The first batch is always scored. A batch is predicted to take as long as the slowest so far.
    """
    started = time.perf_counter()
    slowest = 0.0
    scores: list[FloatArray] = []
    for first in range(0, len(units), BATCH):
        spent = (time.perf_counter() - started) * 1000
        if first and spent + slowest > deadline_ms:
            break
        texts = [rerank_text(unit) for unit in units[first : first + BATCH]]
        scores.append(_length_sorted(reranker, query, texts))
        slowest = max(slowest, (time.perf_counter() - started) * 1000 - spent)
    return np.concatenate(scores) if scores else np.empty(0, np.float32)


def _length_sorted(reranker: Reranker, query: str, texts: Sequence[str]) -> FloatArray:
    """Scores in the given order; the model reads the texts sorted by length, which pads less."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    scores = np.empty(len(texts), np.float32)
    scores[order] = reranker.score(query, [texts[i] for i in order])
    return scores
