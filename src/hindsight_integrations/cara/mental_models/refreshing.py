"""Answering a mental model's question anew, asked for or as a task: read, answer, and keep the answer in one commit."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.cara.mental_models.answering import answered
from hindsight_integrations.cara.mental_models.staleness import changed_in_scope
from hindsight_integrations.cara.mental_models.tools import MentalModelTools
from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.model.mental_models import MentalModel, ModelState, RefreshWrite
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, TaskClaim
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.search.bank_view import BankView, Projector

ATTEMPTS = 3  # answers made anew because a fact changed meanwhile


async def refresh_waiting(task: Task, tools: MentalModelTools) -> Settled:
    """Refresh the mental model a task names, if anything in its scope changed; the answer and the task's end are one commit.

    Raises:
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts it was answered from changed at every try.
        TaskClosed: somebody else finished the task meanwhile, or the model was deleted; nothing was written.
    """
    async with tools.projector.viewing() as view:
        looked_at = await tools.workers.read(_looked_at, task.key, view, tools)
    if looked_at is not None:
        await tools.workers.write(_commit, looked_at, (task.claim,), tools.projector)
        return Settled()
    return await refresh(task.key, tools, completing=(task.claim,))


async def refresh(
    model_id: str, tools: MentalModelTools, *, completing: tuple[TaskClaim, ...] = ()
) -> Settled:
    """Answer a mental model's question anew and keep the answer, whatever it was.

    Args:
        model_id: of the model; of one that is there no more nothing is kept.
        tools: the engine's.
        completing: leases of the tasks whose outcome this is.

    Raises:
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts it was answered from changed at every try.
        TaskClosed: a task was finished by somebody else meanwhile; nothing was written.
    """
    spent = Settled()
    for attempt in range(ATTEMPTS):
        # Of what searches find, not of the ledger, which may be ahead of them: else a fact could be missed for good.
        async with tools.projector.viewing() as view:
            revision = view.revision
        model = await tools.workers.read(_known, model_id, tools.projector)
        if model is None:
            gone = RefreshWrite(model_id, revision)
            await tools.workers.write(_commit, gone, completing, tools.projector)
            return spent
        made = await answered(model, as_utc(tools.clock.now()), tools.reflecting)
        spent = replace(
            spent,
            tokens_in=spent.tokens_in + made.tokens_in,
            tokens_out=spent.tokens_out + made.tokens_out,
        )
        write = RefreshWrite(model_id, revision, made.answer, made.read)
        try:
            kept = await tools.workers.write(_commit, write, completing, tools.projector)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return replace(spent, refreshed=int(kept))
    raise AssertionError("unreachable: the loop returns or raises")


def with_staleness(model: MentalModel, view: BankView, tools: MentalModelTools) -> MentalModel:
    """The model, marked where memories in its scope changed since it was answered; embeds its question and its text."""
    if model.refreshed_at is None or model.withdrawn:
        return model
    question = tools.vectors.of_questions([model.question], tools.embedder)
    text = tools.vectors.of_texts([model.text] if model.text else [], tools.embedder)
    languages, floor = tools.reflecting.languages, tools.embedder.identity.thresholds.channel_floor
    return replace(model, stale=changed_in_scope(model, [*question, *text], view, languages, floor=floor))


def _looked_at(model_id: str, view: BankView, tools: MentalModelTools) -> RefreshWrite | None:
    """How far a model was looked at, if there is nothing to refresh; None if there is, or no such model."""
    model = _known(model_id, tools.projector)
    if model is None or with_staleness(model, view, tools).state not in _UP_TO_DATE:
        return None
    return RefreshWrite(model_id, view.revision)


_UP_TO_DATE = frozenset({ModelState.CURRENT, ModelState.NOTHING_KNOWN})


def _known(model_id: str, projector: Projector) -> MentalModel | None:
    models = projector.ledger.mental_models(projector.name)
    return next((model for model in models if model.id == model_id), None)


def _commit(write: RefreshWrite, completing: tuple[TaskClaim, ...], projector: Projector) -> bool:
    """Keep what became of looking at a model, with the end of the tasks; False if the model was deleted meanwhile.

    Raises:
        RevisionConflict: a fact that was read changed since; nothing was written.
        TaskClosed: a task was finished by somebody else meanwhile; nothing was written.
    """
    bank = projector.name
    with projector.ledger.transaction(bank) as transaction:
        there = any(model.id == write.model_id for model in transaction.mental_models(bank))
        writes = WriteSet(
            bank,
            transaction.feed.revision,
            refreshed=write if there else None,
            completed_tasks=completing,
        )
        transaction.commit(writes)
    if completing:
        projector.catch_up()
    return there
