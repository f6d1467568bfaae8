"""What a bulk retain gives back, item by item."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model.results import RetainResult


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of one item: a result, or the error that kept all of it out of memory."""

    result: RetainResult | None
    error: HindsightError | None = None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a bulk retain did.

    Attributes:
        items: an outcome for each item, in the order given.
    """

    items: tuple[ItemOutcome, ...]

    @property
    def created(self) -> int:
        """New memories."""
        return sum(item.result.created for item in self.items if item.result)

    @property
    def failed(self) -> tuple[tuple[int, HindsightError], ...]:
        """Position and error of each item of which nothing was stored."""
        return tuple((place, item.error) for place, item in enumerate(self.items) if item.error)
