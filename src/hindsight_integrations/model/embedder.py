"""Who made a bank's vectors, and the cosines that were calibrated for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines that mean the same for every embedder only once calibrated.

    Attributes:
        semantic_link: this embedder's equivalent of 0.7 (earlier paper 2.5.2).
        channel_floor: its equivalent of 0.3 (earlier paper 3.1.1).
        duplicate: its equivalent of 0.92, the same thing in other words.
    """

    semantic_link: float
    channel_floor: float
    duplicate: float


REFERENCE = Thresholds(semantic_link=0.7, channel_floor=0.3, duplicate=0.92)
"""The cosines for which an embedder's own thresholds stand: earlier paper 2.5.2 (semantic link) and 3.1.1 (channel floor);
the duplicate one is this project's: above it two texts may say the same."""


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which embedder made a bank's vectors.

    Attributes:
        name: the model's name.
        dimension: length of its vectors.
        weights: hash of its weights, empty where they cannot be seen (a hosted model).
        thresholds: its calibrated cosines.
    """

    name: str
    dimension: int
    weights: str
    thresholds: Thresholds

    def matches(self, other: EmbedderIdentity) -> bool:
        """Whether vectors of the two can be compared."""
        return (self.name, self.dimension, self.weights) == (other.name, other.dimension, other.weights)

    def __str__(self) -> str:
        """Name, dimension and the first digits of the weights' hash."""
        return f"{self.name} ({self.dimension}-d{', ' + self.weights[:12] if self.weights else ''})"
