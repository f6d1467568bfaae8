"""Write the answer in one call, check it, and turn a written answer into a reflection (paper sections 6.1 and A.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from hindsight_integrations.cara.citations import (
    References,
    Shown,
    citations,
    reference_faults,
    references,
)
from hindsight_integrations.cara.memories import recalled_tiers
from hindsight_integrations.cara.opinions.answered import (
    Answered,
    formed_with,
    opinion_problems,
    read_opinions,
)
from hindsight_integrations.cara.tools import ReflectTools
from hindsight_integrations.cara.without_model import nothing_known
from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers, Reflection, ReflectStep
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.prompts.answer import Answer, Asked, answer_prompt
from hindsight_integrations.prompts.answered_opinions import AnsweredOpinion
from hindsight_integrations.prompts.form_opinions import AnsweredOpinions, form_opinions_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.prompts.typed_answer import OUTPUT, typed_answer_prompt

_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*(?=\s)|\n")


def shortened(text: str, most: int, tokens: TokenCounter) -> tuple[str, tuple[str, ...]]:
    """The text, cut at the last end of a sentence within a budget where it is over it; and a note of that, if it was.

    Where not even the first sentence fits it is cut between two words.

    Args:
        text: an answer.
        most: tokens it may have.
        tokens: counts them.
    """
    (size,) = tokens.count([text])
    if size <= most:
        return text, ()
    ends = [match.end() for match in _END.finditer(text)] or []
    kept = _longest(text, ends, most, tokens) or _longest(
        text, [match.start() for match in re.finditer(r"\s", text)], most, tokens
    )
    note = f"the answer had {size} tokens, over max_answer_tokens={most}: it ends where it was cut"
    return kept, (note,)


def _longest(text: str, ends: list[int], most: int, tokens: TokenCounter) -> str:
    """The longest beginning up to one of these places that fits; "" if none does."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        (size,) = tokens.count([text[: ends[middle]].rstrip()])
        low, high = (middle + 1, high) if size <= most else (low, middle)
    return text[: ends[low - 1]].rstrip() if low else ""


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
