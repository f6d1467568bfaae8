"""Background merging, h' = Merge(h, h_new) (paper eq. 27): by a model whose answer is checked, or by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.background import joined, merged_by_rule, own_sentences
from hindsight_integrations.cara.background_check import MergeCheck, plain
from hindsight_integrations.errors import BackgroundRefused
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.merge_background import merge_background_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.text.language import Language


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged background.

    Attributes:
        background: whole, in the first person, under 500 characters.
        tokens_in: prompt tokens the model reported; 0 where none was asked.
        tokens_out: completion tokens it reported.
    """

    background: str
    tokens_in: int = 0
    tokens_out: int = 0


async def merged(
    current: str, snippet: str, languages: Sequence[Language], *, name: str, model: LanguageModel | None
) -> Merged:
    """The background with a snippet merged in.

    A model is asked where there is something to merge. What it answers is used only if nothing of the two is lost, added or
    contradicted; else the last answer is mended by rule where that is safe, else the merge is done by rule.

    Args:
        current: the background; may be empty.
        snippet: what is said about the agent, in any grammatical person.
        languages: of the bank, the likeliest first.
        name: the agent's; may be empty.
        model: None where there is none.

    Raises:
        BackgroundRefused: neither the model nor a rule could merge the two, or not in under 500 characters.
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
    """
    ruled = _by_rule(current, snippet, languages, name)
    told = own_sentences(current, languages, name=name)
    if isinstance(ruled, str) and (not told or ruled == joined(told)):
        return Merged(ruled)  # the first, or nothing new
    if model is None:
        return Merged(_decided(ruled))
    check = MergeCheck(current, snippet, languages, name)
    prompt = merge_background_prompt(told, own_sentences(snippet, languages, name=name))
    answered = await complete_with_repair(model, prompt, check=check.problem)
    if answered.output is not None:
        background: str | None = plain(answered.output.background)
    else:
        background = check.mended(answered.last) if answered.last is not None else None
    return Merged(background or _decided(ruled), answered.tokens_in, answered.tokens_out)


def _by_rule(current: str, snippet: str, languages: Sequence[Language], name: str) -> str | BackgroundRefused:
    """The two merged by rule, or why not."""
    try:
        return merged_by_rule(current, snippet, languages, name=name)
    except BackgroundRefused as refused:
        return refused


def _decided(ruled: str | BackgroundRefused) -> str:
    """What the rules made.

    Raises:
        BackgroundRefused: they made nothing.
    """
    if isinstance(ruled, BackgroundRefused):
        raise ruled
    return ruled
