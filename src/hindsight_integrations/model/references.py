"""Bank references: serialisable locations of banks, resolved in a process that has the engine open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindsight_integrations.model.display import Displayed, Table, fields


@dataclass(frozen=True, slots=True)
class BankReference:
    """The location of a bank, as kept by a serialised agent.

    Attributes:
        place: the resolved data directory; for an engine in memory a name known only to its own process.
        bank: the bank's id.
    """

    place: str
    bank: str

    @property
    def kept(self) -> str:
        """Where the bank is stored, in words: its directory, or "in memory"."""
        return "in memory" if self.place.startswith(":memory:") else self.place


class DisplayedBank(Displayed):
    """Mixin that displays a bank by name and place, without reading it."""

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
