"""The caller's own tools: plain functions, or LangChain tools, which are recognised by their shape. Their results are data."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, PydanticUserError, ValidationError, validate_call
from typing_extensions import TypeIs

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.models.protocols import answer_problem
from hindsight_integrations.reflect.agentic.tool import Tool, ToolContext, ToolProblem, ToolResult

LONGEST_DESCRIPTION = 500  # characters
CHARACTERS_A_TOKEN = 4  # of a result whose tokens are not counted
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class InvokedTool(Protocol):
    """A tool of LangChain's form (`BaseTool`), as far as it is used."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def description(self) -> str:
        """What it does."""
        ...

    @property
    def args(self) -> Mapping[str, Any]:
        """JSON schema of each argument."""
        ...

    async def ainvoke(self, arguments: Mapping[str, Any]) -> object:
        """Use it."""
        ...


GivenTool: TypeAlias = InvokedTool | Callable[..., object]


def callers_tools(given: Sequence[GivenTool], taken: Collection[str]) -> tuple[Tool, ...]:
    """The caller's tools as a reflection uses them.

    Args:
        given: LangChain tools, or functions.
        taken: names that are not free.

    Raises:
        InvalidRequest: one has no name that a model can call, or one that is taken.
    """
    found: dict[str, Tool] = {}
    for each in given:
        name = str(each.name if _is_invoked(each) else getattr(each, "__name__", ""))
        if not _NAME.fullmatch(name):
            reason = f"{shown(name or each)} is not a name that a model can call"
            raise InvalidRequest("tools", reason, "Pass functions made by def, or LangChain tools.")
        if name in taken or name in found:
            raise InvalidRequest("tools", f"the name {name!r} is taken", "Give the tool another name.")
        found[name] = _wrapped(each, name)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class CallersTool:
    """A tool that the caller gave.

    Attributes:
        name: what it is called.
        usage: how it is called and what it gives.
        run: calls it.
    """

    name: str
    usage: str
    run: Callable[[Mapping[str, Any]], Any]

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Use it; whatever it raises becomes what the model is told."""
        failure = _Failure()
        with failure:
            given = await self.run(arguments)
            longest = context.max_tokens * CHARACTERS_A_TOKEN
            text = _written(given)
            note = f"Only the first {longest} characters are shown." if len(text) > longest else ""
            return ToolResult(tuple(text[:longest].splitlines()), note=note)
        raise failure.told(self.usage)


class _Failure:
    """Keeps what a tool raises inside the block: the code is the caller's, and may raise anything."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None

    def told(self, usage: str) -> ToolProblem:
        """The error in words for the model."""
        if isinstance(self.error, ValidationError):
            return ToolProblem(f"wrong arguments ({answer_problem(self.error)}). It is called so: {usage}")
        first = next(iter(str(self.error).splitlines()), "")
        return ToolProblem(f"it failed with {type(self.error).__name__}: {first[:LONGEST_DESCRIPTION]}")


def _wrapped(tool: GivenTool, name: str) -> Tool:
    if not _is_invoked(tool):
        return _function(tool, name)
    usage = _usage(name, tool.args, tool.description)
    return CallersTool(name, usage, lambda arguments: tool.ainvoke(_read(arguments, tool.args)))


def _is_invoked(tool: GivenTool) -> TypeIs[InvokedTool]:
    """Whether a tool is of LangChain's form."""
    return all(hasattr(tool, each) for each in ("ainvoke", "args", "name", "description"))


def _function(function: Callable[..., object], name: str) -> Tool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:  # written in C, or not to be called at all
        reason = f"{shown(function)} does not say which arguments it takes"
        raise InvalidRequest("tools", reason, "Wrap it in a function made by def.") from error
    parameters = {
        each.name: {} if each.default is inspect.Parameter.empty else {"default": each.default}
        for each in signature.parameters.values()
        if each.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    }
    try:
        checked: Callable[..., object] = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(
            function
        )
    except (PydanticUserError, NameError):  # annotations that say nothing to pydantic
        checked = function

    async def run(arguments: Mapping[str, Any]) -> object:
        if inspect.iscoroutinefunction(function):
            return await checked(**arguments)  # type: ignore[misc] # a coroutine, as just seen
        return await asyncio.to_thread(checked, **arguments)

    return CallersTool(name, _usage(name, parameters, inspect.getdoc(function) or ""), run)


def _usage(name: str, parameters: Mapping[str, Any], description: str) -> str:
    arguments = ", ".join(f"{each}?" if "default" in schema else each for each, schema in parameters.items())
    words = " ".join(clean_text(description).split())[:LONGEST_DESCRIPTION]
    return f"{name}({arguments}): {words or 'a tool of the application'}"


def _read(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments whose schema wants an object or a list may come as JSON in a text."""
    found = dict(arguments)
    for name, value in arguments.items():
        wanted = parameters.get(name, {}).get("type")
        if isinstance(value, str) and wanted in {"object", "array"}:
            try:
                found[name] = json.loads(value)
            except json.JSONDecodeError:
                continue  # the tool itself says what it wants
    return found


def _written(result: object) -> str:
    """A tool's result as text."""
    if isinstance(result, BaseModel):
        return result.model_dump_json()
    if isinstance(result, str):
        return clean_text(result)
    try:
        return clean_text(json.dumps(result, ensure_ascii=False, default=str))
    except (TypeError, ValueError):
        return clean_text(str(result))
