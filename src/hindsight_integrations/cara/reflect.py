"""Reflect: recall, then answer with the profile (paper section 5.4.2); without a model, what was recalled, labelled so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.results import RecallResult, Reflection
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.answer import answer_prompt

EXTRACTED = 3  # units an extractive answer quotes
NOTHING_KNOWN = "Nothing in memory answers this."

Recall = Callable[[str], Awaitable[RecallResult]]


async def reflect(
    query: str, recall: Recall, *, profile: BankProfile, model: LanguageModel | None
) -> Reflection:
    """Answer a question from memory, naming the units the answer stands on.

    Raises:
        ModelError: the model failed; nothing was changed.
    """
    recalled = await recall(query)
    if model is None or not recalled.units:
        return extractive(recalled)
    completion = await model.complete(answer_prompt(query, recalled.units, profile))
    return Reflection(
        text=completion.output.text,
        units=cited(completion.output.based_on, recalled.units),
        extractive=False,
        recalled=recalled,
    )


def extractive(recalled: RecallResult) -> Reflection:
    """The best memories as they are: the answer where there is no model to write one."""
    best = recalled.units[:EXTRACTED]
    text = "\n".join(item.text for item in best) or NOTHING_KNOWN
    return Reflection(text=text, units=best, extractive=True, recalled=recalled)


def cited(ids: Sequence[str], units: Sequence[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    """The recalled units among the ids a model cited, in recall's order; ids it made up are not evidence."""
    named = set(ids)
    return tuple(item for item in units if item.unit.id in named)
