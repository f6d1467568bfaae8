"""Detect stale mental models, and refresh them on request or as a task, by answering their questions again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.indexes.bank_view import BankView, Projector
from hindsight_integrations.indexes.columns import in_groups
from hindsight_integrations.indexes.named_entities import named_in
from hindsight_integrations.language.language import Language
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.entities import Entity, EntityType
from hindsight_integrations.model.mental_models import MentalModel, ModelAnswer, ModelState, RefreshWrite
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import RecallQuery, ReflectQuery, TagLeaf, TagOr, TagsMatch
from hindsight_integrations.model.results import NO_USAGE, RecallResult, Settled, Usage, with_usage
from hindsight_integrations.model.tasks import Task, TaskClaim
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.units import OBSERVED_NETWORKS, UnitKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.reflect.answer import shortened
from hindsight_integrations.reflect.citations import Ground, completed_grounds
from hindsight_integrations.reflect.context import RECORD_TOKENS, Recall, ReflectContext, no_mental_models
from hindsight_integrations.reflect.pipeline import reflect
from hindsight_integrations.services import Services

# maximum number of changed facts to compare; with more, the mental model counts as stale (chosen by hand)
MOST_LOOKED_AT = 2_000


def scope(tags: Sequence[str]) -> TagOr:
    """Return the filter for memories a mental model may use: those with exactly its tags, or untagged."""
    return TagOr((TagLeaf(tuple(tags), TagsMatch.EXACT), TagLeaf((), TagsMatch.EXACT)))


def changed_in_scope(
    model: MentalModel,
    about: Sequence[Vector],
    view: BankView,
    languages: Sequence[Language],
    *,
    floor: float,
) -> bool:
    """Check whether relevant facts in a mental model's scope were added or changed since its last check.

    A fact is relevant if its cosine with the model's question or text reaches `floor`, or if it shares a named entity with the
    question or with a fact that the text is based on.

    `about` has the unit vectors (dimension,) of the question and, if it has been answered, of the text.
    """
    changed = view.ledger.mental_models.changed_facts(view.bank, model.checked_to, MOST_LOOKED_AT + 1)
    if len(changed) > MOST_LOOKED_AT:
        return True
    changed = changed[view.columns.allowed(changed, in_groups(view.columns, [scope(model.tags)]))]
    if not len(changed):
        return False
    # A fact without a vector has the cosine NaN and is not near.
    near = any((view.scorer.similarities(vector, changed) >= floor).any() for vector in about)
    return near or _share_a_name(model, changed, view, languages)


def _share_a_name(
    model: MentalModel, changed: IntArray, view: BankView, languages: Sequence[Language]
) -> bool:
    """Check whether a changed fact shares an entity, other than a hub, with the question or the facts the text is based on."""
    grounds = np.array(list(view.ledger.units.row_ids(view.bank, model.based_on).values()), np.int64)
    own = np.union1d(named_in(model.question, view, languages).rows, _mentioned(grounds, view))
    return bool(np.intersect1d(np.setdiff1d(own, view.hubs), _mentioned(changed, view)).size)


def _mentioned(ids: IntArray, view: BankView) -> IntArray:
    """Return row ids of the entities these units mention, except concepts, which are not names."""
    by_id: dict[str, Entity] = {
        entity.id: entity
        for entities in view.ledger.entities.of_units(view.bank, ids).values()
        for entity in entities
        if entity.type != EntityType.CONCEPT
    }
    rows = view.ledger.entities.row_ids(view.bank, list(by_id))
    return np.fromiter(rows.values(), np.int64, len(rows))


READ_TOKENS = 4_096  # token budget of the recalled memories; the default of `reflect`


@dataclass(frozen=True, slots=True)
class RefreshedAnswer:
    """An answer to a mental model's question.

    Attributes:
        answer: the answer to store.
        read: ids of all facts shown to the model.
        usage: cost of the model calls.
    """

    answer: ModelAnswer
    read: tuple[str, ...]
    usage: Usage = NO_USAGE


async def answer_question(model: MentalModel, now: datetime, context: ReflectContext) -> RefreshedAnswer:
    """Answer a mental model's question from the facts in its scope, without using mental models or forming opinions.

    Without a language model the text quotes the matching records, or else the best facts. If memory has no answer, the text
    is empty.

    Raises:
        ModelError: the model failed.
    """
    query = ReflectQuery(
        recall=RecallQuery(
            text=model.question,
            query_timestamp=now,
            max_tokens=READ_TOKENS if context.services.model else model.max_tokens,
            types=OBSERVED_NETWORKS,
            tags=model.tags,
            tag_groups=(scope(model.tags),),
            record_tokens=RECORD_TOKENS,
        ),
        max_answer_tokens=model.max_tokens,
        form_opinions=False,
    )
    fact_context = replace(
        context,
        recall=_facts_alone(context.recall),
        mental_models=no_mental_models,
    )
    reflection = await reflect(query, fact_context)
    record_ids = [each for digest in reflection.records for each in digest.unit_ids]
    read = tuple(dict.fromkeys((*(item.unit.id for item in reflection.recalled.units), *record_ids)))
    known = (reflection.sufficient or reflection.extractive) and bool(reflection.units or record_ids)
    quoted = [each.text for each in reflection.records] or [item.text for item in reflection.units]
    text = "\n".join(quoted) if reflection.extractive else reflection.text
    text, _ = shortened(text, model.max_tokens, context.services.tokens)
    answer = ModelAnswer(
        text=text if known else "",
        extractive=known and reflection.extractive,
        based_on=_grounds(model.question, reflection, context.services.languages) if known else (),
        refreshed_at=now,
    )
    usage = Usage(reflection.tokens_in, reflection.tokens_out, calls=reflection.calls)
    return RefreshedAnswer(answer, read, usage)


def _grounds(question: str, reflection: Reflection, languages: Sequence[Language]) -> tuple[str, ...]:
    """Return ids of the facts the answer is based on, including facts it used without citing them."""
    cited = [Ground(item.text, (item.unit.id,)) for item in reflection.units]
    shown = [Ground(item.text, (item.unit.id,)) for item in reflection.recalled.units]
    cited += [Ground(digest.text, digest.unit_ids) for digest in reflection.records]
    return completed_grounds(reflection.text, [*cited, Ground(question)], shown, languages)


def _facts_alone(recall: Recall) -> Recall:
    """Wrap a recall to return only world and experience memories, without opinions, observations and unprocessed turns."""

    async def facts(query: RecallQuery) -> RecallResult:
        types = tuple(kind for kind in OBSERVED_NETWORKS if kind in query.types)
        if not types:
            return RecallResult((), 0, query=query)
        found = await recall(replace(query, types=types, entity_tokens=0))
        return replace(found, units=tuple(item for item in found.units if item.unit.kind is UnitKind.MEMORY))

    return facts


ATTEMPTS = 3  # maximum number of answers in one run, if facts change during the run


async def refresh_waiting(task: Task, context: ReflectContext) -> Settled:
    """Refresh a task's mental model if facts in its scope changed; commit the answer and complete the task together.

    Raises:
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts used for the answer changed during every try.
        TaskClosed: the task was finished by another worker, or the model was deleted; nothing was written.
    """
    async with context.projector.viewing() as view:
        looked_at = await context.services.workers.read(_looked_at, task.key, view, context)
    if looked_at is not None:
        await context.services.workers.write(_commit, looked_at, (task.claim,), context.projector)
        return Settled()
    return await refresh(task.key, context, completing=(task.claim,))


async def refresh(
    model_id: str, context: ReflectContext, *, completing: tuple[TaskClaim, ...] = ()
) -> Settled:
    """Answer a mental model's question again and store the answer, even an empty one; store nothing if the model was deleted.

    Raises:
        ModelError: the model or the embedder is unavailable; nothing was written.
        RevisionConflict: facts used for the answer changed during every try.
        TaskClosed: a task was finished by another worker; nothing was written.
    """
    spent = Settled()
    for attempt in range(ATTEMPTS):
        # The revision of the indexes: the ledger's may be newer, and facts not indexed yet would never be checked.
        async with context.projector.viewing() as view:
            revision = view.revision
        model = await context.services.workers.read(_known, model_id, context.projector)
        if model is None:
            gone = RefreshWrite(model_id, revision)
            await context.services.workers.write(_commit, gone, completing, context.projector)
            return spent
        made = await answer_question(model, as_utc(context.services.clock.now()), context)
        spent = with_usage(spent, made.usage)
        write = RefreshWrite(model_id, revision, made.answer, made.read)
        try:
            kept = await context.services.workers.write(_commit, write, completing, context.projector)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        return replace(spent, refreshed=int(kept))
    raise AssertionError("unreachable: the loop returns or raises")


def with_staleness(model: MentalModel, view: BankView, services: Services) -> MentalModel:
    """Return the model, marked stale if facts in its scope changed since its last answer; embeds question and text."""
    if model.refreshed_at is None or model.withdrawn:
        return model
    question = services.vectors.of_questions([model.question], services.embedder)
    text = services.vectors.of_texts([model.text] if model.text else [], services.embedder)
    languages, floor = services.languages, services.embedder.identity.thresholds.channel_floor
    return replace(model, stale=changed_in_scope(model, [*question, *text], view, languages, floor=floor))


def _looked_at(model_id: str, view: BankView, context: ReflectContext) -> RefreshWrite | None:
    """Return a write that marks the model as checked; None if the model must be refreshed or does not exist."""
    model = _known(model_id, context.projector)
    if model is None or with_staleness(model, view, context.services).state not in _UP_TO_DATE:
        return None
    return RefreshWrite(model_id, view.revision)


_UP_TO_DATE = frozenset({ModelState.CURRENT, ModelState.NOTHING_KNOWN})


def _known(model_id: str, projector: Projector) -> MentalModel | None:
    models = projector.ledger.mental_models.all(projector.name)
    return next((model for model in models if model.id == model_id), None)


def _commit(write: RefreshWrite, completing: tuple[TaskClaim, ...], projector: Projector) -> bool:
    """Store the outcome of a refresh and complete the tasks; return False if the model was deleted."""
    bank = projector.name
    with projector.ledger.transaction(bank) as transaction:
        there = any(model.id == write.model_id for model in transaction.mental_models.all(bank))
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
