"""Settings of opinions: how they move with evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from math import inf

from hindsight_integrations.choices import as_choices
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.opinions import UpdateRule

STEP = 0.15  # a of paper eq. 26: 0.70 + a = 0.85 and 0.85 - 2a = 0.55 [paper section 5.7.1]


@dataclass(frozen=True, slots=True)
class OpinionConfig:
    """How opinions are formed and revised (paper sections 5.4 and 5.5).

    Attributes:
        rule: how an assessment moves a confidence: "additive" (paper eq. 26) or "multiplicative" (reference).
        step: a of eq. 26, in (0, 1); the other rule has its own rates.
        cautious_steps: a skeptical profile moves its opinions by smaller steps, see decision 129.
        delay_s: seconds between new facts and their assessment, so that many retains in a row cost one.
    """

    rule: UpdateRule | str = UpdateRule.ADDITIVE
    step: float = STEP
    cautious_steps: bool = True
    delay_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuses steps that would not move, or would jump over everything."""
        as_choices(self, rule=UpdateRule)
        if not 0.0 < self.step < 1.0:
            raise InvalidRequest(
                "step", f"{self.step} is not between 0 and 1", "Give 0.15, as the paper does."
            )
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is no delay", "Give 0 or more; 60 is usual."
            )

    @property
    def delay(self) -> timedelta:
        """From new facts to their assessment."""
        return timedelta(seconds=self.delay_s)
