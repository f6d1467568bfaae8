"""The tools of a reflection, and what a call of one comes to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hindsight_integrations.cara.reflection.agentic.beliefs import OPINIONS
from hindsight_integrations.cara.reflection.agentic.calculating import CALCULATOR
from hindsight_integrations.cara.reflection.agentic.callers_tools import GivenTool, callers_tools
from hindsight_integrations.cara.reflection.agentic.chronology import CHRONOLOGY
from hindsight_integrations.cara.reflection.agentic.expanding import EXPAND
from hindsight_integrations.cara.reflection.agentic.kept_answers import MENTAL_MODELS
from hindsight_integrations.cara.reflection.agentic.listing import UNITS
from hindsight_integrations.cara.reflection.agentic.observations import OBSERVATIONS
from hindsight_integrations.cara.reflection.agentic.recalling import RECALL
from hindsight_integrations.cara.reflection.agentic.recorded import AGGREGATE, RECORDS
from hindsight_integrations.cara.reflection.agentic.tool import Bench, Tool, ToolProblem, ToolResult
from hindsight_integrations.cara.reflection.agentic.turn_search import SEARCH_TURNS
from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.prompts.reflect_step import ANSWER, LookupStep

MEMORY_TOOLS: tuple[Tool, ...] = (
    RECALL,
    CHRONOLOGY,
    UNITS,
    OBSERVATIONS,
    OPINIONS,
    MENTAL_MODELS,
    SEARCH_TURNS,
    EXPAND,
    RECORDS,
    AGGREGATE,
    CALCULATOR,
)


class Toolbox:
    """Memory's tools and the caller's.

    Args:
        given: the caller's.

    Attributes:
        callers: names of the caller's.

    Raises:
        InvalidRequest: one of the caller's has no name that a model can call, or one that is taken.
    """

    def __init__(self, given: Sequence[GivenTool] = ()) -> None:
        own = {tool.name: tool for tool in MEMORY_TOOLS}
        found = callers_tools(given, {*own, ANSWER})
        self.callers = frozenset(tool.name for tool in found)
        self._tools = own | {tool.name: tool for tool in found}

    @property
    def usages(self) -> list[str]:
        """How each is called and what it gives, memory's own first."""
        return [tool.usage for tool in self._tools.values()]

    async def called(self, step: LookupStep, bench: Bench) -> ToolResult:
        """What a call gives.

        Raises:
            ToolProblem: there is no such tool, its arguments are wrong, or it failed; the message is for the model.
        """
        tool = self._tools.get(step.tool)
        if tool is None:
            raise ToolProblem(f"there is no such tool. The tools are {', '.join(self._tools)}; or {ANSWER}.")
        try:
            return await tool.call(step.given, bench)
        except (InvalidRequest, MemoryDamaged) as error:
            raise ToolProblem(str(error)) from error


def call_key(tool: str, arguments: Mapping[str, object]) -> str:
    """What makes two calls the same."""
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
