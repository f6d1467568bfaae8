"""The identity of a bank's embedder, and its calibrated cosine thresholds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosine thresholds, calibrated for each embedder.

    Attributes:
        semantic_link: the cosine above which units are linked, equivalent to 0.7 (earlier paper 2.5.2).
        channel_floor: the lowest cosine of a candidate, equivalent to 0.3 (earlier paper 3.1.1).
        duplicate: the cosine above which two texts may be the same statement, equivalent to 0.92.
    """

    semantic_link: float
    channel_floor: float
    duplicate: float


REFERENCE = Thresholds(semantic_link=0.7, channel_floor=0.3, duplicate=0.92)
"""The uncalibrated thresholds: earlier paper 2.5.2 (semantic link) and 3.1.1 (channel floor).

The duplicate threshold is our own.
"""


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The embedder that computed a bank's vectors.

    Attributes:
        name: the model's name.
        dimension: the dimension of its vectors.
        weights: the hash of its weights; empty if they are not available, as for a hosted model.
        thresholds: its calibrated thresholds.
    """

    name: str
    dimension: int
    weights: str
    thresholds: Thresholds

    def matches(self, other: EmbedderIdentity) -> bool:
        """Return whether the vectors of the two embedders are comparable."""
        return (self.name, self.dimension, self.weights) == (other.name, other.dimension, other.weights)

    def __str__(self) -> str:
        """Return the name, the dimension and the first digits of the weights' hash."""
        return f"{self.name} ({self.dimension}-d{', ' + self.weights[:12] if self.weights else ''})"
