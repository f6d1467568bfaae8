"""Record digests: exact figures of the records relevant to a question, and the records themselves."""

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
"""The `kind` of a digest in the metadata for frameworks."""


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
        unit: the canonical unit of the number, without the period; may be empty.
        period: the period of the target: a day, a week or a month.
    """

    value: Decimal
    bound: Bound
    unit: str = ""
    period: Granule = Granule.DAY

    def met_by(self, value: Decimal) -> bool:
        """Return whether a value meets the target."""
        return value <= self.value if self.bound is Bound.AT_MOST else value >= self.value


@dataclass(frozen=True, slots=True)
class GoalStanding:
    """The records of one category compared with a goal of the bank.

    Attributes:
        target: the target of the goal.
        unit_id: the id of the memory of the goal.
        days: the first and last day of the period compared: the last one in the question's time range, but not a future
            one; the current one if the question has no time range.
        value: the total of the records of that period; None if it has no records.
        met: the number of periods with records, within the question's time range, in which the goal was met.
        periods: the number of periods with records in that range.
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
    """Figures of the records of one time range, in one unit of measure.

    Attributes:
        when: the name of the range: "today", "this week", "this month", "all time", or "asked" for the range of the
            question.
        days: its first and last day; None for all time.
        unit: the canonical unit of the values; empty if they have none.
        count: the number of records.
        total: the exact sum; None if the values cannot be added, or the sum has more than 100 digits.
        mean: the mean, to the 28 digits of `Decimal`; None if a value is not a number.
        smallest: the smallest value, the first of equal ones; None if a value is not a number.
        largest: the largest value, the first of equal ones; None if a value is not a number.
        latest: the last value.
        per_day: the mean of the daily sums, over days with records; None if the values cannot be added.
        most: the largest daily sum; None if the values cannot be added.
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
        text: the displayed line.
        unit_id: the id of its memory.
        record: the record.
        at: the start of the memory's interval, or its mention time.
        valid: True if its memory is valid at the time of the query.
    """

    text: str
    unit_id: str
    record: Record
    at: datetime
    valid: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class RecordDigest(Displayed, Tabular):
    """Exact figures of the records relevant to a question, and all or the latest of these records.

    Attributes:
        kind: the kind of the records.
        categories: the names of the categories; empty for any.
        window: the time range of the question; None if it has none.
        figures: the figures of the question's time range, then of shorter and longer ranges; for each range, one per unit
            of measure. Empty for kinds without numbers.
        periods: the sum of each day, week or month with records, if the question asks for these.
        goals: the progress towards the bank's goals.
        heading: the text with the figures, the goals, the values that were not counted, and the completeness of the rows.
        rows: the rows in order of time.
        tokens: the number of tokens of `text`.
        of: the total number of rows, including those omitted. If there are too many memories to read all, each unread memory
            counts as one row.
        unit_ids: the ids of the memories used in a figure, a goal or a row.
        asked: the figures of the question's time range, or of all time if it has none; with several units of measure, only
            those of the most frequent unit. None if there are no figures, or too many records to add up.
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
        """True if no row was omitted because of the budget."""
        return len(self.rows) == self.of

    @property
    def text(self) -> str:
        """The heading and the rows, one per line."""
        return "\n".join([self.heading, *(row.text for row in self.rows)])

    @property
    def id(self) -> str:
        """An id for frameworks that require one for every result."""
        return ":".join(["records", self.kind.value, *self.categories])

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the digest for frameworks, as JSON values."""
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
