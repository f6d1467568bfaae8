"""`bank.tasks`: work that waits, done by `settle`, or by a worker where the engine was opened with one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.items import scrub_many, settle_items
from hindsight_integrations.bank.maintenance import forget_expired
from hindsight_integrations.bank.mental_models import answering_context
from hindsight_integrations.config import ObservationMode
from hindsight_integrations.errors import (
    BackgroundRefused,
    BankNotFound,
    EmbedderMismatch,
    EngineClosed,
    InvalidRequest,
    MalformedOutput,
    ModelRefused,
    ModelUnavailable,
    StorageError,
    TaskClosed,
)
from hindsight_integrations.ledger.tasks import TaskQueue
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.reflect.background import merge_waiting
from hindsight_integrations.reflect.mental_models import refresh_waiting
from hindsight_integrations.reflect.observations import observe
from hindsight_integrations.reflect.opinions.reinforcing import reinforce
from hindsight_integrations.retain.extraction import extractor_of
from hindsight_integrations.retain.pipeline import extract_waiting
from hindsight_integrations.services import Services

logger = logging.getLogger("hindsight_integrations")

LEASE = timedelta(seconds=60)  # a killed process's task is free after it, a slow handler's is renewed
RENEWALS = 3  # a lease is renewed so often before it would end: two may fail
MAX_ATTEMPTS = 12  # with delays doubling up to an hour: most of a working day before a task is given up
REASON_CHARACTERS = 500

FIRST_DELAY, LONGEST_DELAY = timedelta(minutes=1), timedelta(hours=1)
LONGEST_OUTAGE_DELAY = timedelta(minutes=5)  # a model comes back sooner than a broken task mends

NOT_THE_TASKS_FAULT = (ModelUnavailable, ModelRefused, EmbedderMismatch)
"""What does not count as an attempt: another task would have failed alike."""

HOPELESS = BackgroundRefused
"""What would come out the same at every attempt: the task is DEAD at once, its reason says what to do."""

Handler: TypeAlias = Callable[[Task], Awaitable[Settled]]
"""Does one task and says what it brought: effect and the task's end are one commit, the last thing it waits for."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """How one task went.

    Attributes:
        settled: what it brought; the task is among its `done` or its `failed`, unless its bank was forgotten.
        failure: what it failed of; None if it is done.
    """

    settled: Settled
    failure: Exception | None = None


def retry_delay(attempts: int) -> timedelta:
    """How long a task rests after so many failed attempts: 1, 2, 4 ... minutes, at most an hour."""
    return _doubled(attempts - 1, LONGEST_DELAY)


def outage_delay(uncounted: int) -> timedelta:
    """How long a task rests that could not be tried, so many times before: 1, 2, 4, then 5 minutes."""
    return _doubled(uncounted, LONGEST_OUTAGE_DELAY)


def _doubled(times: int, longest: timedelta) -> timedelta:
    return min(FIRST_DELAY * (1 << min(max(times, 0), 10)), longest)


async def lease_task(
    kinds: Collection[TaskKind],
    services: Services,
    *,
    lasting: timedelta = LEASE,
    bank: str | None = None,
    besides: Collection[str] = (),
    early: bool = False,
) -> Task | None:
    """Lease the task due longest, or None; see `TaskQueue.lease`. Cancelled meanwhile, it gives the lease back."""
    leasing = asyncio.ensure_future(
        services.workers.write(
            services.ledger.tasks.lease,
            tuple(kinds),
            lasting=lasting,
            bank=bank,
            besides=besides,
            early=early,
        )
    )
    try:
        return await asyncio.shield(leasing)
    except asyncio.CancelledError:
        if task := await leasing:  # leased to one who is not there any more
            await services.workers.write(give_back, task, services.ledger.tasks)
        raise


async def run_task(
    task: Task,
    handler: Handler,
    services: Services,
    *,
    lasting: timedelta = LEASE,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> TaskRun:
    """Run a leased task to its end, whatever its handler raises: that is this task's failure and no other's.

    Cancelled, it cancels the handler and gives the lease back, which is then no attempt.

    Args:
        task: as it was leased.
        handler: does it.
        services: the engine's.
        lasting: what the lease is renewed to, three times before it would end.
        sleep: waits so many seconds.

    Raises:
        EngineClosed: the engine was closed meanwhile; the lease ends by itself.
        BankForgotten: the bank was forgotten before the failure could be told.
    """
    if task.attempts > MAX_ATTEMPTS:  # its process was killed each time, so nobody counted it out
        reason = "it was begun too often without an end"
        await services.workers.write(services.ledger.tasks.fail, task.claim, reason=reason, retry_in=None)
        return TaskRun(Settled(failed={task.id: reason}), TaskClosed(task.id))
    work = asyncio.ensure_future(handler(task))
    keeping = asyncio.ensure_future(_keep(task, work, services, lasting, sleep))
    try:
        await asyncio.wait({work})
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        if not work.done():  # this is cancelled, not the work
            work.cancel()
            await asyncio.wait({work})
            with suppress(EngineClosed, BankNotFound):
                await services.workers.write(give_back, task, services.ledger.tasks)
    lost = work.cancelled() and not keeping.cancelled() and keeping.exception() is None
    if work.cancelled() and not lost:
        await services.workers.write(give_back, task, services.ledger.tasks)
        raise asyncio.CancelledError
    error = TaskClosed(task.id) if lost else work.exception()
    if error is None:
        return TaskRun(replace(work.result(), done=(task.id,)))
    if not isinstance(error, Exception):  # interrupts are the caller's
        raise error
    return await _failed(task, error, services)


def give_back(task: Task, tasks: TaskQueue) -> None:
    """End a lease as if it had not been: the task is due at once, and has as many attempts as before. Writer thread only."""
    tasks.fail(task.claim, reason=task.reason, retry_in=timedelta(0), counted=False)


async def _keep(
    task: Task,
    work: asyncio.Future[Settled],
    services: Services,
    lasting: timedelta,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Renew the lease until it is refused; then cancel the work, whose effect could not be committed."""
    held = True
    while held:
        await sleep(lasting.total_seconds() / RENEWALS)
        try:
            held = await services.workers.write(services.ledger.tasks.renew, task.claim, lasting=lasting)
        except StorageError as error:
            logger.warning("the lease of task %d could not be renewed: %s", task.id, type(error).__name__)
    logger.warning(
        "task %d was taken over by somebody else, or taken back: its work is dropped here", task.id
    )
    work.cancel()


