"""The calculator of a reflection: exact arithmetic and nothing else."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.reflect.toolbox import LONGEST, NoArithmetic, evaluated


@every_row(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("3.41 + 0.1 + 0.2", "3.71"),
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * -4", "-20"),
        ("2 ** 10", "1024"),
        ("2 ** -2", "0.25"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("1_250.50 * 2", "2501"),
        ("sum(1, 2.5, 3)", "6.5"),
        ("mean(1, 2)", "1.5"),
        ("max(3, 9) - min(3, 9)", "6"),
        ("abs(-3.5)", "3.5"),
        ("round(2.5)", "3"),
        ("round(10 / 3, 2)", "3.33"),
    ],
)
def test_it_is_exact(expression: str, value: str) -> None:
    """Decimals are exact, and 2.5 rounds to 3."""
    assert evaluated(expression) == Decimal(value)


@every_row(
    "expression",
    [
        "__import__('os').system('true')",
        "open('x')",
        "x",
        "'a' * 3",
        "True",
        "[1, 2]",
        "1 if 1 else 2",
        "lambda: 1",
        "1 < 2",
        "sum(*[1])",
        "sum(x=1)",
        "max()",
        "1j",
        "0x10",
        "1 / 0",
        "0 / 0",
        "(-2) ** 0.5",
        "2 ** 1000",
        "9 ** 9 ** 9",
        "10 ** 30 * 11",
        "1e400",
        "round(1, 1000000)",
        "round(1, -1)",
        "(" * 300,
        "-" * 400 + "1",
        "1" * (LONGEST + 1),
        "",
        "1 +",
        "1; 2",
    ],
)
def test_it_is_nothing_but_arithmetic(expression: str) -> None:
    """Names, strings and huge numbers are rejected; nothing is executed and nothing hangs."""
    with pytest.raises(NoArithmetic):
        evaluated(expression)


NUMBERS = st.decimals(min_value=-9999, max_value=9999, places=2)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_it_computes_as_fractions_do(a: Decimal, b: Decimal, c: Decimal) -> None:
    """Results equal those of rational numbers."""
    assert Fraction(evaluated(f"({a}) + ({b}) * ({c})")) == Fraction(a) + Fraction(b) * Fraction(c)
