"""opinions: what the agent believes about a matter; never evidence."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import fitting, note_on
from hindsight_integrations.cara.reflection.agentic.tool import Arguments, Bench, MemoryTool, ToolResult
from hindsight_integrations.cara.reflection.reads import ANY_TIME
from hindsight_integrations.model.units import FactType
from hindsight_integrations.prompts.memories import belief_line


class OpinionsArguments(Arguments):
    """On what."""

    query: str = Field(min_length=1, max_length=2_000)


async def opinions(given: OpinionsArguments, bench: Bench) -> ToolResult:
    """The beliefs nearest to a matter. They get marks of their own, which an answer cannot cite."""
    recalled = await bench.reads.recall(
        given.query, types=(FactType.OPINION,), period=ANY_TIME, max_tokens=bench.max_tokens
    )
    found = recalled.units
    kept = fitting(found, bench)
    lines = tuple(belief_line(bench.numbers.belief(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), len(found)))


OPINIONS = MemoryTool("opinions", OpinionsArguments, opinions)
