"""calculator: exact arithmetic."""

from __future__ import annotations

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.arithmetic import LONGEST, NoArithmetic, evaluated
from hindsight_integrations.cara.reflection.agentic.tool import (
    Arguments,
    Bench,
    MemoryTool,
    ToolProblem,
    ToolResult,
)

SHOWN_DIGITS = 15  # of a result that does not end


class CalculatorArguments(Arguments):
    """What to compute."""

    expression: str = Field(min_length=1, max_length=LONGEST)


async def calculate(given: CalculatorArguments, _: Bench) -> ToolResult:
    """The value of an expression of numbers."""
    try:
        value = evaluated(given.expression)
    except NoArithmetic as error:
        raise ToolProblem(f"{error}. Write one expression of numbers, as 3 * (4.50 + 2).") from error
    exact = f"{value.normalize():f}"
    shown = exact if len(exact) <= SHOWN_DIGITS + 5 else f"about {value:.{SHOWN_DIGITS}g}"
    return ToolResult((f"{given.expression} = {shown}",))


CALCULATOR = MemoryTool("calculator", CalculatorArguments, calculate)
