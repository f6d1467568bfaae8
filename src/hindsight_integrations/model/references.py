"""Bank references: serialisable locations of banks, which a process with the open engine resolves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindsight_integrations.model.display import Displayed, Table, fields


@dataclass(frozen=True, slots=True)
class BankReference:
    """The location of a bank in a serialised agent.

    Attributes:
        place: the resolved data directory; for an in-memory engine, a name that is valid only in its own process.
        bank: the bank's id.
    """

    place: str
    bank: str

    @property
    def kept(self) -> str:
        """The storage location for display: the data directory, or "in memory"."""
        return "in memory" if self.place.startswith(":memory:") else self.place


class DisplayedBank(Displayed):
    """A mixin that displays a bank by its name and location, without reading it."""

    if TYPE_CHECKING:

        @property
        def reference(self) -> BankReference:
            """The location of the bank."""

    def _display_text(self) -> str:
        return self.reference.bank

    def _display_facts(self) -> tuple[str, ...]:
        return (self.reference.kept,)

    def _display_tables(self) -> tuple[Table, ...]:
        return (fields(name=self.reference.bank),)
