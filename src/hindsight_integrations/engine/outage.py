"""Outage: how long tasks that need the model wait while it cannot be asked."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds. One call that timed out costs the other tasks a second; an hour without the model about twenty calls."""


@dataclass(slots=True)
class Outage:
    """Failures of the model one after the other: each doubles the pause, and one answer ends it.

    Times are seconds of one monotonic clock.

    Attributes:
        failures: calls that failed since the model last answered; those asked at the same time count as one.
        until: when it may be asked again, one call at a time until one is answered.
    """

    failures: int = 0
    until: float = 0.0

    def failed(self, now: float) -> None:
        """The model could not be asked; while it is left alone anyway, that says nothing new."""
        if now >= self.until:
            self.until = now + min(FIRST_PAUSE * 2**self.failures, LONGEST_PAUSE)
            self.failures += 1

    def answered(self) -> None:
        """The model is back."""
        self.failures, self.until = 0, 0.0

    def may_ask(self, now: float, *, asking: bool) -> bool:
        """Whether one more call may be made.

        Args:
            now: the time.
            asking: a call is under way.
        """
        return not self.failures or (now >= self.until and not asking)
