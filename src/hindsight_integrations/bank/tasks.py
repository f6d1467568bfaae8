"""`bank.tasks`: work that waits, passages parked or queued for a model. Nothing runs but in `settle`."""

from __future__ import annotations

from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.tempr.retain.settle import handlers, settle

EXTRACTION = (TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED)

Tasks: TypeAlias = list[Task]  # inside the class `list` is the verb


class AsyncTasks(BankVerbs):
    """The bank's waiting work."""

    namespace = "tasks"

    async def list(self) -> Tasks:
        """All tasks of the bank with their state, oldest first, those done and dead included."""
        context = self._context
        return await context.tools.workers.read(context.tools.ledger.tasks, context.name)

    @writes
    async def settle(self) -> Settled:
        """Do the bank's waiting work that is due, until none is.

        No thread of the engine does this by itself: call it when the model is back, at the end of a conversation, or
        every so often. A task that fails is tried again later (after 1, 2, 4 ... minutes, at most an hour), and given
        up as DEAD after 12 attempts; it never stops the others. Without a model, passages to extract wait on.

        Raises:
            EngineClosed: the engine was closed.
            InvalidRequest: the engine was opened read-only.
        """
        tools = self._context.retain_tools()
        await tools.workers.write(self._context.claim_embedder)
        return await settle(tools, handlers(tools))

    @writes
    async def retry(self) -> int:
        """Make every parked or queued passage due now, DEAD ones too; `settle` then extracts them.

        Returns:
            How many there are.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        tools = self._context.tools
        return await tools.workers.write(tools.ledger.make_due, self._context.name, EXTRACTION)
