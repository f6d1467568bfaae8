"""chronology: everything that happened between two days, in order."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import MOST_LISTED, shown_units
from hindsight_integrations.cara.reflection.agentic.tool import (
    Bench,
    Dated,
    MemoryTool,
    ToolProblem,
    ToolResult,
)
from hindsight_integrations.model.units import OBSERVED_NETWORKS


class ChronologyArguments(Dated):
    """The days, and of whom or what."""

    entity: str | None = Field(None, min_length=1, max_length=512)


async def chronology(given: ChronologyArguments, bench: Bench) -> ToolResult:
    """Every fact of these days, in order of when it happened, else was mentioned."""
    if given.start is None or given.end is None:
        raise ToolProblem("start and end are missing. Give both as YYYY-MM-DD.")
    found = await bench.reads.listed(
        types=OBSERVED_NETWORKS, entity=given.entity, period=given.period, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, bench)


CHRONOLOGY = MemoryTool("chronology", ChronologyArguments, chronology)
