"""Sums with every digit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, localcontext

WIDE = Context(prec=28, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""No value of a record is so large or small that computing with it fails."""

MOST_DIGITS = 100  # of a sum: an amount of 1e30 beside cents has 33; what needs more is no amount [no source]


def exact_sum(values: Sequence[Decimal]) -> Decimal | None:
    """The sum, of which no digit is rounded away; 0 of none.

    Decimal's own context keeps 28 digits: in it 1e30 and 0.10 come to 1e30.

    Args:
        values: finite numbers.

    Returns:
        None where the sum has more than `MOST_DIGITS`.
    """
    with localcontext() as context:
        context.prec, context.traps[Inexact] = MOST_DIGITS, True
        try:
            return sum(values, Decimal(0))
        except Inexact:
            return None


def total(values: Sequence[Decimal]) -> Decimal:
    """The sum; 0 of none. Exact, unless it has more digits than any amount has: then to the 28 of Decimal's context."""
    found = exact_sum(values)
    with localcontext(WIDE):
        return sum(values, Decimal(0)) if found is None else found
