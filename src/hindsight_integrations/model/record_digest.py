"""Record digests: exact figures of the records that a question is about, and the records themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from hindsight_integrations.model.display import Displayed, Table, count
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.rows import Tabular
from hindsight_integrations.model.time import Granule, Interval

TABLE = "table"
"""The `kind` of a digest in the metadata that frameworks see."""


class Bound(StrEnum):
    """The direction of a target."""

    AT_LEAST = ">="
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class GoalTarget:
    """A number to reach, or not to exceed.

    Attributes:
        value: the number.
        bound: the direction.
        unit: unit of the number, canonical, without the period; may be empty.
        period: the period it applies to: a day, a week, a month.
    """

    value: Decimal
    bound: Bound
    unit: str = ""
    period: Granule = Granule.DAY

    def met_by(self, value: Decimal) -> bool:
        """Tell whether a value meets the target."""
        return value <= self.value if self.bound is Bound.AT_MOST else value >= self.value


@dataclass(frozen=True, slots=True)
class GoalStanding:
    """The records of one category compared with a goal of the bank.

    Attributes:
        target: the goal.
        unit_id: the memory of the goal.
        days: first and last day of the period: the one asked about, else the current one.
        value: total of the records of that period; None if it has none.
        met: number of periods with records, within the time asked about, in which the goal was met.
        periods: number of periods with records in that time.
    """

    target: GoalTarget
    unit_id: str
    days: tuple[date, date]
    value: Decimal | None
    met: int
    periods: int


@dataclass(frozen=True, slots=True)
class DayValue:
    """A value and its day."""

    value: Decimal | str
    day: date


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the records of one time range, in one unit.

    Attributes:
        when: the range in words: "today", "this week", "this month", "all time", or "asked" for the
            question's own.
        days: its first and last day; None for all time.
        unit: of the values, canonical; empty for none.
        count: number of records.
        total: exact sum; None if values do not add up, are not numbers, or the sum has more than 100 digits.
        mean: mean, to the 28 digits of `Decimal`; None if a value is not a number.
        smallest: the smallest, the first of equal ones; None likewise.
        largest: the largest, likewise.
        latest: the last.
        per_day: mean of the daily sums, over days with records; None if values do not add up.
        most: the largest daily sum, likewise.
    """

    when: str
    days: tuple[date, date] | None
    unit: str
    count: int
    total: Decimal | None
    mean: Decimal | None
    smallest: DayValue | None
    largest: DayValue | None
    latest: DayValue | None
    per_day: Decimal | None = None
    most: DayValue | None = None


@dataclass(frozen=True, slots=True)
class PeriodValue:
    """The sum of the records of one day, week or month.

    Attributes:
        start: its first day.
        end: its last day.
        value: the sum.
    """

    start: date
    end: date
    value: Decimal


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One record of a digest.

    Attributes:
        text: as displayed.
        unit_id: its memory.
        record: the record.
        at: when it began to happen, or was mentioned.
        valid: whether its memory is valid at the time asked about.
    """

    text: str
    unit_id: str
    record: Record
    at: datetime
    valid: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class RecordDigest(Displayed, Tabular):
    """Exact figures of the records that a question is about, and all or the latest of these records.

    Attributes:
        kind: kind of the records.
        categories: names of the categories; empty for any.
        window: the time asked about; None for any.
        figures: figures of the time asked about, then of shorter and longer ranges, one per unit; empty for
            kinds without numbers.
        periods: the sum of each day, week or month with records, if the question asks for these.
        goals: progress towards goals of the bank.
        heading: figures, goals, what was not counted, and whether the rows are complete, in words.
        rows: in order of time.
        tokens: token cost of `text`.
        of: total number of rows; if too many memories have records to be read, each unread one counts as one
            row.
        unit_ids: the memories used in a figure, a goal or a row.
        asked: figures of the time asked about, else of all time, for the first unit if there are several;
            None if there are none, or too many records to add up.
    """

    kind: RecordKind
    categories: tuple[str, ...]
    window: Interval | None
    figures: tuple[Figures, ...]
    periods: tuple[PeriodValue, ...]
    goals: tuple[GoalStanding, ...]
    heading: str
    rows: tuple[RecordRow, ...]
    tokens: int
    of: int
    unit_ids: tuple[str, ...]
    asked: Figures | None = None

    @property
    def complete(self) -> bool:
        """Whether no row was left out because of the budget."""
        return len(self.rows) == self.of

    @property
    def text(self) -> str:
        """Heading and rows, one per line."""
        return "\n".join([self.heading, *(row.text for row in self.rows)])

    @property
    def id(self) -> str:
        """An id for frameworks that need one for every result."""
        return ":".join(["records", self.kind.value, *self.categories])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that frameworks carry with its text, as JSON values."""
        return {
            "kind": TABLE,
            "record_kind": self.kind.value,
            "categories": list(self.categories),
            "rows": len(self.rows),
            "of": self.of,
            "complete": self.complete,
            "unit_ids": list(self.unit_ids),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": row.record.kind.value,
                "category": row.record.category,
                "value": row.record.value,
                "unit": row.record.unit,
                "stated": row.record.stated,
                "at": row.at,
                "valid": row.valid,
                "text": row.text,
                "memory_id": row.unit_id,
            }
            for row in self.rows
        ]

    def _display_facts(self) -> tuple[str, ...]:
        rows = count(self.of, "record") if self.complete else f"{len(self.rows):,} of {self.of:,} records"
        total = self.asked.total if self.asked else None
        summed = "" if total is None else f"sum {total} {self.asked.unit if self.asked else ''}".strip()
        return " ".join((self.kind.value, *self.categories)), rows, summed

    def _display_tables(self) -> tuple[Table, ...]:
        heading = [(line,) for line in self.heading.splitlines()]
        rows = [(row.record.category, row.record.words, row.at, row.text) for row in self.rows]
        return Table((), heading, full=True), Table(("category", "value", "when", "text"), rows)
