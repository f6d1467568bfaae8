"""Listing and adding up records: an entry of the list, what to compute, and the answer with everything that entered it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from hindsight_integrations.model.records import Record
from hindsight_integrations.model.units import MemoryUnit


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """A record, and the memory it stands in."""

    record: Record
    memory: MemoryUnit

    @property
    def at(self) -> datetime:
        """When it begins to have happened, or was mentioned if it has no time of its own."""
        return self.memory.began


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
        left_out: memories with a record that did not enter: of text, which cannot be computed with, or of kind OTHER where
            no kind was asked for.
        spellings: how the categories of what entered were stated, each once, in order of the alphabet.
        converted: units of values that were converted into `unit`, in order of the alphabet.
    """

    value: Decimal | str | None
    unit: str
    units: tuple[MemoryUnit, ...]
    left_out: tuple[MemoryUnit, ...] = ()
    spellings: tuple[str, ...] = ()
    converted: tuple[str, ...] = ()
