"""Arithmetic in words, exact: an expression of numbers, evaluated without running anything. Pure."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
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
        raise NoArithmetic("it is no expression of numbers") from error
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
