"""The tools over memory, and the toolbox that calls them and the caller's."""

from __future__ import annotations

import ast
import json
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
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
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.model.aggregates import Aggregation
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType
from hindsight_integrations.prompts.memories import belief_line, mental_model_line
from hindsight_integrations.prompts.reflect_step import ANSWER, LookupStep
from hindsight_integrations.prompts.reflect_tools import record_line, sorts_line, turn_line
from hindsight_integrations.reflect.agentic.callers_tools import GivenTool, callers_tools
from hindsight_integrations.reflect.agentic.tool import (
    MOST_LISTED,
    NOTHING,
    Arguments,
    Dated,
    MemoryTool,
    Tool,
    ToolContext,
    ToolProblem,
    ToolResult,
    fitting,
    note_on,
    shown_units,
)
from hindsight_integrations.reflect.context import ANY_TIME, RecordWords

Network = Literal["world", "experience", "observation"]


class RecallArguments(Dated):
    """A question, networks and days."""

    query: str = Field(min_length=1, max_length=2_000)
    types: list[Network] | None = Field(None, min_length=1)


async def recall(given: RecallArguments, context: ToolContext) -> ToolResult:
    """The memories nearest to a question, best first."""
    types = tuple(map(FactType, given.types)) if given.types else OBSERVED_NETWORKS
    found = await context.reads.recall(
        given.query, types=types, period=given.period, max_tokens=context.max_tokens
    )
    shown = shown_units(found.units, len(found.units), context)
    figures = tuple(line for digest in found.records for line in digest.text.splitlines())
    return replace(shown, lines=figures + shown.lines, note=shown.note if shown.lines or not figures else "")


MOST_TURNS = 20  # of one search
FEWEST_LETTERS = 2  # a single letter is in nearly every turn


class SearchTurnsArguments(Dated):
    """Words and days."""

    words: str = Field(min_length=1, max_length=200)


async def search_turns(given: SearchTurnsArguments, context: ToolContext) -> ToolResult:
    """Turns that have these words one after the other, oldest first."""
    if sum(letter.isalnum() for letter in given.words) < FEWEST_LETTERS:
        raise ToolProblem("words is too short. Give a word or some words of what was said.")
    found = await context.reads.turns_saying(given.words, period=given.period, limit=MOST_TURNS + 1)
    kept = found[:MOST_TURNS]
    lines = tuple(turn_line(context.numbers.turn(each.turn, each.units), each.turn) for each in kept)
    note = "There are more; use more words or fewer days." if len(found) > MOST_TURNS else ""
    return ToolResult(
        lines,
        tuple(dict.fromkeys(item.unit.id for each in kept for item in each.units)),
        note if found else NOTHING,
    )


MOST_SORTS = 30  # kinds and categories named where nothing matches

CITED = "An answer that uses this value gives the numbers of the memories that entered in `based_on`."


class RecordsArguments(Dated):
    """Which records, and days."""

    kind: str | None = Field(None, min_length=1, max_length=512)
    category: str | None = Field(None, min_length=1, max_length=512)
    unit: str | None = Field(None, min_length=1, max_length=512)
    entity: str | None = Field(None, min_length=1, max_length=512)

    @property
    def words(self) -> RecordWords:
        """Which records are meant."""
        return RecordWords(self.kind, self.category, self.unit, self.entity)


class AggregateArguments(RecordsArguments):
    """What to compute, over which records."""

    how: Aggregation


async def records(given: RecordsArguments, context: ToolContext) -> ToolResult:
    """Every record of this sort, in order of time."""
    found = await context.reads.records(given.words, period=given.period)
    if not found:
        return ToolResult(await _sorts(given.words, context), note=NOTHING)
    kept = found[:MOST_LISTED]
    lines = tuple(record_line(context.numbers.memory(item), entry) for entry, item in kept)
    ids = tuple(dict.fromkeys(item.unit.id for _, item in kept))
    return ToolResult(lines, ids, note_on(len(kept), len(found)))


async def aggregate(given: AggregateArguments, context: ToolContext) -> ToolResult:
    """One exact value, with the numbers of the memories that entered it."""
    found, entered = await context.reads.aggregate(given.how, given.words, period=given.period)
    marks = [f"[{context.numbers.memory(item)}]" for item in entered]
    value = "none" if found.value is None else f"{found.value} {found.unit}".strip()
    lines = [f"{given.how} = {value}, from {len(marks)} memories"]
    if marks:
        lines.append(f"entered: {' '.join(marks)}")
    if found.left_out:
        lines.append(f"left out: {len(found.left_out)} memories whose records cannot be added up")
    if not marks and not found.left_out:
        lines += await _sorts(given.words, context)
    return ToolResult(tuple(lines), tuple(item.unit.id for item in entered), CITED if marks else NOTHING)


