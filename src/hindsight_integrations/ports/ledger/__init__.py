"""Ledger: the one truth, by role. Everything else is a projection of it and can be rebuilt from it (decision 080)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from hindsight_integrations.ports.ledger.feed import Feed
from hindsight_integrations.ports.ledger.observations import Observed
from hindsight_integrations.ports.ledger.reader import LedgerMaintenance, LedgerReader, LedgerTasks, Scrub
from hindsight_integrations.ports.ledger.values import (
    ArchiveRow,
    BankHeader,
    EntitySplit,
    ItemUnits,
    Json,
    Receipt,
    StoredDocument,
    UnitColumns,
    UnitEdit,
)
from hindsight_integrations.ports.ledger.writer import Transaction

__all__ = [
    "ArchiveRow",
    "BankHeader",
    "EntitySplit",
    "Feed",
    "ItemUnits",
    "Json",
    "Ledger",
    "LedgerMaintenance",
    "LedgerReader",
    "LedgerTasks",
    "Observed",
    "Receipt",
    "Scrub",
    "StoredDocument",
    "Transaction",
    "UnitColumns",
    "UnitEdit",
]


class Ledger(LedgerReader, LedgerMaintenance, LedgerTasks, Protocol):
    """The durable record: its banks, and how to read, follow and write one.

    Reads are safe from any thread and never wait for a writer's decision. What writes is called from one thread at a
    time (the engine's writer). A commit is one transaction: all of it or none of it survives a kill at any moment.
    Blocks opened by `snapshot`, `feed` and `transaction` belong to the thread that opened them and are not nested.

    Raises:
        BankNotFound: by every method but `create_bank`, where there is no such bank.
        LedgerReadOnly: by every method that writes, where the ledger cannot be written.
        EngineClosed: by every method, after `close`.
    """

    def banks(self) -> list[BankHeader]:
        """All banks, by name."""
        ...

    def bank(self, name: str) -> BankHeader:
        """One bank."""
        ...

    def create_bank(self, name: str) -> BankHeader:
        """The bank of that name, made if there is none."""
        ...

    def revision(self, bank: str) -> int:
        """The bank's current revision: the cheapest read, made before others to see whether anything is new."""
        ...

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the storage itself, as far as it can tell by reading all of it; empty if nothing."""
        ...

    def feed(self, bank: str) -> AbstractContextManager[Feed]:
        """What was committed, of one state of the bank."""
        ...

    def transaction(self, bank: str) -> AbstractContextManager[Transaction]:
        """Hold a bank against other writers, to decide on it and commit. No model is called inside."""
        ...

    def close(self) -> None:
        """Release the storage and its lock. Idempotent."""
        ...
