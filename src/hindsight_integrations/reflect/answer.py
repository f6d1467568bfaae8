"""Generate an answer in one model call, validate it and build the reflection (paper sections 6.1 and A.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import (
    Citation,
    MemoryTiers,
    OpinionChange,
    Reflection,
    ReflectStep,
)
from hindsight_integrations.model.requests import RecallQuery, ReflectQuery
from hindsight_integrations.model.results import NO_USAGE, RecallResult, Usage
from hindsight_integrations.models.protocols import LanguageModel, TokenCounter
from hindsight_integrations.prompts.answer import Answer, PromptQuestion, answer_prompt
from hindsight_integrations.prompts.answered_opinions import AnsweredOpinion
from hindsight_integrations.prompts.form_opinions import form_opinions_prompt
from hindsight_integrations.prompts.repair import RepairedAnswer, complete_with_repair, malformed
from hindsight_integrations.prompts.typed_answer import OUTPUT, typed_answer_prompt
from hindsight_integrations.reflect.citations import (
    CitationIndex,
    References,
    citations,
    reference_faults,
    references,
)
from hindsight_integrations.reflect.context import ReflectContext
from hindsight_integrations.reflect.opinions.proposed import ProposedOpinion, opinion_problems, read_opinions

EXTRACTED = 3  # maximum number of memories quoted by an extractive answer
LIKELY_ANSWERED = 0.5  # minimum recall confidence at which memory probably contains the answer
NOTHING_KNOWN = "Nothing in memory answers this."
NO_MODEL_SET = "No language model is set. What the records say:"
BEST_MEMORIES = "No language model is set. The memories that match the question best:"
NO_MATCH = "No language model is set, and no memory matches the question."
NO_MODEL = "no language model is set: pass `model=` to `Hindsight.open` for a written answer"


async def extracted(recalled: RecallResult, query: RecallQuery, context: ReflectContext) -> Reflection:
    """Answer without a model: exact figures from the matching records, and the best memories."""
    quoted = best_memories(recalled)
    if not recalled.records:
        return quoted
    figures = "\n\n".join(digest.text for digest in recalled.records)
    record_ids = dict.fromkeys(each for digest in recalled.records for each in digest.unit_ids)
    record_units = await context.reads(query).by_id(list(record_ids)) if context.reads else ()
    units = tuple({item.unit.id: item for item in (*record_units, *quoted.units)}.values())
    return replace(
        quoted,
        text=f"{figures}\n\n{quoted.text}" if quoted.units else f"{NO_MODEL_SET}\n{figures}",
        units=units,
        based_on=tuple(map(Citation, units)),
        sufficient=True,
    )


def best_memories(recalled: RecallResult) -> Reflection:
    """Answer with the best memories verbatim; `sufficient` is set if they are likely to contain the answer."""
    best = recalled.units[:EXTRACTED]
    lines = [BEST_MEMORIES, *(f"- {item.text}" for item in best)] if best else [NO_MATCH]
    return Reflection(
        text="\n".join(lines),
        units=best,
        extractive=True,
        recalled=recalled,
        based_on=tuple(map(Citation, best)),
        sufficient=bool(best) and recalled.confidence >= LIKELY_ANSWERED,
        notes=(NO_MODEL,),
    )


def nothing_known(recalled: RecallResult) -> Reflection:
    """Return the reflection for an empty recall, without calling a model."""
    return Reflection(text=NOTHING_KNOWN, units=(), extractive=True, recalled=recalled, sufficient=False)


_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*(?=\s)|\n")


def shortened(text: str, most: int, tokens: TokenCounter) -> tuple[str, tuple[str, ...]]:
    """Truncate a text that exceeds its token budget, at the end of a sentence or between words; also return a note."""
    (size,) = tokens.count([text])
    if size <= most:
        return text, ()
    ends = [match.end() for match in _END.finditer(text)] or []
    kept = _longest(text, ends, most, tokens) or _longest(
        text, [match.start() for match in re.finditer(r"\s", text)], most, tokens
    )
    note = f"the answer had {size} tokens and was truncated to max_answer_tokens={most}"
    return kept, (note,)


def _longest(text: str, ends: list[int], most: int, tokens: TokenCounter) -> str:
    """Return the longest prefix of a text that fits and ends at one of these positions; empty if there is none."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        (size,) = tokens.count([text[: ends[middle]].rstrip()])
        low, high = (middle + 1, high) if size <= most else (low, middle)
    return text[: ends[low - 1]].rstrip() if low else ""