async def _sorts(words: RecordWords, context: ToolContext) -> tuple[str, ...]:
    """Which kinds and categories there are, where none that match: as near to what was asked for as there are any."""
    for wider in (
        RecordWords(words.kind, entity=words.entity),
        RecordWords(entity=words.entity),
        RecordWords(),
    ):
        if found := await context.reads.records(wider, period=ANY_TIME):
            sorts = Counter((entry.record.kind, entry.record.category) for entry, _ in found).most_common()
            return (sorts_line(sorts[:MOST_SORTS], entity=wider.entity, more=len(sorts) > MOST_SORTS),)
    return ()


class ObservationsArguments(Arguments):
    """An entity."""

    entity: str = Field(min_length=1, max_length=512)


async def observations(given: ObservationsArguments, context: ToolContext) -> ToolResult:
    """Every observation of an entity that holds."""
    found = await context.reads.listed(
        types=(FactType.OBSERVATION,), entity=given.entity, period=ANY_TIME, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, context)


class UnitsArguments(Dated):
    """An entity, networks and days."""

    entity: str | None = Field(None, min_length=1, max_length=512)
    types: list[Network] | None = Field(None, min_length=1)


async def units(given: UnitsArguments, context: ToolContext) -> ToolResult:
    """Every memory that matches, in order of time."""
    if given.entity is None and given.period.is_open:
        raise ToolProblem("it would list all of memory. Give entity, or start and end.")
    found = await context.reads.listed(
        types=tuple(map(FactType, given.types)) if given.types else OBSERVED_NETWORKS,
        entity=given.entity,
        period=given.period,
        limit=MOST_LISTED,
    )
    return shown_units(found.units, found.total, context)


class MentalModelsArguments(Arguments):
    """A matter."""

    query: str = Field(min_length=1, max_length=2_000)


async def mental_models(given: MentalModelsArguments, context: ToolContext) -> ToolResult:
    """The standing questions nearest to a matter, with their answers."""
    found = [model for model in await context.reads.mental_models(given.query) if model.text]
    lines = tuple(mental_model_line(context.numbers.model(model), model) for model in found)
    return ToolResult(lines, note=note_on(len(found), len(found)))


LONGEST_PASSAGE = 6_000  # characters shown; a passage has about 3,000


def _bare(given: object) -> object:
    return str(given).strip(" []") if isinstance(given, str | int) else given


class ExpandArguments(Arguments):
    """A memory, by its number."""

    memory: Annotated[str, BeforeValidator(_bare)] = Field(min_length=1, max_length=12)


async def expand(given: ExpandArguments, context: ToolContext) -> ToolResult:
    """The turns a memory was made from, or the passage of its document."""
    item = context.numbers.shown.memories.get(given.memory)
    if item is None:
        raise ToolProblem(f"there is no memory [{given.memory}]. Give a number that was shown.")
    sources = await context.reads.sources(item)
    lines = [turn_line(context.numbers.turn(turn, (item,)), turn) for turn in sources.turns]
    if sources.passage:
        context.numbers.quote(sources.passage, (item,))
    # Marked, since a line of a document may look like a memory of another number.
    lines += [f"| {line}" for line in sources.passage[:LONGEST_PASSAGE].splitlines()]
    return ToolResult(tuple(lines), (item.unit.id,) if lines else (), "" if lines else NOTHING)


class ChronologyArguments(Dated):
    """Days, and an entity."""

    entity: str | None = Field(None, min_length=1, max_length=512)


async def chronology(given: ChronologyArguments, context: ToolContext) -> ToolResult:
    """Every fact of these days, in order of when it happened, else was mentioned."""
    if given.start is None or given.end is None:
        raise ToolProblem("start and end are missing. Give both as YYYY-MM-DD.")
    found = await context.reads.listed(
        types=OBSERVED_NETWORKS, entity=given.entity, period=given.period, limit=MOST_LISTED
    )
    return shown_units(found.units, found.total, context)


LONGEST = 500  # characters of an expression
DEEPEST = 50  # operations within each other
LARGEST_EXPONENT = 100  # of a power
MOST_PLACES = 20  # after the point, of what is rounded
DIGITS = 50  # of a result
_MOST = Decimal("1e30")  # of any number on the way; money and steps are smaller

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
"""What may be called in an expression; each takes numbers."""


