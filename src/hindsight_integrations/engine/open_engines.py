"""The bank a reference means, among the engines this process has open."""

from __future__ import annotations

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.engine.engine import ENGINES
from hindsight_integrations.errors import BankNotOpen, InvalidRequest, shown
from hindsight_integrations.model.references import BankReference


def bank_at(reference: BankReference) -> AsyncMemoryBank:
    """The bank that `bank.reference` gave, in the engine of this process that has its directory open.

    Of several that have (a reader beside the writer) the one that writes. Blocks for one read of the ledger, so that it
    serves where objects are deserialised, in or out of an event loop.

    Args:
        reference: as `bank.reference` gave it, here or in another process.

    Raises:
        InvalidRequest: it is no reference.
        BankNotOpen: no open engine of this process has its directory.
        BankNotFound: the directory has no such bank (any more).
    """
    if not isinstance(reference, BankReference):
        raise InvalidRequest("reference", f"{shown(reference)} is none", "Pass what bank.reference gave.")
    here = [engine for engine in list(ENGINES) if engine.place == reference.place and not engine.closed]
    if not here:
        raise BankNotOpen(reference.bank, reference.place)
    return min(here, key=lambda engine: engine.read_only).bank_now(reference.bank)
