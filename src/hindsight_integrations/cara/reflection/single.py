"""Reflect by one recall and one model call (paper section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.cara.reflection.memories import recalled_tiers
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.cara.reflection.without_model import extractive
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import Citation, Reflection
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.answer import answer_prompt


async def answered_at_once(query: ReflectQuery, model: LanguageModel, tools: ReflectTools) -> Reflection:
    """Answer a question from what one recall finds, in tiers.

    Raises:
        ModelError: the model failed; nothing was changed.
    """
    tiers = await recalled_tiers(query.recall, tools)
    shown = (*tiers.observations, *tiers.facts)
    if not shown:
        return extractive(tiers.recalled)
    done = await model.complete(answer_prompt(query.recall.text, shown, tools.profile))
    stands_on = cited(done.output.based_on, shown)
    return Reflection(
        text=done.output.text,
        units=stands_on,
        extractive=False,
        recalled=tiers.recalled,
        based_on=tuple(Citation(item) for item in stands_on),
        calls=1,
        tokens_in=done.tokens_in,
        tokens_out=done.tokens_out,
    )


def cited(ids: Sequence[str], units: Sequence[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    """The recalled units among the ids a model cited, in recall's order; ids it made up are not evidence."""
    named = set(ids)
    return tuple(item for item in units if item.unit.id in named)
