"""`bank.tasks`: background tasks, run by `settle`, or by a worker if the engine has one."""

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

# Duration of a lease, which is renewed while a handler runs; after a kill, the task is free again.
LEASE = timedelta(seconds=60)
RENEWALS = 3  # number of renewals in the duration of a lease, so that two may fail
# Number of attempts after which a task is DEAD: about six hours, with delays that double up to an hour.
MAX_ATTEMPTS = 12
REASON_CHARACTERS = 500

FIRST_DELAY, LONGEST_DELAY = timedelta(minutes=1), timedelta(hours=1)
# Shorter than other delays, because most outages end soon.
LONGEST_OUTAGE_DELAY = timedelta(minutes=5)

NOT_THE_TASKS_FAULT = (ModelUnavailable, ModelRefused, EmbedderMismatch)
"""Errors after which an attempt is not counted, because the task did not cause them."""

HOPELESS = BackgroundRefused
"""An error that would recur in every attempt. The task is DEAD immediately, and its reason includes the remedy."""

Handler: TypeAlias = Callable[[Task], Awaitable[Settled]]
"""Function that runs a task and returns its outcome. Its last await commits the effect and completes the task."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The outcome of one task.

    Attributes:
        settled: the outcome, which lists the task under `done` or `failed`, unless the task's bank was forgotten.
        failure: the error; None if the task is done.
    """

    settled: Settled
    failure: Exception | None = None


def retry_delay(attempts: int) -> timedelta:
    """Return the delay after this number of failed attempts: 1, 2, 4, ... minutes, at most an hour."""
    return _doubled(attempts - 1, LONGEST_DELAY)


def outage_delay(uncounted: int) -> timedelta:
    """Return the delay after this number of uncounted attempts: 1, 2, 4, then 5 minutes."""
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
    """Lease the task that has been due longest, or return None. If cancelled, release the task. See `TaskQueue.lease`."""
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
        if task := await leasing:  # the caller was cancelled, and cannot run the task
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
    """Run a leased task. An exception from its handler is recorded as the task's failure.

    If this call is cancelled, the handler is cancelled, the lease is released and the attempt is not counted. The lease is
    renewed three times in its duration.

    Raises:
        EngineClosed: the engine was closed during the run; the lease will expire.
        BankForgotten: the bank was forgotten before the failure could be recorded.
    """
    if task.attempts > MAX_ATTEMPTS:  # each attempt killed the process, so no failure was recorded
        reason = f"it was started {MAX_ATTEMPTS} times and never finished"
        await services.workers.write(_end_leases, task, services.ledger.tasks, reason=reason, retry_in=None)
        return TaskRun(_failing(task, reason), TaskClosed(task.id))
    work = asyncio.ensure_future(handler(task))
    keeping = asyncio.ensure_future(_keep(task, work, services, lasting, sleep))
    try:
        await asyncio.wait({work})
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        if not work.done():  # the caller was cancelled, but the work was not
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
        return TaskRun(replace(work.result(), done=tuple(each.id for each in task.members)))
    if not isinstance(error, Exception):  # let interrupts propagate
        raise error
    return await _failed(task, error, services)


def give_back(task: Task, tasks: TaskQueue) -> None:
    """Release a lease. The task is due immediately, and its attempt is not counted. Writer thread only."""
    for each in task.members:
        tasks.fail(each.claim, reason=each.reason, retry_in=timedelta(0), counted=False)


def _end_leases(
    task: Task, tasks: TaskQueue, *, reason: str, retry_in: timedelta | None, counted: bool = True
) -> None:
    """End the lease of a task and the leases of tasks leased with it, all with the same delay. Writer thread only."""
    for each in task.members:
        tasks.fail(each.claim, reason=reason, retry_in=retry_in, counted=counted)


def _renewed(task: Task, tasks: TaskQueue, *, lasting: timedelta) -> bool:
    """Renew the leases of a task and of tasks leased with it; return False if one is no longer valid. Writer thread only."""
    return all(tasks.renew(each.claim, lasting=lasting) for each in task.members)


def _failing(task: Task, reason: str) -> Settled:
    return Settled(failed={each.id: reason for each in task.members})


