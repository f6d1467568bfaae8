"""Reflect without a model: exact figures of the records that the question touches and the best memories, labelled so."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.model.reflections import Citation, Reflection
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.reflect.context import ReflectContext

EXTRACTED = 3  # units an extractive answer quotes
LIKELY_ANSWERED = 0.5  # confidence of a recall from which on the answer is likely there
NOTHING_KNOWN = "Nothing in memory answers this."
NO_MODEL_SET = "No language model is set. What the records say:"
BEST_MEMORIES = "No language model is set. The memories that match the question best:"
NO_MATCH = "No language model is set, and no memory matches the question."
NO_MODEL = "no language model is set: pass `model=` to `Hindsight.open` for a written answer"


async def extracted(recalled: RecallResult, query: RecallQuery, context: ReflectContext) -> Reflection:
    """Exact figures of the records that the question touches, and the best memories.

    Args:
        recalled: that.
        query: the question.
        context: of the reflection.
    """
    found = best_memories(recalled)
    if not recalled.records:
        return found
    figures = "\n\n".join(digest.text for digest in recalled.records)
    entered = dict.fromkeys(each for digest in recalled.records for each in digest.unit_ids)
    standing = await context.reads(query).by_id(list(entered)) if context.reads else ()
    units = tuple({item.unit.id: item for item in (*standing, *found.units)}.values())
    return replace(
        found,
        text=f"{figures}\n\n{found.text}" if found.units else f"{NO_MODEL_SET}\n{figures}",
        units=units,
        based_on=tuple(map(Citation, units)),
        sufficient=True,
    )


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
