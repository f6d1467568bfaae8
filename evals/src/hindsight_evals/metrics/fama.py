"""Forgetting-Aware Memory Accuracy (Memora 4.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fama:
    """The outcome of one question's criteria; at least one criterion.

    Attributes:
        present: number of presence criteria that are met.
        presence: number of presence criteria, >= present.
        absent: number of absence criteria that are met.
        absence: number of absence criteria, >= absent.
    """

    present: int
    presence: int
    absent: int
    absence: int

    @property
    def mpa(self) -> float:
        """Return the memory presence accuracy in [0, 1]; 1 without presence criteria."""
        return self.present / self.presence if self.presence else 1.0

    @property
    def faa(self) -> float:
        """Return the forgetting absence accuracy in [0, 1]; 1 without absence criteria."""
        return self.absent / self.absence if self.absence else 1.0

    @property
    def weight(self) -> float:
        """Return lambda, the share of criteria about forgetting, in [0, 1]."""
        return self.absence / (self.presence + self.absence)

    @property
    def fama(self) -> float:
        """Return MPA - lambda (1 - FAA), at least 0; MPA without absence criteria, FAA without presence criteria."""
        return max(0.0, self.mpa - self.weight * (1 - self.faa))
