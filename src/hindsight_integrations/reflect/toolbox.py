"""Tools of an agentic reflection: those that read memory, and those supplied by the caller."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import operator
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import (
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PydanticUserError,
    ValidationError,
    validate_call,
)
from typing_extensions import TypeIs

from hindsight_integrations.errors import InvalidRequest, MemoryDamaged, shown
from hindsight_integrations.model.aggregates import Aggregation
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType
from hindsight_integrations.models.protocols import answer_problem
from hindsight_integrations.prompts.memories import belief_line, memory_line, mental_model_line
from hindsight_integrations.prompts.reflect_step import ANSWER, LookupStep
from hindsight_integrations.prompts.reflect_tools import record_line, sorts_line, tool_usage, turn_line
from hindsight_integrations.reflect.citations import CitationIndex
from hindsight_integrations.reflect.context import ANY_TIME, MemoryReads, Period, RecordSelection


class Numbering:
    """Assigns numbers to the shown memories; the numbers continue across results, and a memory keeps its number.

    Args:
        first: the memories that were shown before, by recall or earlier in the conversation.

    Attributes:
        shown: the memories shown so far.
    """

    def __init__(self, first: CitationIndex) -> None:
        self.shown = first.copy()
        memories, models, beliefs = first.memories.items(), first.models.items(), first.beliefs.items()
        self._numbers: dict[object, str] = {
            **{item.unit.id: number for number, item in (*memories, *beliefs)},
            **{model.id: number for number, model in models},
            **{(turn.thread, turn.message_id): number for number, turn in first.turns.items()},
        }

    def memory(self, item: RecalledUnit) -> str:
        """Return the number of a memory, assigning one if needed."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._next_number(item.unit.id)
            self.shown.memories[number] = item
        return number

    def turn(self, turn: SourceTurn, units: Sequence[RecalledUnit]) -> tuple[str, ...]:
        """Record a shown turn and return the numbers of its memories, or the turn's own number if it has no memories."""
        self.quote(turn.text, units)
        if units:
            return tuple(self.memory(item) for item in units)
        place = (turn.thread, turn.message_id)
        if (number := self._numbers.get(place)) is None:
            number = self._next_number(place)
            self.shown.turns[number] = turn
        return (number,)

    def quote(self, text: str, units: Sequence[RecalledUnit]) -> None:
        """Record a shown text and the memories made from it, so that an answer that uses the text is based on them."""
        ids = (*self.shown.quoted.get(text, ()), *(item.unit.id for item in units))
        self.shown.quoted[text] = tuple(dict.fromkeys(ids))

    def model(self, model: MentalModel) -> str:
        """Return the number of a mental model, assigning one if needed."""
        if (number := self._numbers.get(model.id)) is None:
            number = self._numbers[model.id] = f"M{len(self.shown.models) + 1}"
            self.shown.models[number] = model
        return number

    def belief(self, item: RecalledUnit) -> str:
        """Return the number of a belief, assigning one if needed."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._numbers[item.unit.id] = f"B{len(self.shown.beliefs) + 1}"
            self.shown.beliefs[number] = item
        return number

    def _next_number(self, key: object) -> str:
        number = self._numbers[key] = str(len(self.shown.memories) + len(self.shown.turns) + 1)
        return number


A = TypeVar("A", bound=BaseModel)


class ToolProblem(ValueError):
    """A failed tool call; the message tells the model the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call.

    Attributes:
        lines: lines shown to the model as data.
        found: ids of the memories in the lines.
        note: a note about the whole result; may be empty.
    """

    lines: tuple[str, ...]
    found: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The reads and the numbering that the tools of one reflection share.

    Attributes:
        reads: the read operations, limited to the memories the reflection may use.
        numbers: the numbers of the memories shown to the model.
        max_tokens: token limit of the memories in one result.
    """

    reads: MemoryReads
    numbers: Numbering
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call before it answers.

    Attributes:
        name: name of the tool.
        usage: signature and description of the tool, as shown to the model.
        call: function that calls the tool. It raises `ToolProblem` if the arguments are wrong or the call failed, and
            `InvalidRequest` if a requested item is unknown, ambiguous or outside the limits of the reflection.
    """

    name: str
    usage: str
    call: Callable[[Mapping[str, Any], ToolContext], Awaitable[ToolResult]]


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are rejected, so that a misspelled filter is not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _first_day(given: object) -> object:
    return _day(given, last=False)


def _last_day(given: object) -> object:
    return _day(given, last=True)


def _day(given: object, *, last: bool) -> object:
    """Convert a year or month to its first or last day, and a timestamp to its day; pydantic validates the rest."""
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
    """Arguments of a tool limited to a period."""

    start: Annotated[date | None, BeforeValidator(_first_day)] = Field(
        None, description="first day, YYYY-MM-DD"
    )
    end: Annotated[date | None, BeforeValidator(_last_day)] = Field(None, description="last day, included")

    @property
    def period(self) -> Period:
        """The requested period.

        Raises:
            ToolProblem: the period ends before it begins.
        """
        if self.start and self.end and self.end < self.start:
            raise ToolProblem("end is before start. Swap them.")
        return Period(self.start, self.end)


MOST_LISTED = 100  # maximum number of memories in one result; for more, the model must narrow the request
NOTHING = "Nothing was found."


def shown_units(units: Sequence[RecalledUnit], total: int, context: ToolContext) -> ToolResult:
    """Return a result with the first memories that fit the token limit."""
    kept = fitting(units, context)
    lines = tuple(memory_line(context.numbers.memory(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), total))


def fitting(units: Sequence[RecalledUnit], context: ToolContext) -> list[RecalledUnit]:
    """Return the first memories that fit the token limit of a result, at least one."""
    kept: list[RecalledUnit] = []
    left = context.max_tokens
    for item in units:
        left -= item.tokens
        if kept and left < 0:
            break
        kept.append(item)
    return kept


def note_on(shown: int, total: int) -> str:
    """Return a note on an empty or incomplete result; empty for a complete one."""
    if not total:
        return NOTHING
    if shown < total:
        return f"These are the first {shown} of {total}. Narrow the question or the days for the rest."
    return ""


LONGEST_DESCRIPTION = 500  # characters
CHARACTERS_A_TOKEN = 4  # estimate, used to limit results whose tokens are not counted
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class InvokedTool(Protocol):
    """The part of LangChain's `BaseTool` interface that is used here."""

    @property
    def name(self) -> str:
        """Name of the tool."""
        ...

    @property
    def description(self) -> str:
        """Description of the tool."""
        ...

    @property
    def args(self) -> Mapping[str, Any]:
        """JSON schema of each argument."""
        ...

    async def ainvoke(self, arguments: Mapping[str, Any]) -> object:
        """Call the tool."""
        ...


