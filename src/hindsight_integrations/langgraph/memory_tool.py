"""A tool of memory: opens the bank of the run, does its steps in either face, and tells a model's mistakes to the model."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.prebuilt import ToolRuntime
from pydantic import Field, ValidationError

from hindsight_integrations import InvalidRequest
from hindsight_integrations.errors import shown
from hindsight_integrations.langgraph.bank_finder import BankFinder, uses_memory
from hindsight_integrations.prompts.memory_tools import MEMORY_OFF

Asked = Callable[[Any], Any]  # a call of a bank of either face: of the async one an awaitable
Reply = tuple[str, Any]  # what the model reads, and the artifact: plain JSON
Steps = Generator[Asked, Any, Reply]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        bank: name of the bank.
        arguments: what the model said, valid.
        runtime: what ToolNode put in; None by hand.
        config: of the run.
    """

    bank: str
    arguments: Mapping[str, Any]
    runtime: ToolRuntime[Any, Any] | None
    config: RunnableConfig


class MemoryTool(BaseTool):
    """A tool over the bank of the run; made by `create_memory_tools`.

    Attributes:
        where: tells whose memory a run needs.
        steps: what it does, a generator that yields calls of the bank and gets what they return.
        told: names of the bank's arguments that stand for the model's: a mistake in them is the model's.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    where: BankFinder = Field(exclude=True)
    steps: Callable[[ToolCall], Steps] = Field(exclude=True)
    told: Mapping[str, str] = Field(exclude=True)

    def _run(
        self,
        *given: str,
        config: RunnableConfig,
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,  # noqa: ANN401 - as the schema has them
    ) -> Reply:
        del run_manager  # LangChain calls it back itself
        steps = self.steps(self._call(given, arguments, config))
        bank, result = self.where.open(_state(arguments), config), None
        while True:
            try:
                asked = steps.send(result)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                result = asked(bank)
            except InvalidRequest as error:
                raise self._shown(error) from None

    async def _arun(
        self,
        *given: str,
        config: RunnableConfig,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **arguments: Any,  # noqa: ANN401 - as the schema has them
    ) -> Reply:
        del run_manager
        steps = self.steps(self._call(given, arguments, config))
        bank, result = await self.where.aopen(_state(arguments), config), None
        while True:
            try:
                asked = steps.send(result)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                result = await asked(bank)
            except InvalidRequest as error:
                raise self._shown(error) from None

    def _call(self, given: tuple[str, ...], arguments: dict[str, Any], config: RunnableConfig) -> ToolCall:
        """The call; a text alone, as LangChain allows, is the first argument."""
        runtime = arguments.get("runtime")
        if runtime is not None and not isinstance(runtime, ToolRuntime):
            raise ToolException(_again(self.name, "runtime is not an argument", self.args))
        if not uses_memory(config):
            raise ToolException(MEMORY_OFF)
        said = {name: value for name, value in arguments.items() if name != "runtime"}
        said |= dict(zip(self.args, given, strict=False))
        return ToolCall(self.where.name(_state(arguments), config), said, runtime, config)

    def _shown(self, error: InvalidRequest) -> Exception:
        """The error as the model's, if what it said is at fault; else as it is."""
        if error.field not in self.told:
            return error
        argument = self.told[error.field]
        return ToolException(_again(self.name, f"{argument}: {error.reason}. {error.remedy}", self.args))


def wrong_arguments(name: str, takes: tuple[str, ...]) -> Callable[[Any], str]:
    """What a model is told whose arguments are not those of a tool: what is wrong, and how to call it. No values."""

    def told(error: ValidationError) -> str:
        wrong = (
            f"{shown('.'.join(map(str, each['loc'])))} is not an argument"
            if each["type"] == "extra_forbidden"
            else f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False, include_context=False)
        )
        return _again(name, "; ".join(wrong), takes)

    return told


def _again(name: str, wrong: str, takes: Any) -> str:  # noqa: ANN401 - names, of a dict or a tuple
    return f"Wrong arguments: {wrong.removesuffix('.')}. Call {name} again; it takes {', '.join(takes)}."


def _state(arguments: Mapping[str, Any]) -> object:
    runtime = arguments.get("runtime")
    return runtime.state if isinstance(runtime, ToolRuntime) else {}
