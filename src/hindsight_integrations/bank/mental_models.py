"""`bank.mental_models`: standing questions with stored answers; `bank.directives`: rules for answers."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import recalled
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, ModelError, shown
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import group_selects, in_groups, tagged, tags_select
from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.mental_models import Directive, MentalModel, RefreshTrigger, in_force
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.reflect.context import ReflectContext
from hindsight_integrations.reflect.mental_models import refresh, with_staleness
from hindsight_integrations.services import Services
from hindsight_integrations.validation.limits import (
    MAX_DIRECTIVE,
    MAX_DIRECTIVES,
    MAX_MENTAL_MODELS,
    MAX_MODEL_TOKENS,
    MAX_QUERY,
    checked_count,
    checked_id,
    checked_name,
    checked_tags,
    checked_text,
)

MOST_SHOWN = 3  # mental models of one answer (no source)


def nearest(
    query: Vector, models: Sequence[MentalModel], questions: Matrix, texts: Matrix, *, floor: float
) -> tuple[MentalModel, ...]:
    """The models whose question or text is near the query, the nearest first, at most three.

    Args:
        query: the question's vector (dimension,), unit norm.
        models: those that may be shown, n.
        questions: vectors (n, dimension) of their questions.
        texts: vectors (n, dimension) of their texts.
        floor: lowest cosine; the embedder's threshold for the semantic channel.
    """
    cosines = np.maximum(questions @ query, texts @ query)
    order = np.argsort(-cosines, kind="stable")[:MOST_SHOWN]
    return tuple(models[place] for place in order if cosines[place] >= floor)


def visible(models: Sequence[MentalModel], query: RecallQuery, view: BankView) -> list[MentalModel]:
    """The models with a text that the query's tags may see: its own tags and those of every source fact pass."""
    own = [model for model in models if model.text and _passes(frozenset(model.tags), query)]
    rows = view.ledger.units.row_ids(view.bank, sorted({unit for model in own for unit in model.based_on}))
    columns = view.columns
    mask = tagged(columns, query.tags, query.tags_match) & in_groups(columns, query.tag_groups)
    seen = dict(zip(rows, columns.allowed(np.array(list(rows.values()), np.int64), mask), strict=True))
    return [model for model in own if all(seen.get(unit, False) for unit in model.based_on)]


def _passes(tags: frozenset[str], query: RecallQuery) -> bool:
    """As a memory with these tags would."""
    wanted = frozenset(query.tags)
    if (wanted or query.tags_match == "exact") and not tags_select(tags, wanted, query.tags_match):
        return False
    return all(group_selects(tags, group) for group in query.tag_groups)


MODEL_SHARE = 0.5  # of an answer's token budget, at most: the facts must have room beside them

logger = logging.getLogger("hindsight_integrations")


async def answering_context(bank: BankContext) -> ReflectContext:
    """The context in which a standing question is answered."""
    return ReflectContext(
        projector=bank,
        services=bank.services,
        profile=await profile_of(bank),
        recall=partial(recalled, bank),
        directives=partial(directives_for, bank),
    )


async def directives_for(bank: BankContext, query: RecallQuery) -> Sequence[str]:
    """The directives that apply to a query, in the order they were added."""
    known = await bank.services.workers.read(bank.ledger.mental_models.directives, bank.name)
    return tuple(each.text for each in in_force(known, query.tags))


async def mental_models_near(bank: BankContext, query: RecallQuery) -> Sequence[MentalModel]:
    """The mental models shown with a query, the nearest first, each marked if it may be out of date.

    There are none with `as_of`, since they tell what is known now, nor if the embedder fails.
    """
    known = await bank.services.workers.read(bank.ledger.mental_models.all, bank.name)
    if query.as_of is not None or not any(model.text for model in known):
        return ()
    services = bank.services
    try:
        async with bank.viewing() as view:
            return await bank.services.workers.read(_near, known, query, view, services)
    except ModelError as error:
        logger.warning(
            "bank %r: its mental models are not shown, the embedder failed: %s",
            bank.name,
            type(error).__name__,
        )
        return ()


def _near(
    known: Sequence[MentalModel], query: RecallQuery, view: BankView, services: Services
) -> tuple[MentalModel, ...]:
    models = visible(known, query, view)
    if not models:
        return ()
    (asked,) = services.vectors.of_questions([query.text], services.embedder)
    questions = services.vectors.of_questions([model.question for model in models], services.embedder)
    texts = services.vectors.of_texts([model.text for model in models], services.embedder)
    floor = services.embedder.identity.thresholds.channel_floor
    shown, left = [], round(query.max_tokens * MODEL_SHARE)
    for model in nearest(asked, models, questions, texts, floor=floor):
        (cost,) = services.tokens.count([model.text])
        if cost <= left:
            shown.append(with_staleness(model, view, services))
            left -= cost
    return tuple(shown)


Directives: TypeAlias = tuple[Directive, ...]  # inside the class `list` is the verb


