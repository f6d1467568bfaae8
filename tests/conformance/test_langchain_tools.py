"""LangChain's own standard tests of tools on ours, over real Chroma, Lucene and rustworkx: `make test-conformance`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import create_memory_tools


class _OverABank:
    """A bank that knows something, and the tool of a name over it."""

    NAME: ClassVar[str]
    MAY_ERASE: ClassVar[bool] = False
    _bank: MemoryBank
    _tool: BaseTool

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        with Hindsight.open(tmp_path / "memory", reranker=None) as hindsight:
            bank = hindsight.bank("alice")
            for text in (
                "Alice's kayak is blue.",
                "Bob paddles a red kayak.",
                "Carol sold her kayak in May.",
            ):
                bank.retain(text)
            type(self)._bank = bank
            tools = create_memory_tools(bank, allow_erase=self.MAY_ERASE)
            (type(self)._tool,) = (tool for tool in tools if tool.name == self.NAME)
            yield

    @property
    def tool_constructor(self) -> BaseTool:
        return self._tool


class _Retain(_OverABank):
    NAME = "retain_memory"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": "Dave repairs kayaks in Porto."}


class _Recall(_OverABank):
    NAME = "recall_memories"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "Who has a kayak?"}


class _Reflect(_OverABank):
    NAME = "reflect_on_memories"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": "Who has a kayak?"}


class _Records(_OverABank):
    NAME = "list_records"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {}


class _Forget(_OverABank):
    NAME = "forget_memory"

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        (found, *_) = self._bank.recall("Who has a kayak?").units
        return {"memory_id": found.unit.id}


class _ForgetOrErase(_Forget):
    MAY_ERASE = True


class TestRetainUnit(_Retain, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestRetain(_Retain, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestRecallUnit(_Recall, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestRecall(_Recall, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestReflectUnit(_Reflect, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestReflect(_Reflect, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestRecordsUnit(_Records, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestRecords(_Records, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestForgetUnit(_Forget, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestForget(_Forget, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestForgetOrEraseUnit(_ForgetOrErase, ToolsUnitTests):  # type: ignore[misc] # not installed where types are checked
    pass


class TestForgetOrErase(_ForgetOrErase, ToolsIntegrationTests):  # type: ignore[misc] # not installed where types are checked
    pass
