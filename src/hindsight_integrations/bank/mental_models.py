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

MOST_SHOWN = 3  # maximum number of mental models shown to the model for an answer; chosen by hand


def nearest(
    query: Vector, models: Sequence[MentalModel], questions: Matrix, texts: Matrix, *, floor: float
) -> tuple[MentalModel, ...]:
    """Return up to three mental models whose question or text is near the query, nearest first.

    Args:
        query: vector of the query (dimension,), unit norm.
        models: the n candidate models.
        questions: vectors of their questions (n, dimension).
        texts: vectors of their texts (n, dimension).
        floor: minimum cosine similarity; the embedder's threshold for semantic search.
    """
    cosines = np.maximum(questions @ query, texts @ query)
    order = np.argsort(-cosines, kind="stable")[:MOST_SHOWN]
    return tuple(models[place] for place in order if cosines[place] >= floor)


def visible(models: Sequence[MentalModel], query: RecallQuery, view: BankView) -> list[MentalModel]:
    """Return the models that have a text and pass the query's tag filter with their own tags and those of every source fact."""
    own = [model for model in models if model.text and _passes(frozenset(model.tags), query)]
    rows = view.ledger.units.row_ids(view.bank, sorted({unit for model in own for unit in model.based_on}))
    columns = view.columns
    mask = tagged(columns, query.tags, query.tags_match) & in_groups(columns, query.tag_groups)
    seen = dict(zip(rows, columns.allowed(np.array(list(rows.values()), np.int64), mask), strict=True))
    return [model for model in own if all(seen.get(unit, False) for unit in model.based_on)]


def _passes(tags: frozenset[str], query: RecallQuery) -> bool:
    """Check whether a memory with these tags would pass the query's tag filter."""
    wanted = frozenset(query.tags)
    if (wanted or query.tags_match == "exact") and not tags_select(tags, wanted, query.tags_match):
        return False
    return all(group_selects(tags, group) for group in query.tag_groups)


MODEL_SHARE = 0.5  # maximum share of an answer's token budget for mental models; the rest is for facts

logger = logging.getLogger("hindsight_integrations")


async def answering_context(bank: BankContext) -> ReflectContext:
    """Return the context in which a mental model's question is answered."""
    return ReflectContext(
        projector=bank,
        services=bank.services,
        profile=await profile_of(bank),
        recall=partial(recalled, bank),
        directives=partial(directives_for, bank),
    )


async def directives_for(bank: BankContext, query: RecallQuery) -> Sequence[str]:
    """Return the directives that apply to a query, in the order they were added."""
    known = await bank.services.workers.read(bank.ledger.mental_models.directives, bank.name)
    return tuple(each.text for each in in_force(known, query.tags))


async def mental_models_near(bank: BankContext, query: RecallQuery) -> Sequence[MentalModel]:
    """Return the mental models to show for a query, nearest first, each marked if it may be out of date.

    Returns none with `as_of`, because the stored answers describe the present, or if the embedder fails.
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
            "bank %r: mental models were omitted because the embedder failed: %s",
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


Directives: TypeAlias = tuple[Directive, ...]  # an alias, because `list` is a method of the class below


class AsyncDirectives(BankVerbs):
    """Rules, set by the operator, that `reflect` follows. Memories never become directives."""

    namespace = "directives"

    @writes
    async def add(self, text: str, *, tags: Iterable[str] = ()) -> Directive:
        """Add a rule for all later answers. If the bank has the same rule with the same tags, return that one.

        Args:
            text: the rule, up to 1,000 characters: "Answer in two sentences at most." It becomes part of the system message,
                so never pass text from untrusted sources.
            tags: tags of the reflections to which the rule applies. A rule without tags applies to all.

        Raises:
            InvalidRequest: the text is blank or too long, a tag is invalid, the bank has 50 directives, or the engine was
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
        """List all directives in the order in which they were added."""
        bank = self._context
        return tuple(await bank.services.workers.read(bank.ledger.mental_models.directives, bank.name))

    @writes
    async def remove(self, directive_id: str) -> None:
        """Remove a directive.

        Args:
            directive_id: id of the directive, from `list`.

        Raises:
            InvalidRequest: no directive has that id, or the engine was opened read-only.
        """
        bank, wanted = self._context, checked_id(directive_id, "directive_id") or ""
        if not await bank.services.workers.write(
            bank.ledger.mental_models.remove_directive, bank.name, wanted
        ):
            reason = f"the bank has no directive {shown(directive_id)}"
            raise InvalidRequest("directive_id", reason, "Pass an id from directives.list().")


TEXT_TOKENS = 1_024  # default limit of a mental model's text in tokens

MentalModels: TypeAlias = tuple[MentalModel, ...]  # an alias, because `list` is a method of the class below


class AsyncMentalModels(BankVerbs):
    """Questions that are answered in advance. `reflect` shows the stored answers to the model for related questions."""

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
        """Create a standing question. `refresh` answers it, or, with trigger "auto", a background task.

        Args:
            name: name of the mental model, unique in the bank; one line of up to 200 characters.
            question: the question, up to 8,000 characters.
            tags: visibility tags of the answer, which is based on memories with exactly these tags and memories without tags.
            trigger: "manual", or "auto": a task answers the question again a minute after memories in its scope change.
            max_tokens: maximum length of the text, 1 to 8,192. Mental models use at most half of a reflection's `max_tokens`.

        Raises:
            InvalidRequest: the name is in use, the bank has 100 mental models, an option is out of range, or the engine was opened
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
        """Get a mental model. Its `state` says whether its text is current.

        Args:
            name: name of the mental model, or its id as cited in an answer.

        Raises:
            InvalidRequest: no mental model has that name.
            ModelError: as in `list`.
        """
        model = await self._named(name)
        return next(each for each in await self.list() if each.id == model.id)

    async def list(self) -> MentalModels:
        """List all mental models by name, each marked if it may be out of date.

        Raises:
            ModelError: the questions could not be embedded for the comparison with changed facts.
            EmbedderMismatch: the bank's vectors were made by another embedder.
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

        The question is answered as in `reflect`, but from facts only and without forming opinions. Without a model, the text is
        the best memories and is marked `extractive`. If memory has no answer, the text is empty and `state` is "nothing known".

        Args:
            name: name of the mental model.

        Returns:
            The updated model.

        Raises:
            InvalidRequest: no mental model has that name, or the engine was opened read-only.
            ModelError: the model or the embedder failed; the stored text is unchanged.
            RevisionConflict: memories used for the answer changed during each of three attempts; call it again.
        """
        bank, model = self._context, await self._named(name)
        await bank.services.workers.write(bank.claim_embedder)
        await refresh(model.id, await answering_context(bank))
        return await self.get(name)

    @writes
    async def delete(self, name: str) -> None:
        """Delete a mental model with its question, text and task.

        Args:
            name: name of the mental model.

        Raises:
            InvalidRequest: no mental model has that name, or the engine was opened read-only.
        """
        bank, model = self._context, await self._named(name)
        await bank.services.workers.write(bank.ledger.mental_models.delete, bank.name, model.id)

    async def _named(self, name: object) -> MentalModel:
        """Return the stored model with this name or id, without checking whether it is out of date."""
        bank, wanted = self._context, checked_name(name, "name")
        for model in await bank.services.workers.read(bank.ledger.mental_models.all, bank.name):
            if wanted in (model.name, model.id):
                return model
        raise InvalidRequest(
            "name", f"the bank has no mental model {shown(name)}", "Pass a name from mental_models.list()."
        )
