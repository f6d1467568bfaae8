"""Tools of LlamaIndex as a reflection calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llama_index.core.tools import AsyncBaseTool, BaseTool, adapt_to_async_tool

from hindsight_integrations.validation.arguments import checked_tools


class GivenTool:
    """A tool of LlamaIndex in the form that `bank.reflect` takes from LangChain.

    Args:
        tool: with its name, its description and its arguments in `metadata`.
    """

    def __init__(self, tool: AsyncBaseTool) -> None:
        self._tool = tool
        self.name = str(tool.metadata.get_name())
        self.description = str(tool.metadata.description)
        self.args: Mapping[str, Any] = tool.metadata.get_parameters_dict()["properties"]

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str:
        """Use it.

        Args:
            arguments: by their names.

        Raises:
            Exception: what the tool raised, or put into its output as its error.
        """
        output = await self._tool.acall(**arguments)
        if output.is_error:
            raise output.exception or ValueError(str(output.content))
        return str(output.content)


def reflecting_tools(given: Iterable[Callable[..., object] | BaseTool] | None) -> tuple[Any, ...]:
    """The caller's tools as `bank.reflect` takes them: LlamaIndex's in its form, all others as they are.

    Args:
        given: functions, tools of LlamaIndex, tools of LangChain; None means none.

    Raises:
        InvalidRequest: it is not a list, or one of them cannot be called.
    """
    return tuple(
        GivenTool(adapt_to_async_tool(each)) if isinstance(each, BaseTool) else each
        for each in checked_tools(given)
    )
