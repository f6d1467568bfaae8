"""BankReference: which bank, in words that can be stored, and found again in a process that has its engine open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindsight_integrations.model.display import Displayed, Table, fields


@dataclass(frozen=True, slots=True)
class BankReference:
    """Where a bank is to be found: what a serialised agent keeps of it.

    Attributes:
        place: the resolved data directory; of an engine in memory a name that only its own process knows.
        bank: the bank's id.
    """

    place: str
    bank: str

    @property
    def kept(self) -> str:
        """Where the bank is kept, in words: its directory, or "in memory"."""
        return "in memory" if self.place.startswith(":memory:") else self.place


class DisplayedBank(Displayed):
    """A mixin of banks: shown by name and place; nothing is read."""

    if TYPE_CHECKING:

        @property
        def reference(self) -> BankReference:
            """Where the bank is to be found."""

    def _display_text(self) -> str:
        return self.reference.bank

    def _display_facts(self) -> tuple[str, ...]:
        return (self.reference.kept,)

    def _display_tables(self) -> tuple[Table, ...]:
        return (fields(name=self.reference.bank),)
