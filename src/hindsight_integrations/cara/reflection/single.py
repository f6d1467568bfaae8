"""Reflect by one recall and one model call (paper section 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hindsight_integrations.cara.reflection.citations import (
    References,
    Shown,
    citations,
    reference_faults,
    references,
)
from hindsight_integrations.cara.reflection.length import shortened
from hindsight_integrations.cara.reflection.memories import recalled_tiers
from hindsight_integrations.cara.reflection.opinions import (
    Answered,
    formed_with,
    opinion_problems,
    read_opinions,
)
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.cara.reflection.without_model import nothing_known
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.reflections import MemoryTiers, Reflection
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.answer import Answer, Asked, answer_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.prompts.typed_answer import OUTPUT


async def answered_at_once(query: ReflectQuery, model: LanguageModel, tools: ReflectTools) -> Reflection:
    """Answer a question from what one recall finds, in tiers, and form the opinions the answer puts forward.

    An answer that is unsound is asked for again; what is sound of the last one is kept.

    Raises:
        MalformedOutput: nothing the model wrote can be read as an answer, repairs included.
        ModelUnavailable: it could not be reached.
    """
    revision = await tools.revision()
    tiers = await recalled_tiers(query.recall, tools)
    answered = await answered_from(tiers, query, model, tools)
    if answered.reflection.extractive:
        return answered.reflection
    return await formed_with(answered, query, tools, revision=revision)


async def answered_from(
    tiers: MemoryTiers, query: ReflectQuery, model: LanguageModel, tools: ReflectTools
) -> Answered:
    """The answer to a question from what recall found, by one call; its opinions are not formed yet.

    Args:
        tiers: what was recalled; with nothing in it the answer says so.
        query: the question.
        model: who answers.
        tools: of the reflection.

    Raises:
        MalformedOutput: nothing the model wrote can be read as an answer, repairs included.
        ModelUnavailable: it could not be reached.
    """
    if not known(tiers):
        return Answered(nothing_known(tiers.recalled))
    check = AnswerCheck(query, Shown.of(tiers), tools)
    asked = Asked(query.recall.text, query.recall.query_timestamp, query.context)
    prompt = answer_prompt(
        asked,
        tiers,
        tools.profile,
        await tools.directives(query.recall),
        max_answer_tokens=query.max_answer_tokens,
        output=query.response_schema,
    )
    done = await complete_with_repair(model, prompt, check=check.problems)
    if done.last is None:
        raise MalformedOutput(
            model.name, "", done.problem, tokens_in=done.tokens_in, tokens_out=done.tokens_out
        )
    answer, found = done.last, check.cited(done.last)
    text, notes = shortened(answer.text, query.max_answer_tokens, tools.tokens)
    reflection = Reflection(
        text=text,
        units=found.units,
        extractive=False,
        recalled=tiers.recalled,
        based_on=await citations(found, tools),
        structured=getattr(answer, OUTPUT, None),
        sufficient=answer.sufficient and not (found.none and not tiers.recalled.records),
        mental_models=tuple(each.id for each in tiers.mental_models),
        calls=done.tries,
        tokens_in=done.tokens_in,
        tokens_out=done.tokens_out,
        notes=notes,
    )
    return Answered(reflection, read_opinions(answer.opinions, check.shown, query, tools))


def known(tiers: MemoryTiers) -> bool:
    """Whether there is anything to answer from."""
    tiered = tiers.observations or tiers.facts or tiers.mental_models or tiers.beliefs
    return bool(tiered or tiers.recalled.records)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Checks the answers to one question.

    Attributes:
        query: the question.
        shown: what the model was shown.
        tools: of the reflection.
    """

    query: ReflectQuery
    shown: Shown
    tools: ReflectTools

    def problems(self, answer: Answer) -> str:
        """What is wrong with an answer, in words for the model; "" if nothing is."""
        return "; ".join(self._problems(answer))

    def cited(self, answer: Answer) -> References:
        """What an answer stands on."""
        return references(answer.based_on, self.shown)

    def _problems(self, answer: Answer) -> Iterator[str]:
        found = self.cited(answer)
        yield from reference_faults(found, self.shown)
        if answer.sufficient and found.none and (self.shown.memories or self.shown.models):
            yield "it names no memory it stands on; name them in based_on, or set sufficient to false"
        (size,) = self.tools.tokens.count([answer.text])
        if size > self.query.max_answer_tokens:
            yield f"its text has {size} tokens, and at most {self.query.max_answer_tokens} are allowed; say it shorter"
        if self.query.form_opinions:
            for number, opinion in enumerate(answer.opinions, 1):
                for fault in opinion_problems(opinion, self.shown, self.query, self.tools.languages):
                    yield f"opinion {number}: {fault}"