class AsyncDirectives(BankVerbs):
    """Rules of the operator that `reflect` follows. Memories never become directives."""

    namespace = "directives"

    @writes
    async def add(self, text: str, *, tags: Iterable[str] = ()) -> Directive:
        """Add a rule that answers follow from now on. If it exists with these tags, the existing one is returned.

        Args:
            text: the rule, up to 1,000 characters: "Answer in two sentences at most." It becomes part of the system message,
                so never pass text from untrusted sources.
            tags: it applies to reflections with one of these tags; without tags, to all.

        Raises:
            InvalidRequest: the text is blank or too long, a tag is none, the bank has 50 directives, or the engine was
                opened read-only.
        """
        bank = self._context
        given = Directive(
            id=str(uuid.uuid4()),
            text=checked_text(text, "text", MAX_DIRECTIVE),
            tags=checked_tags(tags),
            created_at=as_utc(bank.services.clock.now()),
        )
        return await bank.services.workers.write(
            bank.ledger.mental_models.add_directive, bank.name, given, most=MAX_DIRECTIVES
        )

    async def list(self) -> Directives:
        """List all directives in the order they were added."""
        bank = self._context
        return tuple(await bank.services.workers.read(bank.ledger.mental_models.directives, bank.name))

    @writes
    async def remove(self, directive_id: str) -> None:
        """Remove a directive.

        Args:
            directive_id: its id, as `list` gives it.

        Raises:
            InvalidRequest: there is none of that id, or the engine was opened read-only.
        """
        bank, wanted = self._context, checked_id(directive_id, "directive_id") or ""
        if not await bank.services.workers.write(
            bank.ledger.mental_models.remove_directive, bank.name, wanted
        ):
            reason = f"there is no directive {shown(directive_id)}"
            raise InvalidRequest("directive_id", reason, "Pass an id that directives.list() gives.")


TEXT_TOKENS = 1_024  # of a mental model's text, unless it is said otherwise

MentalModels: TypeAlias = tuple[MentalModel, ...]  # inside the class `list` is the verb


class AsyncMentalModels(BankVerbs):
    """Standing questions, answered from memory. `reflect` is shown the stored answers near its question first."""

    namespace = "mental_models"

    @writes
    async def create(
        self,
        name: str,
        question: str,
        *,
        tags: Iterable[str] = (),
        trigger: RefreshTrigger | str = RefreshTrigger.MANUAL,
        max_tokens: int = TEXT_TOKENS,
    ) -> MentalModel:
        """Create a standing question. It has no answer until `refresh`, or with trigger "auto" a task, answers it.

        Args:
            name: unique in the bank, one line of up to 200 characters.
            question: up to 8,000 characters.
            tags: visibility tags. It is answered from memories with the same tags or none, and has their visibility.
            trigger: "manual", or "auto": a task answers it again a minute after memories in its scope changed.
            max_tokens: maximum length of its text, 1 to 8,192. Mental models take at most half of a reflection's `max_tokens`.

        Raises:
            InvalidRequest: there is one of that name, the bank has 100, an option is out of range, or the engine was opened
                read-only.
        """
        bank = self._context
        made = MentalModel(
            id=str(uuid.uuid4()),
            name=checked_name(name, "name"),
            question=checked_text(question, "question", MAX_QUERY),
            tags=checked_tags(tags),
            trigger=choice(RefreshTrigger, trigger, "trigger"),
            max_tokens=checked_count(max_tokens, "max_tokens", most=MAX_MODEL_TOKENS),
            created_at=as_utc(bank.services.clock.now()),
        )
        create = bank.ledger.mental_models.create
        await bank.services.workers.write(create, bank.name, made, most=MAX_MENTAL_MODELS)
        return made

    async def get(self, name: str) -> MentalModel:
        """Get one mental model; `state` says whether its text is current.

        Args:
            name: its name, or its id as cited in an answer.

        Raises:
            InvalidRequest: there is none of that name.
            ModelError: as of `list`.
        """
        model = await self._named(name)
        return next(each for each in await self.list() if each.id == model.id)

    async def list(self) -> MentalModels:
        """List all mental models by name, each marked if it may be out of date.

        Raises:
            ModelError: their questions could not be embedded, to be compared with what changed.
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        bank = self._context
        known = await bank.services.workers.read(bank.ledger.mental_models.all, bank.name)
        if not any(model.refreshed_at for model in known):
            return tuple(known)
        services = bank.services
        async with bank.viewing() as view:
            return await bank.services.workers.read(
                lambda: tuple(with_staleness(model, view, services) for model in known)
            )

    @writes
    async def refresh(self, name: str) -> MentalModel:
        """Answer the question of a mental model now and store the answer.

        The answer is made like one of `reflect`, from facts only, and forms no opinions. Without a model the text consists of the
        best memories and is `extractive`. If memory has no answer, the text is empty and `state` is "nothing known".

        Args:
            name: of the mental model.

        Returns:
            The updated model.

        Raises:
            InvalidRequest: there is none of that name, or the engine was opened read-only.
            ModelError: the model or the embedder failed; the text is as it was.
            RevisionConflict: memories it was answered from changed at each of three tries; call it again.
        """
        bank, model = self._context, await self._named(name)
        await bank.services.workers.write(bank.claim_embedder)
        await refresh(model.id, await answering_context(bank))
        return await self.get(name)

    @writes
    async def delete(self, name: str) -> None:
        """Delete a mental model: question, text and task.

        Args:
            name: of the mental model.

        Raises:
            InvalidRequest: there is none of that name, or the engine was opened read-only.
        """
        bank, model = self._context, await self._named(name)
        await bank.services.workers.write(bank.ledger.mental_models.delete, bank.name, model.id)

    async def _named(self, name: object) -> MentalModel:
        """The stored model of that name, without checking whether it is out of date."""
        bank, wanted = self._context, checked_name(name, "name")
        for model in await bank.services.workers.read(bank.ledger.mental_models.all, bank.name):
            if wanted in (model.name, model.id):
                return model
        raise InvalidRequest(
            "name", f"there is no mental model {shown(name)}", "Pass a name that mental_models.list() gives."
        )
