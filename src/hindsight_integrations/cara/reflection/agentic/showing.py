"""Results of tools in lines, numbered on, within the tokens of one result."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.cara.reflection.agentic.tool import Bench, ToolResult
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.prompts.memories import memory_line

MOST_LISTED = 100  # memories of one complete listing: more is to be asked for in parts
NOTHING = "Nothing was found."


def shown_units(units: Sequence[RecalledUnit], total: int, bench: Bench) -> ToolResult:
    """Memories as a result, as many as fit.

    Args:
        units: in the order in which they are shown.
        total: how many match in all.
        bench: what they are numbered on, and the tokens.
    """
    kept = fitting(units, bench)
    lines = tuple(memory_line(bench.numbers.memory(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), total))


def fitting(units: Sequence[RecalledUnit], bench: Bench) -> list[RecalledUnit]:
    """The first of the memories, as many as the tokens of a result hold, at least one."""
    kept: list[RecalledUnit] = []
    left = bench.max_tokens
    for item in units:
        left -= item.tokens
        if kept and left < 0:
            break
        kept.append(item)
    return kept


def note_on(shown: int, total: int) -> str:
    """What is to be said of a result that may not be all of it."""
    if not total:
        return NOTHING
    if shown < total:
        return f"These are the first {shown} of {total}. Narrow the question or the days for the rest."
    return ""