async def _keep(
    task: Task,
    work: asyncio.Future[Settled],
    services: Services,
    lasting: timedelta,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Renew the lease until a renewal is refused; then cancel the work, because its effect could no longer be committed."""
    held = True
    while held:
        await sleep(lasting.total_seconds() / RENEWALS)
        try:
            held = await services.workers.write(_renewed, task, services.ledger.tasks, lasting=lasting)
        except StorageError as error:
            logger.warning("the lease of task %d could not be renewed: %s", task.id, type(error).__name__)
    logger.warning(
        "task %d lost its lease; its work is discarded, because another worker leased or finished the task",
        task.id,
    )
    work.cancel()


async def _failed(task: Task, error: Exception, services: Services) -> TaskRun:
    """Reschedule the task, or mark it DEAD, and record the reason."""
    reason = f"{type(error).__name__}: {error}"[:REASON_CHARACTERS]
    settled = _failing(task, reason)
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
        if isinstance(error, ModelUnavailable) and error.retry_after is not None:  # the value may be infinite
            asked = min(error.retry_after, LONGEST_DELAY.total_seconds())
            rest = max(rest, timedelta(seconds=asked))
    await services.workers.write(
        _end_leases, task, services.ledger.tasks, reason=reason, retry_in=rest, counted=counted
    )
    if isinstance(error, MalformedOutput):
        settled = replace(settled, tokens_in=error.tokens_in, tokens_out=error.tokens_out)
    return TaskRun(settled, error)


def handlers(context: BankContext) -> Mapping[TaskKind, Handler]:
    """Return the handlers for all kinds of tasks that this engine can run."""
    return {kind: partial(_HANDLERS[kind], context) for kind in able_kinds(context.services)}


def settling(context: BankContext) -> Mapping[TaskKind, Handler]:
    """Return the handlers for kinds of tasks that may run before they are due. `settle` expires items in another way."""
    return {kind: handler for kind, handler in handlers(context).items() if kind not in AT_THEIR_TIME}


def able_kinds(services: Services) -> frozenset[TaskKind]:
    """Return the kinds of tasks that this engine can run. Disabled kinds, and those that need a missing model, stay queued."""
    unable = frozenset() if extractor_of(services) else EXTRACTION
    if services.config.observations.mode is ObservationMode.OFF:
        unable |= {TaskKind.OBSERVE}
    if services.model is None:
        unable |= {TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return frozenset(_HANDLERS) - unable


def model_kinds(services: Services) -> frozenset[TaskKind]:
    """Return the kinds of tasks for which this engine calls its model."""
    asking = EXTRACTION if extractor_of(services) else frozenset[TaskKind]()
    if services.model and services.config.observations.mode is ObservationMode.AUTO:
        asking |= {TaskKind.OBSERVE}
    if services.model:
        asking |= {TaskKind.MERGE_BACKGROUND, TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return asking


async def _extract(context: BankContext, task: Task) -> Settled:
    llm = extractor_of(context.services)
    if llm is None:
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass `model=` when you open the engine.")
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
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass `model=` when you open the engine.")
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
"""Kinds of tasks that must not run before they are due."""

EXTRACTION = frozenset({TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED, TaskKind.EXTRACT_WAITING})

_HANDLERS: Mapping[TaskKind, Callable[[BankContext, Task], Awaitable[Settled]]] = {
    **dict.fromkeys(EXTRACTION, _extract),
    TaskKind.OBSERVE: _observe,
    TaskKind.MERGE_BACKGROUND: _merge,
    TaskKind.REFRESH_MODEL: _refresh,
    TaskKind.REINFORCE: _reinforce,
    TaskKind.EXPIRE_ITEMS: _expire,
}


async def extract_due(context: BankContext) -> Settled:
    """Extract the messages that have waited long enough, as a worker would."""
    services, settled = context.services, Settled()
    handler = handlers(context).get(TaskKind.EXTRACT_WAITING)
    while handler and (task := await lease_task([TaskKind.EXTRACT_WAITING], services, bank=context.name)):
        settled += (await run_task(task, handler, services)).settled
    return settled


Tasks: TypeAlias = list[Task]  # an alias, because `list` is a method of the class below


class AsyncTasks(BankVerbs):
    """Background tasks of the bank: extraction, observations, background merges, mental models and opinions."""

    namespace = "tasks"

    async def list(self) -> Tasks:
        """List all tasks of the bank, oldest first, including tasks that are done or dead."""
        context = self._context
        return await context.services.workers.read(context.services.ledger.tasks.of_bank, context.name)

    @writes
    async def settle(self) -> Settled:
        """Run the bank's due tasks until none is left.

        Without a worker, nothing else runs tasks: call this at the end of a conversation, periodically, or when the model is
        available again. With a worker, this runs the tasks that the worker has not leased. Tasks that wait for more input, such
        as observations, run immediately. The call also erases expired items and memories older than `RetentionConfig` allows,
        and removes their bytes from the files.

        A failed task is retried after 1, 2, 4, ... minutes, at most an hour, and is DEAD after 12 attempts. It does not stop the
        other tasks. If the model is unavailable, the attempt does not count, and the task is retried after 1, 2, 4, then every 5
        minutes. Without a model, passages keep waiting for extraction.

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
        """Make all waiting, failed and dead tasks due now, so that `settle` or a worker runs them.

        Returns:
            The number of tasks made due.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        services = self._context.services
        return await services.workers.write(
            services.ledger.tasks.make_due, self._context.name, tuple(TaskKind)
        )
