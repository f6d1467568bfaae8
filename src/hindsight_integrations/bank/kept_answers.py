"""What an answer is given of a bank's mental models and directives, and what keeps mental models up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import numpy as np

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import recalled
from hindsight_integrations.cara.mental_models import MentalModelTools, with_staleness
from hindsight_integrations.cara.tools import ReflectTools
from hindsight_integrations.errors import ModelError
from hindsight_integrations.model.mental_models import MentalModel, in_force
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.ports.arrays import Matrix, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import group_selects, in_groups, tagged, tags_select

MOST_SHOWN = 3  # mental models of one answer (no source)


def nearest(
    query: Vector, models: Sequence[MentalModel], questions: Matrix, texts: Matrix, *, floor: float
) -> tuple[MentalModel, ...]:
    """The models whose question or text is near a question, the nearest first, at most three.

    Args:
        query: the question's vector (dimension,), unit norm.
        models: those that may be shown, n.
        questions: vectors (n, dimension) of their questions.
        texts: vectors (n, dimension) of their texts.
        floor: the least cosine: the semantic channel's, as the embedder has it.
    """
    cosines = np.maximum(questions @ query, texts @ query)
    order = np.argsort(-cosines, kind="stable")[:MOST_SHOWN]
    return tuple(models[place] for place in order if cosines[place] >= floor)


def visible(models: Sequence[MentalModel], query: RecallQuery, view: BankView) -> list[MentalModel]:
    """Those with a text whose own tags and whose every fact pass the question's conditions on tags.

    A text tells of all it stands on, so it may be seen only where all of that may.
    """
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


async def mental_model_tools(bank: BankContext) -> MentalModelTools:
    """What the refreshing of mental models needs."""
    tools = bank.tools
    reflecting = ReflectTools(
        projector=bank,
        workers=tools.workers,
        recall=partial(recalled, bank),
        profile=await profile_of(bank),
        model=tools.model,
        tokens=tools.tokens,
        languages=tools.languages,
        directives=partial(directives_for, bank),
    )
    return MentalModelTools(
        projector=bank,
        embedder=tools.embedder,
        vectors=tools.vectors,
        workers=tools.workers,
        clock=tools.clock,
        reflecting=reflecting,
    )


async def directives_for(bank: BankContext, query: RecallQuery) -> Sequence[str]:
    """The directives that hold for a question, in the order they were given."""
    known = await bank.tools.workers.read(bank.ledger.mental_models.directives, bank.name)
    return tuple(each.text for each in in_force(known, query.tags))


async def mental_models_near(bank: BankContext, query: RecallQuery) -> Sequence[MentalModel]:
    """The mental models an answer is shown, the nearest first, each marked where it may be out of date.

    None of a time that is past: they say what is known now. Where they cannot be compared with the question there are none.
    """
    known = await bank.tools.workers.read(bank.ledger.mental_models.all, bank.name)
    if query.as_of is not None or not any(model.text for model in known):
        return ()
    tools = await mental_model_tools(bank)
    try:
        async with bank.viewing() as view:
            return await bank.tools.workers.read(_near, known, query, view, tools)
    except ModelError as error:
        logger.warning(
            "bank %r: its mental models are not shown, the embedder failed: %s",
            bank.name,
            type(error).__name__,
        )
        return ()


def _near(
    known: Sequence[MentalModel], query: RecallQuery, view: BankView, tools: MentalModelTools
) -> tuple[MentalModel, ...]:
    models = visible(known, query, view)
    if not models:
        return ()
    (asked,) = tools.vectors.of_questions([query.text], tools.embedder)
    questions = tools.vectors.of_questions([model.question for model in models], tools.embedder)
    texts = tools.vectors.of_texts([model.text for model in models], tools.embedder)
    floor = tools.embedder.identity.thresholds.channel_floor
    shown, left = [], round(query.max_tokens * MODEL_SHARE)
    for model in nearest(asked, models, questions, texts, floor=floor):
        (cost,) = tools.reflecting.tokens.count([model.text])
        if cost <= left:
            shown.append(with_staleness(model, view, tools))
            left -= cost
    return tuple(shown)