GivenTool: TypeAlias = InvokedTool | Callable[..., object]


def callers_tools(given: Sequence[GivenTool], taken: Collection[str]) -> tuple[Tool, ...]:
    """Wrap the caller's tools for use in a reflection.

    Raises:
        InvalidRequest: a tool has no valid name, or its name is already in use.
    """
    found: dict[str, Tool] = {}
    for each in given:
        name = str(each.name if _is_invoked(each) else getattr(each, "__name__", ""))
        if not _NAME.fullmatch(name):
            reason = f"{shown(name or each)} is not a valid tool name"
            raise InvalidRequest("tools", reason, "Pass LangChain tools, or functions defined with `def`.")
        if name in taken or name in found:
            raise InvalidRequest("tools", f"the name {name!r} is already in use", "Rename the tool.")
        found[name] = _wrapped(each, name)
    return tuple(found.values())


def _callers_tool(name: str, usage: str, run: Callable[[Mapping[str, Any]], Awaitable[object]]) -> Tool:
    """Wrap a function of the caller; any exception is reported to the model."""

    async def call(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        # Returns whatever the tool raises, because callers' tools may raise anything.
        (result,) = await asyncio.gather(_text_of(run, arguments), return_exceptions=True)
        if isinstance(result, ValidationError):
            raise ToolProblem(f"wrong arguments ({answer_problem(result)}). Usage: {usage}") from result
        if isinstance(result, Exception):
            first = next(iter(str(result).splitlines()), "")
            problem = f"it failed with {type(result).__name__}: {first[:LONGEST_DESCRIPTION]}"
            raise ToolProblem(problem) from result
        if isinstance(result, BaseException):
            raise result
        longest = context.max_tokens * CHARACTERS_A_TOKEN
        note = f"Only the first {longest} characters are shown." if len(result) > longest else ""
        return ToolResult(tuple(result[:longest].splitlines()), note=note)

    return Tool(name, usage, call)


async def _text_of(
    run: Callable[[Mapping[str, Any]], Awaitable[object]], arguments: Mapping[str, Any]
) -> str:
    return _written(await run(arguments))


def _wrapped(tool: GivenTool, name: str) -> Tool:
    if not _is_invoked(tool):
        return _function(tool, name)
    usage = _usage(name, tool.args, tool.description)
    return _callers_tool(name, usage, lambda arguments: tool.ainvoke(_read(arguments, tool.args)))


def _is_invoked(tool: GivenTool) -> TypeIs[InvokedTool]:
    """Check whether a tool has LangChain's interface."""
    return all(hasattr(tool, each) for each in ("ainvoke", "args", "name", "description"))


def _function(function: Callable[..., object], name: str) -> Tool:
    try:
        signature = inspect.signature(function)
    # the function is implemented in C, or the object is not callable
    except (TypeError, ValueError) as error:
        reason = f"the signature of {shown(function)} cannot be inspected"
        raise InvalidRequest("tools", reason, "Wrap it in a function defined with `def`.") from error
    parameters = {
        each.name: {} if each.default is inspect.Parameter.empty else {"default": each.default}
        for each in signature.parameters.values()
        if each.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    }
    try:
        checked: Callable[..., object] = validate_call(config=ConfigDict(arbitrary_types_allowed=True))(
            function
        )
    except (PydanticUserError, NameError):  # pydantic does not support these annotations
        checked = function

    async def run(arguments: Mapping[str, Any]) -> object:
        if inspect.iscoroutinefunction(function):
            return await checked(**arguments)  # type: ignore[misc] # a coroutine function, as checked above
        return await asyncio.to_thread(checked, **arguments)

    return _callers_tool(name, _usage(name, parameters, inspect.getdoc(function) or ""), run)


def _usage(name: str, parameters: Mapping[str, Any], description: str) -> str:
    arguments = ", ".join(f"{each}?" if "default" in schema else each for each, schema in parameters.items())
    words = " ".join(clean_text(description).split())[:LONGEST_DESCRIPTION]
    return f"{name}({arguments}): {words or 'a tool of the application'}"


def _read(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parse arguments that the model wrote as JSON strings although the tool's schema requires an object or a list."""
    found = dict(arguments)
    for name, value in arguments.items():
        wanted = parameters.get(name, {}).get("type")
        if isinstance(value, str) and wanted in {"object", "array"}:
            try:
                found[name] = json.loads(value)
            except json.JSONDecodeError:
                continue  # not valid JSON; the tool will report the value
    return found


def _written(result: object) -> str:
    """Return a tool's result as text."""
    if isinstance(result, BaseModel):
        return result.model_dump_json()
    if isinstance(result, str):
        return clean_text(result)
    try:
        return clean_text(json.dumps(result, ensure_ascii=False, default=str))
    except (TypeError, ValueError):
        return clean_text(str(result))


Network = Literal["world", "experience", "observation"]


class RecallArguments(Dated):
    """Arguments of `recall`: a question, networks and a period."""

    query: str = Field(min_length=1, max_length=2_000)
    types: list[Network] | None = Field(None, min_length=1)


async def recall(arguments: RecallArguments, context: ToolContext) -> ToolResult:
    """Recall the memories nearest to a question, best first."""
    types = tuple(map(FactType, arguments.types)) if arguments.types else OBSERVED_NETWORKS
    found = await context.reads.recall(
        arguments.query, types=types, period=arguments.period, max_tokens=context.max_tokens
    )
    shown = shown_units(found.units, len(found.units), context)
    figures = tuple(line for digest in found.records for line in digest.text.splitlines())
    return replace(shown, lines=figures + shown.lines, note=shown.note if shown.lines or not figures else "")


MOST_TURNS = 20  # maximum number of turns per search
FEWEST_LETTERS = 2  # minimum number of letters to search for; single letters occur in nearly every turn


class SearchTurnsArguments(Dated):
    """Arguments of `search_turns`: words and a period."""

    words: str = Field(min_length=1, max_length=200)


async def search_turns(arguments: SearchTurnsArguments, context: ToolContext) -> ToolResult:
    """Find turns that contain these words in this order, oldest first."""
    if sum(letter.isalnum() for letter in arguments.words) < FEWEST_LETTERS:
        raise ToolProblem("words is too short. Give a word or some words of what was said.")
    found = await context.reads.turns_saying(arguments.words, period=arguments.period, limit=MOST_TURNS + 1)
    kept = found[:MOST_TURNS]
    lines = tuple(turn_line(context.numbers.turn(each.turn, each.units), each.turn) for each in kept)
    note = "There are more; use more words or fewer days." if len(found) > MOST_TURNS else ""
    return ToolResult(
        lines,
        tuple(dict.fromkeys(item.unit.id for each in kept for item in each.units)),
        note if found else NOTHING,
    )


MOST_SORTS = 30  # maximum number of kinds and categories listed if nothing matches

CITED = "If the answer uses this value, give the numbers of the memories that entered in `based_on`."


class RecordsArguments(Dated):
    """Arguments of `records`: filters on records and a period."""

    kind: str | None = Field(None, min_length=1, max_length=512)
    category: str | None = Field(None, min_length=1, max_length=512)
    unit: str | None = Field(None, min_length=1, max_length=512)
    entity: str | None = Field(None, min_length=1, max_length=512)

    @property
    def words(self) -> RecordSelection:
        """The selection of records."""
        return RecordSelection(self.kind, self.category, self.unit, self.entity)


class AggregateArguments(RecordsArguments):
    """Arguments of `aggregate`: the aggregation, and the arguments of `records`."""

    how: Aggregation


async def records(arguments: RecordsArguments, context: ToolContext) -> ToolResult:
    """List all records that match, in order of time."""
    found = await context.reads.records(arguments.words, period=arguments.period)
    if not found:
        return ToolResult(await _sorts(arguments.words, context), note=NOTHING)
    kept = found[:MOST_LISTED]
    lines = tuple(record_line(context.numbers.memory(item), entry) for entry, item in kept)
    ids = tuple(dict.fromkeys(item.unit.id for _, item in kept))
    return ToolResult(lines, ids, note_on(len(kept), len(found)))


async def aggregate(arguments: AggregateArguments, context: ToolContext) -> ToolResult:
    """Compute one exact value; also list the memories used for it."""
    found, entered = await context.reads.aggregate(arguments.how, arguments.words, period=arguments.period)
    marks = [f"[{context.numbers.memory(item)}]" for item in entered]
    value = "none" if found.value is None else f"{found.value} {found.unit}".strip()
    lines = [f"{arguments.how} = {value}, from {len(marks)} memories"]
    if marks:
        lines.append(f"entered: {' '.join(marks)}")
    if found.left_out:
        lines.append(f"left out: {len(found.left_out)} memories whose records cannot be added up")
    if not marks and not found.left_out:
        lines += await _sorts(arguments.words, context)
    return ToolResult(tuple(lines), tuple(item.unit.id for item in entered), CITED if marks else NOTHING)


async def _sorts(words: RecordSelection, context: ToolContext) -> tuple[str, ...]:
    """List the kinds and categories of existing records, for a query that found none; only those of its kind and entity, if there are any."""
    for wider in (
        RecordSelection(words.kind, entity=words.entity),
        RecordSelection(entity=words.entity),
        RecordSelection(),
    ):
        if found := await context.reads.records(wider, period=ANY_TIME):
            sorts = Counter((entry.record.kind, entry.record.category) for entry, _ in found).most_common()
            return (sorts_line(sorts[:MOST_SORTS], entity=wider.entity, more=len(sorts) > MOST_SORTS),)
    return ()


class ObservationsArguments(Arguments):
    """Arguments of `observations`: an entity."""

    entity: str = Field(min_length=1, max_length=512)


async def observations(arguments: ObservationsArguments, context: ToolContext) -> ToolResult:
    """List all valid observations of an entity."""
    found = await context.reads.listed(
        types=(FactType.OBSERVATION,), entity=arguments.entity, period=ANY_TIME, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, context)


class UnitsArguments(Dated):
    """Arguments of `units`: an entity, networks and a period."""

    entity: str | None = Field(None, min_length=1, max_length=512)
    types: list[Network] | None = Field(None, min_length=1)


async def units(arguments: UnitsArguments, context: ToolContext) -> ToolResult:
    """List all memories that match, in order of time."""
    if arguments.entity is None and arguments.period.is_open:
        raise ToolProblem("it would list all of memory. Give entity, or start and end.")
    found = await context.reads.listed(
        types=tuple(map(FactType, arguments.types)) if arguments.types else OBSERVED_NETWORKS,
        entity=arguments.entity,
        period=arguments.period,
        limit=MOST_LISTED,
    )
    return shown_units(found.units, found.total, context)


class MentalModelsArguments(Arguments):
    """Arguments of `mental_models`: a question."""

    query: str = Field(min_length=1, max_length=2_000)


async def mental_models(arguments: MentalModelsArguments, context: ToolContext) -> ToolResult:
    """Find the mental models nearest to a query, with their answers."""
    found = [model for model in await context.reads.mental_models(arguments.query) if model.text]
    lines = tuple(mental_model_line(context.numbers.model(model), model) for model in found)
    return ToolResult(lines, note=note_on(len(found), len(found)))


LONGEST_PASSAGE = 6_000  # maximum number of characters of a passage that are shown; a passage has about 3,000


def _bare(given: object) -> object:
    return str(given).strip(" []") if isinstance(given, str | int) else given


class ExpandArguments(Arguments):
    """Arguments of `expand`: the number of a memory."""

    memory: Annotated[str, BeforeValidator(_bare)] = Field(min_length=1, max_length=12)


async def expand(arguments: ExpandArguments, context: ToolContext) -> ToolResult:
    """Return the turns a memory was made from, or the passage of its document."""
    item = context.numbers.shown.memories.get(arguments.memory)
    if item is None:
        raise ToolProblem(f"there is no memory [{arguments.memory}]. Give a number that was shown.")
    sources = await context.reads.sources(item)
    lines = [turn_line(context.numbers.turn(turn, (item,)), turn) for turn in sources.turns]
    if sources.passage:
        context.numbers.quote(sources.passage, (item,))
    # Each line is marked, because a document's line may look like a numbered memory.
    lines += [f"| {line}" for line in sources.passage[:LONGEST_PASSAGE].splitlines()]
    return ToolResult(tuple(lines), (item.unit.id,) if lines else (), "" if lines else NOTHING)


class ChronologyArguments(Dated):
    """Arguments of `chronology`: a period and an entity."""

    entity: str | None = Field(None, min_length=1, max_length=512)


async def chronology(arguments: ChronologyArguments, context: ToolContext) -> ToolResult:
    """List all facts of a period, ordered by the time at which they happened, or else were mentioned."""
    if arguments.start is None or arguments.end is None:
        raise ToolProblem("start and end are missing. Give both as YYYY-MM-DD.")
    found = await context.reads.listed(
        types=OBSERVED_NETWORKS, entity=arguments.entity, period=arguments.period, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, context)


LONGEST = 500  # maximum length of an expression, in characters
DEEPEST = 50  # maximum number of nested operations
LARGEST_EXPONENT = 100
MOST_PLACES = 20  # maximum number of decimal places for rounding
DIGITS = 50  # precision of the arithmetic
_MOST = Decimal("1e30")  # maximum absolute value of all intermediate results

_BINARY: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: (a / b).to_integral_value("ROUND_FLOOR"),
    ast.Mod: lambda a, b: a - b * (a / b).to_integral_value("ROUND_FLOOR"),
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Decimal], Decimal]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: Mapping[str, Callable[[list[Decimal]], Decimal]] = {
    "sum": lambda values: sum(values, Decimal(0)),
    "mean": lambda values: sum(values, Decimal(0)) / len(values),
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
    "round": lambda values: _rounded(*values[:2]),
}
FUNCTIONS = tuple(_FUNCTIONS)
"""The functions allowed in an expression; all take numbers."""


