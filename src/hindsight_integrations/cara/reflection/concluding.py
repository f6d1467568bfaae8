"""From a written answer to a reflection: what it cites, its typed form, its opinions (paper section A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hindsight_integrations.cara.reflection.citations import References, Shown, citations, references
from hindsight_integrations.cara.reflection.length import shortened
from hindsight_integrations.cara.reflection.opinions import Answered, opinion_problems, read_opinions
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers, Reflection, ReflectStep
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.answered_opinions import AnsweredOpinion
from hindsight_integrations.prompts.form_opinions import AnsweredOpinions, form_opinions_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.prompts.typed_answer import typed_answer_prompt


@dataclass(slots=True)
class Written:
    """An answer as a model wrote it, and what that took.

    Attributes:
        text: the answer.
        based_on: numbers it cites.
        sufficient: whether it says that memory had what was asked for.
        steps: tools called for it.
        calls: how often the model was.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
        notes: what a reader should know.
        grounded: it may stand on something that is no memory: what a tool of the caller's gave.
    """

    text: str
    based_on: Sequence[str]
    sufficient: bool
    steps: Sequence[ReflectStep] = ()
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: tuple[str, ...] = ()
    grounded: bool = False

    def count(self, calls: int, tokens_in: int, tokens_out: int) -> None:
        """Add what a further prompt took."""
        self.calls += calls
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


async def concluded(
    written: Written,
    shown: Shown,
    tiers: MemoryTiers,
    *,
    query: ReflectQuery,
    tools: ReflectTools,
) -> Answered:
    """The reflection that an answer makes, its opinions not formed yet: that comes last, so that of one that fails nothing is kept.

    Its typed form and its opinions take a call each.

    Args:
        written: the answer.
        shown: what its writer was shown.
        tiers: what plain recall found.
        query: the question.
        tools: of the reflection.

    Raises:
        MalformedOutput: the model cannot put the answer into the caller's schema.
        ModelError: it failed at that.
    """
    found = references(written.based_on, shown)
    text, notes = shortened(written.text, query.max_answer_tokens, tools.tokens)
    written.text, written.notes = text, (*written.notes, *notes)
    structured = await _typed(written, _cited(found, shown), query, tools.model)
    candidates = await _candidates(written, found, shown, query=query, tools=tools)
    reflection = Reflection(
        text=written.text,
        units=found.units,
        extractive=False,
        recalled=tiers.recalled,
        based_on=await citations(found, tools),
        structured=structured,
        sufficient=written.sufficient
        and not (found.none and not tiers.recalled.records and not written.grounded),
        steps=tuple(written.steps),
        mental_models=tuple(each.id for each in shown.models.values()),
        calls=written.calls,
        tokens_in=written.tokens_in,
        tokens_out=written.tokens_out,
        notes=written.notes,
    )
    return Answered(reflection, read_opinions(candidates, shown, query, tools))


def _cited(found: References, shown: Shown) -> list[tuple[str, RecalledUnit]]:
    """The memories an answer stands on, by the number under which they were shown."""
    ids = {item.unit.id for item in found.units}
    return [(number, item) for number, item in shown.memories.items() if item.unit.id in ids]


async def _typed(
    written: Written,
    memories: Sequence[tuple[str, RecalledUnit]],
    query: ReflectQuery,
    model: LanguageModel | None,
) -> BaseModel | None:
    """The answer in the caller's schema, if there is one."""
    if query.response_schema is None or model is None:
        return None
    prompt = typed_answer_prompt(query.recall.text, written.text, memories, query.response_schema)
    done = await complete_with_repair(model, prompt)
    written.count(done.tries, done.tokens_in, done.tokens_out)
    if done.output is None:
        raise MalformedOutput(
            model.name, "", done.problem, tokens_in=done.tokens_in, tokens_out=done.tokens_out
        )
    return done.output


async def _candidates(
    written: Written, found: References, shown: Shown, *, query: ReflectQuery, tools: ReflectTools
) -> Sequence[AnsweredOpinion]:
    """The opinions that a call of its own finds in an answer; none where none may be formed, or it stands on nothing.

    The answer is whole by now: where the model fails at this, a note says so, and no opinion is formed.
    """
    memories = _cited(found, shown)
    if tools.model is None or tools.opinions is None or not query.form_opinions or not memories:
        return ()

    def problems(answer: AnsweredOpinions) -> str:
        return "; ".join(
            f"opinion {number}: {fault}"
            for number, opinion in enumerate(answer.opinions, 1)
            for fault in opinion_problems(opinion, shown, query, tools.languages)
        )

    prompt = form_opinions_prompt(query.recall.text, written.text, memories)
    try:
        done = await complete_with_repair(tools.model, prompt, check=problems)
    except ModelError as error:
        written.notes = (*written.notes, f"no opinions were looked for: {type(error).__name__}")
        return ()
    written.count(done.tries, done.tokens_in, done.tokens_out)
    if done.last is None:
        written.notes = (*written.notes, "no opinions were formed: what the model wrote cannot be read")
        return ()
    return done.last.opinions
