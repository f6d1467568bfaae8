"""Records with their memories, exact sums, and aggregates with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, localcontext
from enum import StrEnum
from typing import Any

from hindsight_integrations.model.display import Displayed, Table, count, day, fields
from hindsight_integrations.model.records import Record
from hindsight_integrations.model.rows import Tabular
from hindsight_integrations.model.units import MemoryUnit

WIDE = Context(prec=28, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
"""A decimal context in which no value of a record overflows or underflows."""

MOST_DIGITS = 100  # maximum digits of an exact sum; real amounts need fewer (1e30 plus cents has 33)


def exact_sum(values: Sequence[Decimal]) -> Decimal | None:
    """Sum values without rounding; the sum of an empty list is 0.

    Decimal's default context keeps only 28 digits: 1e30 + 0.10 would be 1e30.

    Args:
        values: finite numbers.

    Returns:
        The sum; None if it has more than `MOST_DIGITS` digits.
    """
    with localcontext() as context:
        context.prec, context.traps[Inexact] = MOST_DIGITS, True
        try:
            return sum(values, Decimal(0))
        except Inexact:
            return None


def total(values: Sequence[Decimal]) -> Decimal:
    """Sum values, exactly up to `MOST_DIGITS` digits, otherwise rounded to 28 digits; the sum of an empty list is 0."""
    exact = exact_sum(values)
    with localcontext(WIDE):
        return sum(values, Decimal(0)) if exact is None else exact


@dataclass(frozen=True, slots=True, repr=False)
class RecordEntry(Displayed):
    """A record with its memory."""

    record: Record
    memory: MemoryUnit

    @property
    def at(self) -> datetime:
        """The start of the memory's interval, or its mention time if it has none."""
        return self.memory.began

    def _display_text(self) -> str:
        return self.memory.text

    def _display_facts(self) -> tuple[str, ...]:
        record = self.record
        return " ".join(filter(None, (record.kind.value, record.category, record.words))), day(self.at)

    def _display_tables(self) -> tuple[Table, ...]:
        record = self.record
        return (
            fields(
                kind=record.kind.value,
                category=record.category,
                value=record.words,
                when=self.at,
                memory=self.memory.text,
                memory_id=self.memory.id,
            ),
        )


def record_row(entry: RecordEntry) -> dict[str, Any]:
    """Return a record and its memory as a table row."""
    return {
        "kind": entry.record.kind.value,
        "category": entry.record.category,
        "value": entry.record.value,
        "unit": entry.record.unit,
        "stated": entry.record.stated,
        "at": entry.at,
        "closed_at": entry.memory.closed_at,
        "memory": entry.memory.text,
        "memory_id": entry.memory.id,
    }


class RecordEntries(Displayed, Tabular, list[RecordEntry]):
    """A list of records with their memories."""

    __slots__ = ()

    def _rows(self) -> list[dict[str, Any]]:
        return [record_row(entry) for entry in self]

    def _display_facts(self) -> tuple[str, ...]:
        return (count(len(self), "record"),)

    def _display_tables(self) -> tuple[Table, ...]:
        rows = [(e.record.kind.value, e.record.category, e.record.words, e.at, e.memory.text) for e in self]
        return (Table(("kind", "category", "value", "when", "memory"), rows),)


class Aggregation(StrEnum):
    """The function that combines records into one value."""

    SUM = "sum"
    COUNT = "count"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    LAST = "last"


@dataclass(frozen=True, slots=True, repr=False)
class Aggregate(Displayed):
    """An exact aggregate over records.

    Attributes:
        value: the result; None if no record was used, but 0 for a sum or count.
        unit: the unit of the values ("USD"); empty if they have none.
        units: the memories used, in order of time.
        left_out: the memories with a record that was not used, because it is text or, if no kind was requested, of kind
            OTHER.
        spellings: the distinct spellings of the categories used, sorted.
        converted: the units from which values were converted to `unit`, sorted.
    """

    value: Decimal | str | None
    unit: str
    units: tuple[MemoryUnit, ...]
    left_out: tuple[MemoryUnit, ...] = ()
    spellings: tuple[str, ...] = ()
    converted: tuple[str, ...] = ()

    def _display_facts(self) -> tuple[str, ...]:
        value = "no value" if self.value is None else f"{self.value} {self.unit}".strip()
        left_out = f"{len(self.left_out):,} left out" if self.left_out else ""
        return value, f"from {count(len(self.units), 'memory', 'memories')}", left_out

    def _display_tables(self) -> tuple[Table, ...]:
        rows = [
            *((unit.text, unit.began, "") for unit in self.units),
            *((unit.text, unit.began, "left out") for unit in self.left_out),
        ]
        return Table(("memory", "when", ""), rows), fields(spellings=self.spellings, converted=self.converted)
