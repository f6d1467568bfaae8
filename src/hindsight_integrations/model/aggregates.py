"""Adding up records: what to compute, and the answer with everything that entered it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from hindsight_integrations.model.units import MemoryUnit


class Aggregation(StrEnum):
    """How records become one value."""

    SUM = "sum"
    COUNT = "count"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value over records, exact to the last digit.

    Attributes:
        value: the answer; None where no record entered (a sum or count of none is 0).
        unit: the unit of the values ("USD"), empty if they have none.
        units: the memories that entered, in order of time.
        left_out: memories with a record that is text and cannot be computed with.
    """

    value: Decimal | str | None
    unit: str
    units: tuple[MemoryUnit, ...]
    left_out: tuple[MemoryUnit, ...] = ()
