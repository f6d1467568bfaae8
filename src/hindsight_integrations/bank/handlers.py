"""Who does which kind of task of a bank. A new kind of task is a line here, and its handler where its pipeline is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from hindsight_integrations.bank.context import BankContext, Tools
from hindsight_integrations.bank.item_writing import scrub_many
from hindsight_integrations.bank.kept_answers import mental_model_tools
from hindsight_integrations.bank.task_runner import Handler
from hindsight_integrations.cara.background import merge_waiting
from hindsight_integrations.cara.mental_models import refresh_waiting
from hindsight_integrations.cara.observations import observe
from hindsight_integrations.cara.opinions.reinforcing import reinforce
from hindsight_integrations.config import ObservationMode
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.tempr.retain.waiting_passages import extract_waiting


def handlers(context: BankContext) -> Mapping[TaskKind, Handler]:
    """The handlers of a bank's tasks, of the kinds this engine can do."""
    return {kind: partial(_HANDLERS[kind], context) for kind in able_kinds(context.tools)}


def settling(context: BankContext) -> Mapping[TaskKind, Handler]:
    """The handlers of what may be done early: whoever settles expires items himself, and waits for no others' time."""
    return {kind: handler for kind, handler in handlers(context).items() if kind not in AT_THEIR_TIME}


def able_kinds(tools: Tools) -> frozenset[TaskKind]:
    """What this engine can do: without a model, what needs one is left waiting; so is what the settings turn off."""
    unable = frozenset() if tools.llm else EXTRACTION
    if tools.config.observations.mode is ObservationMode.OFF:
        unable |= {TaskKind.OBSERVE}
    if tools.model is None:
        unable |= {TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return frozenset(_HANDLERS) - unable


def model_kinds(tools: Tools) -> frozenset[TaskKind]:
    """What this engine does by asking its model."""
    asking = EXTRACTION if tools.llm else frozenset[TaskKind]()
    if tools.model and tools.config.observations.mode is ObservationMode.AUTO:
        asking |= {TaskKind.OBSERVE}
    if tools.model:
        asking |= {TaskKind.MERGE_BACKGROUND, TaskKind.REFRESH_MODEL, TaskKind.REINFORCE}
    return asking


async def _extract(context: BankContext, task: Task) -> Settled:
    llm = context.tools.llm
    if llm is None:
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass model= to open().")
    await context.tools.workers.write(context.claim_embedder)
    return await extract_waiting(task, llm, context.retain_tools())


async def _observe(context: BankContext, task: Task) -> Settled:
    await context.tools.workers.write(context.claim_embedder)
    return await observe(task, context.observation_tools())


async def _merge(context: BankContext, task: Task) -> Settled:
    return await merge_waiting(task, context.background_tools())


async def _refresh(context: BankContext, task: Task) -> Settled:
    return await refresh_waiting(task, await mental_model_tools(context))


async def _reinforce(context: BankContext, task: Task) -> Settled:
    model = context.tools.model
    if model is None:
        raise InvalidRequest("task", f"{task.kind} needs a model", "Pass model= to open().")
    await context.tools.workers.write(context.claim_embedder)
    return await reinforce(task, context.opinion_tools(model))


async def _expire(context: BankContext, task: Task) -> Settled:
    tools = context.tools

    def expire() -> None:
        now = tools.clock.now()
        tools.ledger.items.expire(context.name, now, [task.claim])
        context.catch_up()
        scrub_many(context)

    await tools.workers.write(expire)
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
