"""Dates in figures: which of them is the day is known, or follows from their size, or stays open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from hindsight_integrations.model.time import DateOrder

FIGURES = re.compile(
    r"(?<![\w./-])(?P<a>[0-9]{1,4})\s?(?P<mark>[-/.])\s?(?P<b>[0-9]{1,2})\s?(?P=mark)\s?(?P<c>[0-9]{1,4})"
    r"(?![\w/-])(?!\.[0-9])"
)
"""Three figures with the same mark between them."""
_CENTURY_TURN = 69  # "69" is 1969, "68" is 2068 [POSIX, strptime %y]


def date_of_figures(figures: re.Match[str], order: DateOrder | None = None) -> date | None:
    """The date of three figures.

    Args:
        figures: a match of `FIGURES`.
        order: in which they are written; None if that is not known.

    Returns:
        The date of that order; if it makes none or is not known, the date that all orders agree on, else None.
    """
    parts = figures["a"], figures["b"], figures["c"]
    if order and (given := list(_in_order(parts, order))):
        return given[0]
    days = {day for one in DateOrder for day in _in_order(parts, one)}
    return days.pop() if len(days) == 1 else None


def _in_order(parts: tuple[str, str, str], order: DateOrder) -> Iterator[date]:
    """The date that an order makes of three figures, if it makes one."""
    placed = dict(zip(order.value, parts, strict=True))
    if len(placed["y"]) not in {2, 4} or len(placed["d"]) > 2:
        return
    year = int(placed["y"])
    if len(placed["y"]) == 2:
        year += 2000 if year < _CENTURY_TURN else 1900
    try:
        yield date(year, int(placed["m"]), int(placed["d"]))
    except ValueError:
        return
