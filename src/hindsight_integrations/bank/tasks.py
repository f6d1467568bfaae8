"""`bank.tasks`: work that waits, done by `settle`, or by a worker where the engine was opened with one."""

from __future__ import annotations

from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.handlers import settling
from hindsight_integrations.bank.items import settle_items
from hindsight_integrations.bank.retention import forget_expired
from hindsight_integrations.bank.task_runner import lease_task, run_task
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskKind

Tasks: TypeAlias = list[Task]  # inside the class `list` is the verb


class AsyncTasks(BankVerbs):
    """The bank's waiting work."""

    namespace = "tasks"

    async def list(self) -> Tasks:
        """All tasks of the bank with their state, oldest first, those done and dead included."""
        context = self._context
        return await context.tools.workers.read(context.tools.ledger.tasks.of_bank, context.name)

    @writes
    async def settle(self) -> Settled:
        """Do the bank's waiting work that is due, until none is.

        Without a worker nothing does this by itself: call it when the model is back, at the end of a conversation, or
        every so often. Beside a worker, here or elsewhere, it does what nobody else has begun. What waits for more of the
        same, as observations do, is done without waiting. Items whose time has run out are erased, memories that are older
        than they may get (`RetentionConfig`) forgotten, and the files scrubbed of what was deleted.

        A task that fails is tried again later (after 1, 2, 4 ... minutes, at most an hour), and given up as DEAD after 12
        attempts; it never stops the others. A model that is unavailable or refuses is no attempt: tried again after 1, 2,
        4, then every 5 minutes, for as long as it takes. Without a model, passages to extract wait on.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
            EngineClosed: the engine was closed.
            InvalidRequest: the engine was opened read-only.
        """
        context, tools = self._context, self._context.tools
        await tools.workers.write(context.claim_embedder)
        await settle_items(context)
        await tools.workers.write(forget_expired, context)
        able, settled = settling(context), Settled()
        while able:
            task = await lease_task(able, tools, bank=context.name, early=True)
            if task is None:
                break
            settled += (await run_task(task, able[task.kind], tools)).settled
        return settled

    @writes
    async def retry(self) -> int:
        """Make all tasks due now that wait, rest after a failure or were given up; `settle`, or a worker, then does them.

        Returns:
            How many there are.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        tools = self._context.tools
        return await tools.workers.write(tools.ledger.tasks.make_due, self._context.name, tuple(TaskKind))
