"""Forgetting for good: the verb `forget` of a bank (design section 7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.bank.named_entities import entity_named
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.text.names import normalise_name
from hindsight_integrations.validation.arguments import as_window


class ForgetVerbs(BankCore):
    """The verb that erases."""

    async def forget(
        self,
        *,
        unit: str | None = None,
        document: str | None = None,
        entity: str | None = None,
        window: tuple[datetime | str, datetime | str] | None = None,
        everything: bool = False,
    ) -> ForgetReceipt:
        """Erase memories for good: from the ledger, from every index and from the files underneath.

        With a memory go its vector, its links, what amends it, the passage it came from, waiting work that carries its
        text, and entities and names that only it used. Messages it came from stay known by their hash, so that a replayed
        conversation does not bring it back; `everything` forgets those too. To say that something is no longer true,
        retain that instead: then history is kept.

        Costs a rewrite of the ledger's files and of the bank's vector collection.

        Args:
            unit: id of one memory.
            document: id of a document.
            entity: name or id of an entity: it, and every memory that mentions it.
            window: (start, end): what happened or was said in it.
            everything: all memories of the bank; its name and profile stay.

        Raises:
            InvalidRequest: not exactly one of them is given, or the bank holds nothing of that id.
        """
        self._check_writable("forget")
        given = [each for each in (unit, document, entity, window, everything or None) if each is not None]
        if len(given) != 1:
            raise InvalidRequest(
                "forget",
                f"it was given {len(given)} things to forget",
                "Pass exactly one of unit=, document=, entity=, window= and everything=True.",
            )
        erasure = Erasure(unit, document, entity, as_window(window, self._tools.zone), everything)
        return await self._tools.workers.write(self._erase, erasure)

    def _erase(self, erasure: Erasure) -> ForgetReceipt:
        ledger = self._tools.ledger
        if erasure.entity is not None:
            erasure = replace(erasure, entity=entity_named(ledger, self._name, erasure.entity).id)
        receipt = ledger.erase(self._name, erasure, normalise=normalise_name)
        if not receipt.counts:
            _check_found(erasure)
            return receipt
        self._projection.catch_up()
        healthy = not self._projection.view().failures
        return replace(receipt, files_clean=ledger.scrub() and healthy)


def _check_found(erasure: Erasure) -> None:
    """A window may be empty, and so may a bank; an id that stands for nothing is a mistake worth hearing of."""
    for field in ("unit", "document"):
        if (name := getattr(erasure, field)) is not None:
            raise InvalidRequest(field, f"the bank holds nothing of id {name!r}", "Check the id.")
