"""What a tool of a reflection is: a name, arguments, and a result in lines that a model reads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hindsight_integrations.cara.reflection.agentic.numbering import Numbering
from hindsight_integrations.cara.reflection.reads import MemoryReads, Period
from hindsight_integrations.ports.language_model import answer_problem
from hindsight_integrations.prompts.reflect_tools import tool_usage

A = TypeVar("A", bound=BaseModel)


class ToolProblem(ValueError):
    """A call of a tool that gives nothing; the message tells the model why, and what to do."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gives.

    Attributes:
        lines: to be shown to the model, as data.
        found: ids of the memories among them.
        note: what is to be said of the result as a whole; empty for nothing.
    """

    lines: tuple[str, ...]
    found: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """What the tools of one reflection work with.

    Attributes:
        reads: the memory, limited to what the reflection may use.
        numbers: of what the model has been shown; results are numbered on.
        max_tokens: of the memories of one result.
    """

    reads: MemoryReads
    numbers: Numbering
    max_tokens: int


class Tool(Protocol):
    """Something a model may call on the way to its answer."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def usage(self) -> str:
        """How it is called and what it gives, as a model is told."""
        ...

    async def call(self, arguments: Mapping[str, Any], bench: Bench) -> ToolResult:
        """Use it.

        Raises:
            ToolProblem: the arguments are wrong, or it failed.
            InvalidRequest: what is asked for is unknown, ambiguous or beyond the limits of the reflection.
        """
        ...


@dataclass(frozen=True, slots=True)
class MemoryTool(Generic[A]):
    """A tool over memory; how it is called stands in `prompts/templates/reflect_tools.md`.

    Attributes:
        name: what it is called.
        arguments: what it takes.
        use: what it does.
    """

    name: str
    arguments: type[A]
    use: Callable[[A, Bench], Awaitable[ToolResult]]

    @property
    def usage(self) -> str:
        """How it is called and what it gives."""
        return tool_usage(self.name)

    async def call(self, arguments: Mapping[str, Any], bench: Bench) -> ToolResult:
        """Use it; see `Tool.call`."""
        return await self.use(read_arguments(self.arguments, arguments, self.usage), bench)


class Arguments(BaseModel):
    """Of a tool; what it does not know is refused, so that a slip of the model's does not pass for a wide question."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _first_day(given: object) -> object:
    return _day(given, last=False)


def _last_day(given: object) -> object:
    return _day(given, last=True)


def _day(given: object, *, last: bool) -> object:
    """A year or a month as its first or last day, a moment as its day; what is neither is pydantic's to judge."""
    if not isinstance(given, str):
        return given
    text = given.strip()
    if not text or text.lower() in {"none", "null"}:
        return None
    if (read := re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?", text)) is None:
        return text[:10]
    year, month = int(read[1]), int(read[2] or (12 if last else 1))
    if not (1 <= year < 9999 and 1 <= month <= 12):
        return text
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1) if last else date(year, month, 1)


class Dated(Arguments):
    """Arguments of a tool that looks at a stretch of time."""

    start: Annotated[date | None, BeforeValidator(_first_day)] = Field(
        None, description="first day, YYYY-MM-DD"
    )
    end: Annotated[date | None, BeforeValidator(_last_day)] = Field(None, description="last day, included")

    @property
    def period(self) -> Period:
        """The days meant.

        Raises:
            ToolProblem: they end before they begin.
        """
        if self.start and self.end and self.end < self.start:
            raise ToolProblem("end is before start. Swap them.")
        return Period(self.start, self.end)


def read_arguments(schema: type[A], given: Mapping[str, Any], usage: str) -> A:
    """The arguments of a call.

    Raises:
        ToolProblem: they are not those of the tool; the message says how it is called.
    """
    try:
        return schema.model_validate({name: each for name, each in given.items() if each is not None})
    except ValidationError as error:
        raise ToolProblem(f"wrong arguments ({answer_problem(error)}). It is called so: {usage}") from error