async def _failed(task: Task, error: Exception, services: Services) -> TaskRun:
    """Put the task back, or bury it, and say why."""
    reason = f"{type(error).__name__}: {error}"[:REASON_CHARACTERS]
    settled = Settled(failed={task.id: reason})
    if isinstance(error, BankNotFound):
        return TaskRun(Settled(), error)
    if isinstance(error, TaskClosed):
        return TaskRun(settled, error)
    logger.warning("task %d failed at attempt %d: %s", task.id, task.attempts, type(error).__name__)
    counted = not isinstance(error, NOT_THE_TASKS_FAULT)
    if counted:
        last = task.attempts >= MAX_ATTEMPTS or isinstance(error, HOPELESS)
        rest = None if last else retry_delay(task.attempts)
    else:
        rest = outage_delay(task.uncounted)
        if isinstance(error, ModelUnavailable) and error.retry_after is not None:  # inf, if a service says so
            asked = min(error.retry_after, LONGEST_DELAY.total_seconds())
            rest = max(rest, timedelta(seconds=asked))
    await services.workers.write(
        services.ledger.tasks.fail, task.claim, reason=reason, retry_in=rest, counted=counted
    )
    if isinstance(error, MalformedOutput):
        settled = replace(settled, tokens_in=error.tokens_in, tokens_out=error.tokens_out)
    return TaskRun(settled, error)


def handlers(context: BankContext) -> Mapping[TaskKind, Handler]:
    """The handlers of a bank's tasks, of the kinds this engine can do."""
    return {kind: partial(_HANDLERS[kind], context) for kind in able_kinds(context.services)}


