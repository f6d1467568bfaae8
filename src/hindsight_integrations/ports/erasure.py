"""LedgerEraser: the part of the ledger that forgets for good (design section 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hindsight_integrations.model.erasure import Erasure, ForgetReceipt


class LedgerEraser(Protocol):
    """Real erasure. Called from the engine's writer thread only."""

    def erase(self, bank: str, erasure: Erasure, *, normalise: Callable[[str], str]) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them, in one transaction.

        With a unit go its vector, links, mentions, validity log, evidence and edits, the units that amend it, the
        chunk it came from, waiting tasks that carry its text, entities nothing else mentions, and names of
        surviving entities that only it used. Events it caused on other units stay without reason and author;
        amendments it made are undone. `removed` reports its row id.

        Message keys stay (a hash, the thread and the message id), so that a replayed conversation does not bring the
        memory back; `everything` drops them too.

        Args:
            bank: the bank.
            erasure: what; exactly one field set.
            normalise: how names of entities are compared.

        Returns:
            The receipt; its revision is unchanged where there was nothing to erase.
        """
        ...

    def drop_bank(self, bank: str) -> int:
        """Delete the bank itself with all it holds; returns how many units it held."""
        ...

    def scrub(self) -> bool:
        """Rewrite the files so that nothing erased is left in them; whether it could be done now.

        A kill between `erase` and `scrub` is made up for when the ledger is next opened for writing.
        """
        ...
