"""What one thing costs in calls of the model and tokens of their prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extraction.model import Request


@dataclass(frozen=True, slots=True)
class Cost:
    """What one thing cost.

    Attributes:
        name: what it was.
        times: how often it was done.
        requests: what the model was asked.
    """

    name: str
    times: int
    requests: Sequence[Request]

    def row(self) -> tuple[str, ...]:
        """As the table shows it: calls, and tokens a call (mean), of that fixed and varying; and of all calls together."""
        asked = self.requests
        if not asked:
            return (self.name, str(self.times), "0", "-", "-", "-", "0")
        fixed, rest = (
            sum(each.system + each.schema for each in asked),
            sum(each.user for each in asked),
        )
        means = (f"{part / len(asked):,.0f}" for part in (fixed + rest, fixed, rest))
        return (self.name, str(self.times), f"{len(asked):,}", *means, f"{fixed + rest:,}")
