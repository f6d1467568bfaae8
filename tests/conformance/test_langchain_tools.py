"""LangChain's own standard tests of tools, with Chroma, Lucene and rustworkx: `make test-conformance`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from tool_calling import GOLDEN_TOOLS

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import create_memory_tools


def example_arguments(name: str, bank: MemoryBank) -> dict[str, Any]:
    """Arguments of a valid call: a question for required texts, and the id of a memory."""
    (found, *_) = bank.recall("Who has a kayak?").units
    required = GOLDEN_TOOLS["langgraph"][name]["required"]
    return {each: found.unit.id if each == "memory_id" else "Who has a kayak?" for each in required}


class _EachTool:
    """One tool after another, with a bank of a few memories; forget_memory with and without `allow_erase`."""

    _bank: MemoryBank
    _tool: BaseTool

    @pytest.fixture(
        autouse=True,
        params=[
            (integration == "langgraph, allow_erase", name)
            for integration in ("langgraph", "langgraph, allow_erase")
            for name in GOLDEN_TOOLS[integration]
        ],
        ids=lambda each: f"{each[1]}{'-erasing' * each[0]}",
    )
    def _opened(self, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[None]:
        may_erase, name = request.param
        with Hindsight.open(tmp_path / "memory", reranker=None) as hindsight:
            bank = hindsight.bank("alice")
            for text in (
                "Alice's kayak is blue.",
                "Bob paddles a red kayak.",
                "Carol sold her kayak in May.",
            ):
                bank.retain(text)
            type(self)._bank = bank
            tools = create_memory_tools(bank, allow_erase=may_erase)
            (type(self)._tool,) = (tool for tool in tools if tool.name == name)
            yield

    @property
    def tool_constructor(self) -> BaseTool:
        return self._tool

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return example_arguments(self._tool.name, self._bank)


class TestEachToolUnit(_EachTool, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestEachTool(_EachTool, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass
