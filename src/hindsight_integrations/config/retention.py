"""How long memories are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hindsight_integrations.errors import InvalidRequest, shown


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How many days after it was mentioned a memory is forgotten for good, as by `forget(before=...)`; nothing by default.

    `settle`, of a bank or of the engine, does it.

    Attributes:
        days: of every bank; None keeps.
        banks: of a bank, by its name, in place of `days`; None keeps.
        tags: of what bears a tag, in every bank, where that is shorter.
    """

    days: float | None = None
    banks: Mapping[str, float | None] = field(default_factory=dict)
    tags: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses an age that is none: nothing is to be forgotten by a slip of the pen."""
        ages = {"days": self.days, **self.banks, **self.tags}
        for name, age in ages.items():
            if age is not None and (isinstance(age, bool) or not isinstance(age, int | float) or not age > 0):
                raise InvalidRequest(
                    "retention", f"{shown(age)} days is no age ({name})", "Give more than 0, or None to keep."
                )

    def age_in(self, bank: str) -> timedelta | None:
        """How old a memory of that bank may get; None means it is kept.

        Args:
            bank: its name.
        """
        days = self.banks.get(bank, self.days)
        return None if days is None else timedelta(days=days)
