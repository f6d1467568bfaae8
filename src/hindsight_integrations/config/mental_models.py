"""Settings of mental models: when they are refreshed by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import inf

from hindsight_integrations.errors import InvalidRequest

MODELS_DELAY_S = 60.0  # of many retains in a row one refresh is made (no source)


@dataclass(frozen=True, slots=True)
class MentalModelConfig:
    """How mental models are kept up to date.

    Attributes:
        delay_s: seconds between changed memories and the refresh of models whose trigger is "auto", so that many retains in
            a row cost one.
    """

    delay_s: float = MODELS_DELAY_S

    def __post_init__(self) -> None:
        """Refuses what is no delay."""
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is no delay", "Give 0 or more; 60 is usual."
            )

    @property
    def delay(self) -> timedelta:
        """From changed memories to the refresh."""
        return timedelta(seconds=self.delay_s)
