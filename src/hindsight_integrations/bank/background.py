"""Verbs about work that waits: passages parked or queued for a model. Nothing runs but in `settle`."""

from __future__ import annotations

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.tempr.retain.tasks import handlers, settle

EXTRACTION = (TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED)


class BackgroundVerbs(BankCore):
    """settle, tasks, retry_parked."""

    async def settle(self) -> Settled:
        """Do the bank's waiting work that is due, until none is.

        No thread of the engine does this by itself: call it when the model is back, at the end of a conversation, or
        every so often. A task that fails is tried again later (after 1, 2, 4 ... minutes, at most an hour), and given
        up as DEAD after 12 attempts; it never stops the others. Without a model, passages to extract wait on.

        Raises:
            EngineClosed: the engine was closed.
        """
        self._check_writable("settle")
        tools = self._retain_tools()
        await self._tools.workers.write(self._claim_embedder)
        return await settle(tools, handlers(tools))

    async def tasks(self) -> list[Task]:
        """All tasks of the bank with their state, oldest first, those done and dead included."""
        return await self._tools.workers.read(self._tools.ledger.tasks, self._name)

    async def retry_parked(self) -> int:
        """Make every parked or queued passage due now, DEAD ones too; returns how many. `settle` then extracts them."""
        self._check_writable("retry_parked")
        now = self._tools.clock.now()
        return await self._tools.workers.write(self._tools.ledger.make_due, self._name, EXTRACTION, now=now)
