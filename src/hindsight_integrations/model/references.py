"""BankReference: which bank, in words that can be stored, and found again in a process that has its engine open."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BankReference:
    """Where a bank is to be found: what a serialised agent keeps of it.

    Attributes:
        place: the resolved data directory; of an engine in memory a name that only its own process knows.
        bank: the bank's id.
    """

    place: str
    bank: str