class NoArithmetic(ValueError):
    """An expression that is not evaluated; the message says why."""


def evaluated(expression: str) -> Decimal:
    """The value of an expression of numbers, + - * / // % ** and brackets, and the functions above.

    Args:
        expression: up to 500 characters; figures may be grouped by "_".

    Raises:
        NoArithmetic: it is anything else, divides by nothing, or a number on the way is beyond 1e30.
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
    raise NoArithmetic(f"only numbers, + - * / // % ** ( ) and {', '.join(FUNCTIONS)} may stand in it")


def _literal(node: ast.Constant, text: str) -> Decimal:
    """The number as it is written: 0.1 is a tenth, not the nearest binary fraction."""
    written = ast.get_source_segment(text, node) or ""
    try:
        return Decimal(written.replace("_", ""))
    except DecimalException as error:
        raise NoArithmetic("numbers are written in figures, as 1250.50") from error


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > LARGEST_EXPONENT:
        raise NoArithmetic(f"an exponent is beyond {LARGEST_EXPONENT}")
    return base**exponent


def _bounded(value: Decimal) -> Decimal:
    if not value.is_finite() or abs(value) > _MOST:
        raise NoArithmetic("a number on the way is too large")
    return value


def _rounded(value: Decimal, places: Decimal = Decimal(0)) -> Decimal:
    """Half up, as people round."""
    if places not in range(MOST_PLACES + 1):
        raise NoArithmetic(f"it rounds to other than 0 to {MOST_PLACES} places")
    return value.quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP)


SHOWN_DIGITS = 15  # of a result that does not end


class CalculatorArguments(Arguments):
    """An expression."""

    expression: str = Field(min_length=1, max_length=LONGEST)


async def calculate(given: CalculatorArguments, _: ToolContext) -> ToolResult:
    """The value of an expression of numbers."""
    try:
        value = evaluated(given.expression)
    except NoArithmetic as error:
        raise ToolProblem(f"{error}. Write one expression of numbers, as 3 * (4.50 + 2).") from error
    exact = f"{value.normalize():f}"
    shown = exact if len(exact) <= SHOWN_DIGITS + 5 else f"about {value:.{SHOWN_DIGITS}g}"
    return ToolResult((f"{given.expression} = {shown}",))


class OpinionsArguments(Arguments):
    """A matter."""

    query: str = Field(min_length=1, max_length=2_000)


async def opinions(given: OpinionsArguments, context: ToolContext) -> ToolResult:
    """The beliefs nearest to a matter. They get marks of their own, which an answer cannot cite."""
    recalled = await context.reads.recall(
        given.query, types=(FactType.OPINION,), period=ANY_TIME, max_tokens=context.max_tokens
    )
    found = recalled.units
    kept = fitting(found, context)
    lines = tuple(belief_line(context.numbers.belief(item), item) for item in kept)
    return ToolResult(lines, tuple(item.unit.id for item in kept), note_on(len(kept), len(found)))


MEMORY_TOOLS: tuple[Tool, ...] = (
    MemoryTool("recall", RecallArguments, recall),
    MemoryTool("chronology", ChronologyArguments, chronology),
    MemoryTool("units", UnitsArguments, units),
    MemoryTool("observations", ObservationsArguments, observations),
    MemoryTool("opinions", OpinionsArguments, opinions),
    MemoryTool("mental_models", MentalModelsArguments, mental_models),
    MemoryTool("search_turns", SearchTurnsArguments, search_turns),
    MemoryTool("expand", ExpandArguments, expand),
    MemoryTool("records", RecordsArguments, records),
    MemoryTool("aggregate", AggregateArguments, aggregate),
    MemoryTool("calculator", CalculatorArguments, calculate),
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

    async def called(self, step: LookupStep, context: ToolContext) -> ToolResult:
        """What a call gives.

        Raises:
            ToolProblem: there is no such tool, its arguments are wrong, or it failed; the message is for the model.
        """
        tool = self._tools.get(step.tool)
        if tool is None:
            raise ToolProblem(f"there is no such tool. The tools are {', '.join(self._tools)}; or {ANSWER}.")
        try:
            return await tool.call(step.given, context)
        except (InvalidRequest, MemoryDamaged) as error:
            raise ToolProblem(str(error)) from error


def call_key(tool: str, arguments: Mapping[str, object]) -> str:
    """What makes two calls the same."""
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"
