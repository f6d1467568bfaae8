"""Reflect without a model: what records say, else the best memories as they are, labelled so."""

from __future__ import annotations

from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.model.reflections import Citation, Reflection
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult

EXTRACTED = 3  # units an extractive answer quotes
NOTHING_KNOWN = "Nothing in memory answers this."


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
    if exact is None:
        return extractive(recalled)
    entered = list({entry.memory.id: entry.memory for entry in exact.entries}.values())
    units = await tools.reads(query).standing(entered) if tools.reads else ()
    return Reflection(
        text=exact.text,
        units=units,
        extractive=True,
        recalled=recalled,
        based_on=tuple(map(Citation, units)),
        exact=exact,
    )


def extractive(recalled: RecallResult) -> Reflection:
    """The best memories as they are: the answer where there is no model to write one."""
    best = recalled.units[:EXTRACTED]
    return Reflection(
        text="\n".join(item.text for item in best) or NOTHING_KNOWN,
        units=best,
        extractive=True,
        recalled=recalled,
        based_on=tuple(Citation(item) for item in best),
        sufficient=bool(best),
    )
