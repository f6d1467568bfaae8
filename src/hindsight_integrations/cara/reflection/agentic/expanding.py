"""expand: the conversation or passage a memory was made from."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from hindsight_integrations.cara.reflection.agentic.showing import NOTHING
from hindsight_integrations.cara.reflection.agentic.tool import (
    Arguments,
    Bench,
    MemoryTool,
    ToolProblem,
    ToolResult,
)
from hindsight_integrations.prompts.reflect_tools import turn_line

LONGEST_PASSAGE = 6_000  # characters shown; a passage has about 3,000


def _bare(given: object) -> object:
    return str(given).strip(" []") if isinstance(given, str | int) else given


class ExpandArguments(Arguments):
    """Which memory."""

    memory: Annotated[str, BeforeValidator(_bare)] = Field(min_length=1, max_length=12)


async def expand(given: ExpandArguments, bench: Bench) -> ToolResult:
    """The turns a memory was made from, or the passage of its document."""
    item = bench.numbers.shown.memories.get(given.memory)
    if item is None:
        raise ToolProblem(f"there is no memory [{given.memory}]. Give a number that was shown.")
    sources = await bench.reads.sources(item)
    lines = [turn_line(bench.numbers.turn(turn, (item,)), turn) for turn in sources.turns]
    if sources.passage:
        bench.numbers.quote(sources.passage, (item,))
    # Marked, since a line of a document may look like a memory of another number.
    lines += [f"| {line}" for line in sources.passage[:LONGEST_PASSAGE].splitlines()]
    return ToolResult(tuple(lines), (item.unit.id,) if lines else (), "" if lines else NOTHING)


EXPAND = MemoryTool("expand", ExpandArguments, expand)
