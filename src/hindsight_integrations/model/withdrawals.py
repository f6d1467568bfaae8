"""What retraction decided about units, as a caller sees it (design section 7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A unit that a later one made obsolete, wholly (closed) or in part (amended).

    Attributes:
        unit_id: the unit concerned.
        by_unit: the unit that stated it.
        statement: what was withdrawn, in words.
        score: how well the statement fits the unit, in [0, 1].
    """

    unit_id: str
    by_unit: str
    statement: str
    score: float


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A statement that fits different units about equally well; nothing was closed.

    Attributes:
        statement: what was withdrawn, in words.
        by_unit: the unit that stated it.
        candidates: ids of the units it may mean, best first.
        score: how well it fits the best of them, in [0, 1].
    """

    statement: str
    by_unit: str
    candidates: tuple[str, ...]
    score: float
