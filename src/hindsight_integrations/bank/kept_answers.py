"""What an answer is given of a bank's mental models and directives, and what keeps mental models up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import recalled
from hindsight_integrations.cara.mental_models.nearest import nearest, visible
from hindsight_integrations.cara.mental_models.refreshing import with_staleness
from hindsight_integrations.cara.mental_models.tools import MentalModelTools
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.errors import ModelError
from hindsight_integrations.model.directives import in_force
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.search.bank_view import BankView

MODEL_SHARE = 0.5  # of an answer's token budget, at most: the facts must have room beside them [decision 134]

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
    known = await bank.tools.workers.read(bank.ledger.directives, bank.name)
    return tuple(each.text for each in in_force(known, query.tags))


async def mental_models_near(bank: BankContext, query: RecallQuery) -> Sequence[MentalModel]:
    """The mental models an answer is shown, the nearest first, each marked where it may be out of date.

    None of a time that is past: they say what is known now. Where they cannot be compared with the question there are none.
    """
    known = await bank.tools.workers.read(bank.ledger.mental_models, bank.name)
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
