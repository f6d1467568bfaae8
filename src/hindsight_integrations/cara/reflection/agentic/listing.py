"""units: every memory about an entity or of a time."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.recalling import Network
from hindsight_integrations.cara.reflection.agentic.showing import MOST_LISTED, shown_units
from hindsight_integrations.cara.reflection.agentic.tool import (
    Bench,
    Dated,
    MemoryTool,
    ToolProblem,
    ToolResult,
)
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType


class UnitsArguments(Dated):
    """Of whom or what, in which networks and of which time."""

    entity: str | None = Field(None, min_length=1, max_length=512)
    types: list[Network] | None = Field(None, min_length=1)


async def units(given: UnitsArguments, bench: Bench) -> ToolResult:
    """Every memory that matches, in order of time."""
    if given.entity is None and given.period.is_open:
        raise ToolProblem("it would list all of memory. Give entity, or start and end.")
    found = await bench.reads.listed(
        types=tuple(map(FactType, given.types)) if given.types else OBSERVED_NETWORKS,
        entity=given.entity,
        period=given.period,
        limit=MOST_LISTED,
    )
    return shown_units(found.units, found.total, bench)


UNITS = MemoryTool("units", UnitsArguments, units)
