"""recall: the memories nearest to a question."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import shown_units
from hindsight_integrations.cara.reflection.agentic.tool import Bench, Dated, MemoryTool, ToolResult
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType

Network = Literal["world", "experience", "observation"]


class RecallArguments(Dated):
    """A question, in which networks and of which time."""

    query: str = Field(min_length=1, max_length=2_000)
    types: list[Network] | None = Field(None, min_length=1)


async def recall(given: RecallArguments, bench: Bench) -> ToolResult:
    """The memories nearest to a question, best first."""
    types = tuple(map(FactType, given.types)) if given.types else OBSERVED_NETWORKS
    found = await bench.reads.recall(
        given.query, types=types, period=given.period, max_tokens=bench.max_tokens
    )
    shown = shown_units(found.units, len(found.units), bench)
    figures = tuple(line for digest in found.records for line in digest.text.splitlines())
    return replace(shown, lines=figures + shown.lines, note=shown.note if shown.lines or not figures else "")


RECALL = MemoryTool("recall", RecallArguments, recall)