class NoArithmetic(ValueError):
    """An expression that cannot be evaluated; the message says why."""


def evaluated(expression: str) -> Decimal:
    """Evaluate an expression of numbers, + - * / // % **, parentheses and the functions above.

    Args:
        expression: up to 500 characters; digits may be grouped with "_".

    Raises:
        NoArithmetic: the expression is invalid, divides by zero, or an intermediate value exceeds 1e30.
    """
    if len(expression) > LONGEST:
        raise NoArithmetic(f"it has more than {LONGEST} characters")
    try:
        body = ast.parse(expression.strip(), mode="eval").body
        with localcontext(Context(prec=DIGITS, traps=[InvalidOperation, DivisionByZero, Overflow])):
            return _value(body, expression.strip(), DEEPEST)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise NoArithmetic("it is not an expression of numbers") from error
    except DecimalException as error:
        raise NoArithmetic("it divides by zero or has no value that is a number") from error
    except ValueError as error:
        raise NoArithmetic(str(error)) from error


def _value(node: ast.expr, text: str, depth: int) -> Decimal:
    if not depth:
        raise NoArithmetic(f"it is nested more than {DEEPEST} deep")
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return _bounded(_literal(node, text))
        case ast.BinOp(left, ast.Pow(), right):
            return _bounded(_power(_value(left, text, depth - 1), _value(right, text, depth - 1)))
        case ast.BinOp(left, operation, right) if type(operation) in _BINARY:
            apply = _BINARY[type(operation)]
            return _bounded(apply(_value(left, text, depth - 1), _value(right, text, depth - 1)))
        case ast.UnaryOp(sign, operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand, text, depth - 1))
        case ast.Call(ast.Name(name), args, []) if name in _FUNCTIONS and args:
            return _bounded(_FUNCTIONS[name]([_value(each, text, depth - 1) for each in args]))
    raise NoArithmetic(f"only numbers, + - * / // % ** ( ) and {', '.join(FUNCTIONS)} are allowed")


