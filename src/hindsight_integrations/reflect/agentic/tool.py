"""What a tool of a reflection is: its name, its arguments, and numbered result lines that a model reads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.models.protocols import answer_problem
from hindsight_integrations.prompts.memories import memory_line
from hindsight_integrations.prompts.reflect_tools import tool_usage
from hindsight_integrations.reflect.citations import CitationIndex
from hindsight_integrations.reflect.context import MemoryReads, Period


class Numbering:
    """Numbers what is shown on from what was shown so far; what is shown again keeps its number.

    Args:
        first: what one recall showed; or all that was, where a conversation goes on.
    """

    def __init__(self, first: CitationIndex) -> None:
        self._memories = dict(first.memories)
        self._models = dict(first.models)
        self._beliefs = dict(first.beliefs)
        self._turns = dict(first.turns)
        self._quoted = dict(first.quoted)
        self._numbers: dict[object, str] = {
            **{item.unit.id: number for number, item in (*self._memories.items(), *self._beliefs.items())},
            **{model.id: number for number, model in self._models.items()},
            **{(turn.thread, turn.message_id): number for number, turn in self._turns.items()},
        }

    @property
    def shown(self) -> CitationIndex:
        """All that was shown so far."""
        return CitationIndex(
            dict(self._memories),
            dict(self._models),
            dict(self._beliefs),
            dict(self._turns),
            dict(self._quoted),
        )

    def memory(self, item: RecalledUnit) -> str:
        """The number of a memory."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._number(item.unit.id)
            self._memories[number] = item
        return number

    def turn(self, turn: SourceTurn, units: Sequence[RecalledUnit]) -> tuple[str, ...]:
        """The numbers of the memories made from a turn, whose words are shown; of a turn without any its own."""
        self.quote(turn.text, units)
        if units:
            return tuple(self.memory(item) for item in units)
        place = (turn.thread, turn.message_id)
        if (number := self._numbers.get(place)) is None:
            number = self._number(place)
            self._turns[number] = turn
        return (number,)

    def quote(self, text: str, units: Sequence[RecalledUnit]) -> None:
        """Note that words were shown that these memories were made from: what is taken from them stands on those."""
        ids = (*self._quoted.get(text, ()), *(item.unit.id for item in units))
        self._quoted[text] = tuple(dict.fromkeys(ids))

    def model(self, model: MentalModel) -> str:
        """The number of a mental model."""
        if (number := self._numbers.get(model.id)) is None:
            number = self._numbers[model.id] = f"M{len(self._models) + 1}"
            self._models[number] = model
        return number

    def belief(self, item: RecalledUnit) -> str:
        """The number of a belief."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._numbers[item.unit.id] = f"B{len(self._beliefs) + 1}"
            self._beliefs[number] = item
        return number

    def _number(self, key: object) -> str:
        number = self._numbers[key] = str(len(self._memories) + len(self._turns) + 1)
        return number


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
class ToolContext:
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

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
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
    use: Callable[[A, ToolContext], Awaitable[ToolResult]]

    @property
    def usage(self) -> str:
        """How it is called and what it gives."""
        return tool_usage(self.name)

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Use it; see `Tool.call`."""
        return await self.use(read_arguments(self.arguments, arguments, self.usage), context)


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, so that a mistake of the model does not widen the question."""

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


MOST_LISTED = 100  # memories of one complete listing: more is to be asked for in parts
NOTHING = "Nothing was found."


def shown_units(units: Sequence[RecalledUnit], total: int, context: ToolContext) -> ToolResult:
    """Memories as a result, as many as fit.

    Args:
        units: in the order in which they are shown.
        total: how many match in all.
        context: what they are numbered on, and the tokens.
    """
    kept = fitting(units, context)
    lines = tuple(memory_line(context.numbers.memory(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), total))


def fitting(units: Sequence[RecalledUnit], context: ToolContext) -> list[RecalledUnit]:
    """The first of the memories, as many as the tokens of a result hold, at least one."""
    kept: list[RecalledUnit] = []
    left = context.max_tokens
    for item in units:
        left -= item.tokens
        if kept and left < 0:
            break
        kept.append(item)
    return kept


def note_on(shown: int, total: int) -> str:
    """What is to be said of a result that may not be all of it."""
    if not total:
        return NOTHING
    if shown < total:
        return f"These are the first {shown} of {total}. Narrow the question or the days for the rest."
    return ""
