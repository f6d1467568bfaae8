"""Forgetting-Aware Memory Accuracy (Memora 4.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fama:
    """What one question's criteria come to. At least one criterion.

    Attributes:
        present: criteria of presence that are met.
        presence: criteria of presence, >= present.
        absent: criteria of absence that are met.
        absence: criteria of absence, >= absent.
    """

    present: int
    presence: int
    absent: int
    absence: int

    @property
    def mpa(self) -> float:
        """Memory presence accuracy in [0, 1]; 1 where nothing need be present."""
        return self.present / self.presence if self.presence else 1.0

    @property
    def faa(self) -> float:
        """Forgetting absence accuracy in [0, 1]; 1 where nothing need be absent."""
        return self.absent / self.absence if self.absence else 1.0

    @property
    def weight(self) -> float:
        """Lambda, the share of criteria that are about forgetting, in [0, 1]."""
        return self.absence / (self.presence + self.absence)

    @property
    def fama(self) -> float:
        """MPA - lambda (1 - FAA), and at least 0; MPA without criteria of absence, FAA without criteria of presence."""
        return max(0.0, self.mpa - self.weight * (1 - self.faa))
