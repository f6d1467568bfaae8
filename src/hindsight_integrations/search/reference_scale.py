"""The reference scale: cosines of any embedder where the papers' thresholds lie. Pure.

Constants that compare cosines, such as the least similarity of a memory that is named or the weights of confidence, are set on this scale
and hold for every calibrated embedder. It has two lines, since a question is never as near to its passage as two
passages of one content are to each other: the channel floor is a cosine of a question, the duplicate one of a passage.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from hindsight_integrations.model.embedder import REFERENCE, Thresholds
from hindsight_integrations.ports.arrays import Float64Array, FloatArray

Cosine = TypeVar("Cosine", float, Float64Array)


def question_cosine(cosine: Cosine, thresholds: Thresholds) -> Cosine:
    """A cosine, or an array of them, between a question and a passage, on the reference scale.

    The line through the embedder's equivalents of 0.3 (channel floor [earlier paper 3.1.1]) and 0.7 (semantic link
    [earlier paper 2.5.2]), prolonged on both sides.

    Args:
        cosine: on the embedder's own scale.
        thresholds: the embedder's.
    """
    return _on_line(
        cosine,
        (thresholds.channel_floor, REFERENCE.channel_floor),
        (thresholds.semantic_link, REFERENCE.semantic_link),
    )


def passage_cosine(cosine: float, thresholds: Thresholds) -> float:
    """A cosine between two passages, on the reference scale, clipped to [0, 1].

    The line through the embedder's equivalents of 0.7 (semantic link [earlier paper 2.5.2]) and 0.92 (duplicate),
    prolonged on both sides.

    Args:
        cosine: on the embedder's own scale.
        thresholds: the embedder's.
    """
    carried = _on_line(
        cosine,
        (thresholds.semantic_link, REFERENCE.semantic_link),
        (thresholds.duplicate, REFERENCE.duplicate),
    )
    return min(1.0, max(0.0, carried))


def passage_cosines(cosines: FloatArray, thresholds: Thresholds) -> Float64Array:
    """`passage_cosine` of each of these cosines; any shape."""
    carried = _on_line(
        cosines.astype(np.float64),
        (thresholds.semantic_link, REFERENCE.semantic_link),
        (thresholds.duplicate, REFERENCE.duplicate),
    )
    return np.clip(carried, 0.0, 1.0)


def _on_line(cosine: Cosine, low: tuple[float, float], high: tuple[float, float]) -> Cosine:
    """The line through two points (own cosine, reference cosine); as it is where the own ones do not rise."""
    span = high[0] - low[0]
    if span <= 0.0:
        return cosine
    return low[1] + (high[1] - low[1]) * (cosine - low[0]) / span