@dataclass(slots=True)
class WrittenAnswer:
    """A model's answer and its cost.

    Attributes:
        text: the answer.
        based_on: the numbers cited.
        sufficient: whether memory contained the answer, according to the model.
        steps: tools called.
        usage: cost of the model calls.
        notes: notes for the caller.
        grounded: whether the answer may be based on results of the caller's tools, which are not memories.
    """

    text: str
    based_on: Sequence[str]
    sufficient: bool
    steps: Sequence[ReflectStep] = ()
    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()
    grounded: bool = False

    def shorten(self, query: ReflectQuery, context: ReflectContext) -> None:
        """Cut the text to the reflection's token limit, and add a note."""
        self.text, notes = shortened(self.text, query.max_answer_tokens, context.services.tokens)
        self.notes = (*self.notes, *notes)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """An answer whose opinions have not been formed yet.

    Attributes:
        reflection: the answer.
        opinions: the proposed and the refused opinions, in the order of the model's answer.
    """

    reflection: Reflection
    opinions: tuple[ProposedOpinion | OpinionChange, ...] = ()

    @property
    def proposed(self) -> list[ProposedOpinion]:
        """The opinions that may be stored."""
        return [each for each in self.opinions if isinstance(each, ProposedOpinion)]


async def answer_in_one_call(
    tiers: MemoryTiers, query: ReflectQuery, model: LanguageModel, context: ReflectContext
) -> AnsweredQuestion:
    """Answer a question from the recalled memories; one call returns the text, the structured output and the opinions.

    An invalid answer is requested again; if the last answer is still invalid, its valid parts are used. Without memories,
    the model is not called.

    Raises:
        MalformedOutput: no answer could be parsed, even after repairs.
        ModelUnavailable: the model could not be reached.
    """
    if not tiers_hold_anything(tiers):
        return AnsweredQuestion(nothing_known(tiers.recalled))
    index = CitationIndex.of(tiers)
    prompt = answer_prompt(
        PromptQuestion(query.recall.text, query.recall.query_timestamp, query.context),
        tiers,
        context.profile,
        await context.directives(query.recall),
        max_answer_tokens=query.max_answer_tokens,
        output=query.response_schema,
    )
    done = await complete_with_repair(
        model, prompt, check=lambda answer: "; ".join(_answer_problems(answer, index, query, context))
    )
    if (answer := done.last) is None:
        raise unreadable(model, done)
    written = WrittenAnswer(answer.text, answer.based_on, answer.sufficient, usage=done.usage)
    written.shorten(query, context)
    structured = getattr(answer, OUTPUT, None)
    return await _answered(written, structured, answer.opinions, index, tiers, query=query, context=context)


def tiers_hold_anything(tiers: MemoryTiers) -> bool:
    """Check whether anything was recalled."""
    tiered = tiers.observations or tiers.facts or tiers.mental_models or tiers.beliefs
    return bool(tiered or tiers.recalled.records)


def unreadable(model: LanguageModel, done: RepairedAnswer[Any]) -> MalformedOutput:
    """Return the error for a model call in which no attempt could be parsed."""
    return malformed(model.name, done.problem, done.usage)


def _answer_problems(
    answer: Answer, index: CitationIndex, query: ReflectQuery, context: ReflectContext
) -> Iterator[str]:
    """Yield descriptions of an answer's faults, for the model."""
    cited = references(answer.based_on, index)
    yield from reference_faults(cited, index)
    if answer.sufficient and cited.none and (index.memories or index.models):
        yield "it cites no memories; name them in based_on, or set sufficient to false"
    (size,) = context.services.tokens.count([answer.text])
    if size > query.max_answer_tokens:
        yield f"its text has {size} tokens, and at most {query.max_answer_tokens} are allowed; say it shorter"
    if query.form_opinions:
        yield from _opinion_problems(answer.opinions, index, query, context)