def _literal(node: ast.Constant, text: str) -> Decimal:
    """Return the number exactly as written: 0.1 is a tenth, not the nearest binary fraction."""
    written = ast.get_source_segment(text, node) or ""
    try:
        return Decimal(written.replace("_", ""))
    except DecimalException as error:
        raise NoArithmetic("numbers must be written in digits, such as 1250.50") from error


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > LARGEST_EXPONENT:
        raise NoArithmetic(f"an exponent is larger than {LARGEST_EXPONENT}")
    return base**exponent


def _bounded(value: Decimal) -> Decimal:
    if not value.is_finite() or abs(value) > _MOST:
        raise NoArithmetic("an intermediate value is too large")
    return value


def _rounded(value: Decimal, places: Decimal = Decimal(0)) -> Decimal:
    if places not in range(MOST_PLACES + 1):
        raise NoArithmetic(f"it must round to 0 to {MOST_PLACES} places")
    return value.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP)


SHOWN_DIGITS = 15  # significant digits shown of a longer result


class CalculatorArguments(Arguments):
    """Arguments of `calculator`: an expression."""

    expression: str = Field(min_length=1, max_length=LONGEST)


async def calculate(arguments: CalculatorArguments, _: ToolContext) -> ToolResult:
    """Evaluate an expression of numbers."""
    try:
        value = evaluated(arguments.expression)
    except NoArithmetic as error:
        raise ToolProblem(f"{error}. Write one arithmetic expression, such as 3 * (4.50 + 2).") from error
    exact = f"{value.normalize():f}"
    shown = exact if len(exact) <= SHOWN_DIGITS + 5 else f"about {value:.{SHOWN_DIGITS}g}"
    return ToolResult((f"{arguments.expression} = {shown}",))


