"""Reflect without a model: exact figures of records where the question is one for them, else the best memories, labelled so."""

from __future__ import annotations

from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.model.record_answers import RecordAnswer
from hindsight_integrations.model.reflections import Citation, Reflection
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult

EXTRACTED = 3  # units an extractive answer quotes
LIKELY_ANSWERED = 0.5  # confidence of a recall from which on the answer is likely there (decision 052)
NOTHING_KNOWN = "Nothing in memory answers this."
BEST_MEMORIES = "No language model is set. The memories that match the question best:"
NO_MATCH = "No language model is set, and no memory matches the question."
NO_MODEL = "no language model is set: pass `model=` to `Hindsight.open` for a written answer"


async def without_model(query: RecallQuery, tools: ReflectTools) -> Reflection:
    """The exact answer of records where the question is one for them, else the best memories."""
    return await extracted(await tools.recall(query), query, tools)


async def extracted(recalled: RecallResult, query: RecallQuery, tools: ReflectTools) -> Reflection:
    """The same, of what was recalled before.

    Args:
        recalled: that.
        query: the question.
        tools: of the reflection.
    """
    exact = await tools.exact(query)
    if exact is None or not says_something(exact):
        return best_memories(recalled)
    entered = list({entry.memory.id: entry.memory for entry in exact.entries}.values())
    units = await tools.reads(query).standing(entered) if tools.reads else ()
    return Reflection(
        text=exact.text,
        units=units,
        extractive=True,
        recalled=recalled,
        based_on=tuple(map(Citation, units)),
        exact=exact,
        notes=(NO_MODEL,),
    )


def says_something(exact: RecordAnswer) -> bool:
    """Whether records answer: there are some, or there are none of a category that the bank knows in the time asked about.

    That no expense was ever recorded does not say that nothing was bought.
    """
    return bool(exact.entries or (exact.question.categories and exact.question.window))


def best_memories(recalled: RecallResult) -> Reflection:
    """The best memories as they are; sufficient if the answer is likely among them."""
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
    """What a model is not asked to say: memory holds nothing for the question."""
    return Reflection(text=NOTHING_KNOWN, units=(), extractive=True, recalled=recalled, sufficient=False)
