"""Exact answers: whether a text contains the expected number, without a judge."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from hindsight_evals.metrics.stating import tokens_of


def gives_number(answer: str, expected: str) -> bool:
    """Return whether one of the numbers in an answer is the expected one: "1,234.50" is 1234.5, "four" is 4, "-3" is 3.

    Raises:
        InvalidOperation: the expected value is not a number.
    """
    wanted = abs(Decimal(expected))
    return any(_is(number, wanted) for number in tokens_of(answer)[0])


def _is(number: str, wanted: Decimal) -> bool:
    try:
        return Decimal(number) == wanted
    except InvalidOperation:
        return False
