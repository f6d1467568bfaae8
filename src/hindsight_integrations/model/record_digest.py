"""RecordDigest: the exact figures of the records that a question touches, and the records themselves."""

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
"""The `kind` of a digest among memories, where frameworks tell what they hold apart."""


class Bound(StrEnum):
    """What a target asks for."""

    AT_LEAST = ">="
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class GoalTarget:
    """A number to reach, or not to exceed.

    Attributes:
        value: the number.
        bound: which side of it is met.
        unit: of the number, canonical, without what it is per; may be empty.
        period: what the number is for: a day, a week, a month.
    """

    value: Decimal
    bound: Bound
    unit: str = ""
    period: Granule = Granule.DAY

    def met_by(self, value: Decimal) -> bool:
        """Whether a value is on the side that is asked for."""
        return value <= self.value if self.bound is Bound.AT_MOST else value >= self.value


@dataclass(frozen=True, slots=True)
class GoalStanding:
    """How the records of one category stand to a goal of the bank.

    Attributes:
        target: the goal.
        unit_id: the memory of the goal.
        days: first and last day of the period looked at: the one asked about, else the present one.
        value: what the records of that period come to; None where it has none.
        met: in how many of the periods with records the goal was met, in the time asked about.
        periods: how many periods with records that time has.
    """

    target: GoalTarget
    unit_id: str
    days: tuple[date, date]
    value: Decimal | None
    met: int
    periods: int


@dataclass(frozen=True, slots=True)
class DayValue:
    """A value and the day it is of."""

    value: Decimal | str
    day: date


@dataclass(frozen=True, slots=True)
class Figures:
    """What the records of one time come to, in one unit.

    Attributes:
        when: the time in words: "today", "this week", "this month", "all time", or "asked" for the question's own.
        days: its first and last day; None for all time.
        unit: of the values, canonical; empty for none.
        count: how many records it has.
        total: their exact sum; None where values do not add up, are no numbers, or have more than 100 digits.
        mean: their mean, to the 28 digits of `Decimal`; None where one is no number.
        smallest: the smallest, the first of equal ones; None likewise.
        largest: the largest, likewise.
        latest: the last.
        per_day: the mean of the days' sums, over days with records; None where values do not add up.
        most: the largest sum of a day, likewise.
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
    """What the records of one day, week or month come to.

    Attributes:
        start: its first day.
        end: its last day.
        value: their sum.
    """

    start: date
    end: date
    value: Decimal


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One record of a digest.

    Attributes:
        text: as it is shown.
        unit_id: the memory it stands in.
        record: the record.
        at: when it begins to have happened, or was mentioned.
        valid: whether its memory holds at the time asked about.
    """

    text: str
    unit_id: str
    record: Record
    at: datetime
    valid: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class RecordDigest(Displayed, Tabular):
    """Exact figures of the records that a question touches, and these records, all of them or the latest.

    Attributes:
        kind: of the records.
        categories: of what, by the bank's names; empty for any.
        window: the time asked about; None for any.
        figures: of the time asked about, then of shorter and longer times, one for each unit; empty for kinds that are no numbers.
        periods: the sum of each day, week or month with records, where the question speaks of these.
        goals: how they stand to goals of the bank.
        heading: figures, goals, what was not counted, and whether the rows are complete, in words.
        rows: in order of time.
        tokens: what `text` costs.
        of: how many rows there are in all; where more memories have some than are read, of those no others are counted one each.
        unit_ids: of the memories that entered a figure, a goal or a row.
        asked: the figures of the time asked about, else of all time, those of the first unit where there are several; None where
            there are none, or too many records to add up.
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
        """Whether no row was left out for the budget."""
        return len(self.rows) == self.of

    @property
    def text(self) -> str:
        """Heading and rows, a line each."""
        return "\n".join([self.heading, *(row.text for row in self.rows)])

    @property
    def id(self) -> str:
        """What it goes by among memories, where a framework wants a name of everything."""
        return ":".join(["records", self.kind.value, *self.categories])

    @property
    def metadata(self) -> dict[str, Any]:
        """What frameworks carry beside its text, in values that JSON has."""
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
