"""observations: what was summed up of an entity."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import MOST_LISTED, shown_units
from hindsight_integrations.cara.reflection.agentic.tool import Arguments, Bench, MemoryTool, ToolResult
from hindsight_integrations.cara.reflection.reads import ANY_TIME
from hindsight_integrations.model.units import FactType


class ObservationsArguments(Arguments):
    """Of whom or what."""

    entity: str = Field(min_length=1, max_length=512)


async def observations(given: ObservationsArguments, bench: Bench) -> ToolResult:
    """Every observation of an entity that holds."""
    found = await bench.reads.listed(
        types=(FactType.OBSERVATION,), entity=given.entity, period=ANY_TIME, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, bench)


OBSERVATIONS = MemoryTool("observations", ObservationsArguments, observations)