def _opinion_problems(
    opinions: Sequence[AnsweredOpinion], index: CitationIndex, query: ReflectQuery, context: ReflectContext
) -> Iterator[str]:
    for number, opinion in enumerate(opinions, 1):
        for fault in opinion_problems(opinion, index, query, context.services.languages):
            yield f"opinion {number}: {fault}"


async def conclude(
    written: WrittenAnswer,
    index: CitationIndex,
    tiers: MemoryTiers,
    *,
    query: ReflectQuery,
    context: ReflectContext,
) -> AnsweredQuestion:
    """Build the reflection from a written answer; the structured output and the opinions take one model call each.

    Raises:
        MalformedOutput: the model could not convert the answer to the caller's schema.
        ModelError: the model failed.
    """
    written.shorten(query, context)
    cited = _cited(references(written.based_on, index), index)
    structured = await _typed(written, cited, query, context.services.model)
    opinions = await _proposed(written, cited, index, query=query, context=context)
    return await _answered(written, structured, opinions, index, tiers, query=query, context=context)


async def _answered(
    written: WrittenAnswer,
    structured: BaseModel | None,
    opinions: Sequence[AnsweredOpinion],
    index: CitationIndex,
    tiers: MemoryTiers,
    *,
    query: ReflectQuery,
    context: ReflectContext,
) -> AnsweredQuestion:
    cited, records = references(written.based_on, index), tiers.recalled.records
    reflection = Reflection(
        text=written.text,
        units=cited.units,
        extractive=False,
        recalled=tiers.recalled,
        based_on=await citations(cited, context),
        structured=structured,
        sufficient=written.sufficient and not (cited.none and not records and not written.grounded),
        steps=tuple(written.steps),
        mental_models=tuple(each.id for each in index.models.values()),
        calls=written.usage.calls,
        tokens_in=written.usage.tokens_in,
        tokens_out=written.usage.tokens_out,
        notes=written.notes,
    )
    return AnsweredQuestion(reflection, read_opinions(opinions, index, query, context))


def _cited(cited_by: References, index: CitationIndex) -> list[tuple[str, RecalledUnit]]:
    """Return the cited memories with their numbers in the prompt."""
    ids = {item.unit.id for item in cited_by.units}
    return [(number, item) for number, item in index.memories.items() if item.unit.id in ids]


async def _typed(
    written: WrittenAnswer,
    memories: Sequence[tuple[str, RecalledUnit]],
    query: ReflectQuery,
    model: LanguageModel | None,
) -> BaseModel | None:
    """Convert the answer to the caller's schema, if the query has one."""
    if query.response_schema is None or model is None:
        return None
    prompt = typed_answer_prompt(query.recall.text, written.text, memories, query.response_schema)
    done = await complete_with_repair(model, prompt)
    written.usage += done.usage
    if done.output is None:
        raise unreadable(model, done)
    return done.output


async def _proposed(
    written: WrittenAnswer,
    cited: Sequence[tuple[str, RecalledUnit]],
    index: CitationIndex,
    *,
    query: ReflectQuery,
    context: ReflectContext,
) -> Sequence[AnsweredOpinion]:
    """Extract the opinions of an answer with a separate call; skip it if opinions are off or nothing is cited.

    If the call fails, keep the answer with a note and return no opinions.
    """
    if context.services.model is None or not query.form_opinions or not cited:
        return ()
    prompt = form_opinions_prompt(query.recall.text, written.text, cited)
    try:
        done = await complete_with_repair(
            context.services.model,
            prompt,
            check=lambda answer: "; ".join(_opinion_problems(answer.opinions, index, query, context)),
        )
    except ModelError as error:
        written.notes = (*written.notes, f"opinions were not extracted: {type(error).__name__}")
        return ()
    written.usage += done.usage
    if done.last is None:
        written.notes = (*written.notes, "opinions were not formed: the model's answer could not be parsed")
        return ()
    return done.last.opinions
