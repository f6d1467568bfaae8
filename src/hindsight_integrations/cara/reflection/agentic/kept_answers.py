"""mental_models: kept answers to standing questions."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import note_on
from hindsight_integrations.cara.reflection.agentic.tool import Arguments, Bench, MemoryTool, ToolResult
from hindsight_integrations.prompts.memories import mental_model_line


class MentalModelsArguments(Arguments):
    """On what."""

    query: str = Field(min_length=1, max_length=2_000)


async def mental_models(given: MentalModelsArguments, bench: Bench) -> ToolResult:
    """The standing questions nearest to a matter, with their answers."""
    found = [model for model in await bench.reads.mental_models(given.query) if model.text]
    lines = tuple(mental_model_line(bench.numbers.model(model), model) for model in found)
    return ToolResult(lines, note=note_on(len(found), len(found)))


MENTAL_MODELS = MemoryTool("mental_models", MentalModelsArguments, mental_models)