def settling(context: BankContext) -> Mapping[TaskKind, Handler]:
    """The handlers of what may be done early: whoever settles expires items himself, and waits for no others' time."""
    return {kind: handler for kind, handler in handlers(context).items() if kind not in AT_THEIR_TIME}


def able_kinds(services: Services) -> frozenset[TaskKind]:
    """What this engine can do: without a model, what needs one is left waiting; so is what the settings turn off."""
    unable = frozenset() if extractor_of(services) else EXTRACTION
    if services.config.observations.mode is ObservationMode.OFF:
        unable |= {TaskKind.OBSERVE}
    if services.model is None:
        unable |= {TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return frozenset(_HANDLERS) - unable


def model_kinds(services: Services) -> frozenset[TaskKind]:
    """What this engine does by asking its model."""
    asking = EXTRACTION if extractor_of(services) else frozenset[TaskKind]()
    if services.model and services.config.observations.mode is ObservationMode.AUTO:
        asking |= {TaskKind.OBSERVE}
    if services.model:
        asking |= {TaskKind.MERGE_BACKGROUND, TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return asking


async def _extract(context: BankContext, task: Task) -> Settled:
    llm = extractor_of(context.services)
    if llm is None:
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass model= to open().")
    await context.services.workers.write(context.claim_embedder)
    return await extract_waiting(task, llm, context, context.services)


async def _observe(context: BankContext, task: Task) -> Settled:
    await context.services.workers.write(context.claim_embedder)
    return await observe(task, context, context.services)


async def _merge(context: BankContext, task: Task) -> Settled:
    return await merge_waiting(task, context, context.services)


async def _refresh(context: BankContext, task: Task) -> Settled:
    return await refresh_waiting(task, await answering_context(context))


async def _reinforce(context: BankContext, task: Task) -> Settled:
    model = context.services.model
    if model is None:
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass model= to open().")
    await context.services.workers.write(context.claim_embedder)
    return await reinforce(task, model, context, context.services)


async def _expire(context: BankContext, task: Task) -> Settled:
    services = context.services

    def expire() -> None:
        now = services.clock.now()
        services.ledger.items.expire(context.name, now, [task.claim])
        context.catch_up()
        scrub_many(context)

    await services.workers.write(expire)
    return Settled(done=(task.id,))


AT_THEIR_TIME = frozenset({TaskKind.EXPIRE_ITEMS})
"""Never done early: whoever settles erases what has expired, and must not wait for what will."""

EXTRACTION = frozenset({TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED})

_HANDLERS: Mapping[TaskKind, Callable[[BankContext, Task], Awaitable[Settled]]] = {
    **dict.fromkeys(EXTRACTION, _extract),
    TaskKind.OBSERVE: _observe,
    TaskKind.MERGE_BACKGROUND: _merge,
    TaskKind.REFRESH_MODEL: _refresh,
    TaskKind.REINFORCE: _reinforce,
    TaskKind.EXPIRE_ITEMS: _expire,
}


Tasks: TypeAlias = list[Task]  # inside the class `list` is the verb


class AsyncTasks(BankVerbs):
    """The bank's waiting work."""

    namespace = "tasks"

    async def list(self) -> Tasks:
        """All tasks of the bank with their state, oldest first, those done and dead included."""
        context = self._context
        return await context.services.workers.read(context.services.ledger.tasks.of_bank, context.name)

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
        context, services = self._context, self._context.services
        await services.workers.write(context.claim_embedder)
        await settle_items(context)
        await services.workers.write(forget_expired, context)
        able, settled = settling(context), Settled()
        while able:
            task = await lease_task(able, services, bank=context.name, early=True)
            if task is None:
                break
            settled += (await run_task(task, able[task.kind], services)).settled
        return settled

    @writes
    async def retry(self) -> int:
        """Make all tasks due now that wait, rest after a failure or were given up; `settle`, or a worker, then does them.

        Returns:
            How many there are.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        services = self._context.services
        return await services.workers.write(
            services.ledger.tasks.make_due, self._context.name, tuple(TaskKind)
        )
