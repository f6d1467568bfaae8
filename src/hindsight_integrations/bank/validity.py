"""Verbs about whether a memory still holds: its history, and undoing a closing (design sections 4 and 7)."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.model.time import MICROSECOND
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet

RESTORED_BY_HAND = "restored"
ATTEMPTS = 8  # as a write turn's; in one process there is no conflict at all


class ValidityVerbs(BankCore):
    """history and restore."""

    async def history(self, unit_id: str) -> tuple[ValidityEvent, ...]:
        """When a memory was closed, restored or amended, by which other memory and why; oldest first.

        Args:
            unit_id: the memory's id; one the bank does not know has no history.
        """
        return tuple(await self._tools.workers.read(self._tools.ledger.validity, self._name, unit_id))

    async def restore(self, unit_id: str) -> bool:
        """Undo the closing of a memory: it is valid again from now on, and the log says so.

        Args:
            unit_id: the memory's id.

        Returns:
            False if it was valid already; nothing is written then.

        Raises:
            InvalidRequest: the bank has no such memory, or the engine was opened read-only.
        """
        self._check_writable("restore")
        return await self._tools.workers.write(self._restore, unit_id)

    def _restore(self, unit_id: str) -> bool:
        for attempt in range(ATTEMPTS):
            revision = self._tools.ledger.revision(self._name)
            event = self._restoring(unit_id)
            if event is None:
                return False
            try:
                self._tools.ledger.commit(WriteSet(self._name, revision, events=(event,)))
            except RevisionConflict:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            break
        self._projection.catch_up()
        return True

    def _restoring(self, unit_id: str) -> ValidityEvent | None:
        """The event that restores a unit; None if it is valid."""
        ledger = self._tools.ledger
        log = ledger.validity(self._name, unit_id)
        if unit_id not in ledger.row_ids(self._name, [unit_id]):
            raise InvalidRequest(
                "unit_id", f"there is no memory {unit_id!r}", "Use an id that recall returned."
            )
        if not is_closed(log):
            return None
        event = ValidityEvent(
            unit_id, ValidityKind.RESTORED, self._tools.clock.now(), reason=RESTORED_BY_HAND
        )
        # A clock behind the conversation must not put the restoring before the closing.
        return replace(event, effective_at=max(event.effective_at, log[-1].effective_at + MICROSECOND))


def is_closed(log: list[ValidityEvent]) -> bool:
    """Whether a validity log ends with a closing, amendments aside."""
    kinds = [event.kind for event in log if event.kind is not ValidityKind.AMENDED]
    return bool(kinds) and kinds[-1] is ValidityKind.CLOSED