class OpinionsArguments(Arguments):
    """Arguments of `opinions`: a question."""

    query: str = Field(min_length=1, max_length=2_000)


async def opinions(arguments: OpinionsArguments, context: ToolContext) -> ToolResult:
    """Find the beliefs nearest to a query; they cannot be cited as evidence."""
    recalled = await context.reads.recall(
        arguments.query, types=(FactType.OPINION,), period=ANY_TIME, max_tokens=context.max_tokens
    )
    found = recalled.units
    kept = fitting(found, context)
    lines = tuple(belief_line(context.numbers.belief(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), len(found)))


def _memory_tool(name: str, schema: type[A], use: Callable[[A, ToolContext], Awaitable[ToolResult]]) -> Tool:
    """Make a tool that reads memory; its usage is defined in `prompts/templates/reflect_tools.md`."""
    usage = tool_usage(name)

    async def call(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            checked = schema.model_validate(given)
        except ValidationError as error:
            raise ToolProblem(f"wrong arguments ({answer_problem(error)}). Usage: {usage}") from error
        return await use(checked, context)

    return Tool(name, usage, call)


MEMORY_TOOLS = (
    _memory_tool("recall", RecallArguments, recall),
    _memory_tool("chronology", ChronologyArguments, chronology),
    _memory_tool("units", UnitsArguments, units),
    _memory_tool("observations", ObservationsArguments, observations),
    _memory_tool("opinions", OpinionsArguments, opinions),
    _memory_tool("mental_models", MentalModelsArguments, mental_models),
    _memory_tool("search_turns", SearchTurnsArguments, search_turns),
    _memory_tool("expand", ExpandArguments, expand),
    _memory_tool("records", RecordsArguments, records),
    _memory_tool("aggregate", AggregateArguments, aggregate),
    _memory_tool("calculator", CalculatorArguments, calculate),
)


class Toolbox:
    """The memory tools and the caller's tools, by name.

    Args:
        given: the caller's tools.

    Attributes:
        callers: the names of the caller's tools.

    Raises:
        InvalidRequest: a caller's tool has no valid name, or its name is already in use.
    """

    def __init__(self, given: Sequence[GivenTool] = ()) -> None:
        own = {tool.name: tool for tool in MEMORY_TOOLS}
        found = callers_tools(given, {*own, ANSWER})
        self.callers = frozenset(tool.name for tool in found)
        self._tools = own | {tool.name: tool for tool in found}

    @property
    def usages(self) -> list[str]:
        """The usage of each tool, memory tools first."""
        return [tool.usage for tool in self._tools.values()]

    async def called(self, step: LookupStep, context: ToolContext) -> ToolResult:
        """Call the tool named in a step.

        Raises:
            ToolProblem: the tool is unknown, its arguments are wrong, or it failed; the message is for the model.
        """
        tool = self._tools.get(step.tool)
        if tool is None:
            raise ToolProblem(f"there is no such tool. The tools are {', '.join(self._tools)}; or {ANSWER}.")
        try:
            return await tool.call(step.given, context)
        except (InvalidRequest, MemoryDamaged) as error:
            raise ToolProblem(str(error)) from error


def call_key(tool: str, arguments: Mapping[str, object]) -> str:
    """Return a key that is the same for identical calls."""
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
