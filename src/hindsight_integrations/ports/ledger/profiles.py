"""ProfileReader: who the agent of a bank is, and was."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.profile import BankProfile, ProfileChange


class ProfileReader(Protocol):
    """Reads of one bank's profiles. The present one is `BankHeader.profile` too."""

    def profile_changes(self, bank: str) -> list[ProfileChange]:
        """Every profile the bank was given, by number; none for a bank that was never given one."""
        ...

    def profile_change(self, bank: str, number: int | None = None) -> ProfileChange | None:
        """One of them, the newest if no number is given; None if there is none."""
        ...

    def profile_at(self, bank: str, moment: datetime) -> BankProfile:
        """The profile the bank had at a moment: a neutral one before its first change.

        What takes effect in the second of the moment has taken effect.
        """
        ...
