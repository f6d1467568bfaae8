"""Exact answers: whether a text gives the very number asked for, without a judge."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from hindsight_evals.metrics.stating import tokens_of


def gives_number(answer: str, expected: str) -> bool:
    """Whether one of the numbers of an answer is the one expected: "1,234.50" gives 1234.5, "four" gives 4, "-3" gives 3.

    Raises:
        InvalidOperation: what is expected is no number.
    """
    wanted = abs(Decimal(expected))
    return any(_is(number, wanted) for number in tokens_of(answer)[0])


def _is(number: str, wanted: Decimal) -> bool:
    try:
        return Decimal(number) == wanted
    except InvalidOperation:
        return False
