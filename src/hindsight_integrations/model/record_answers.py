"""Questions that records answer exactly, and their answers (decision 135)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule, Interval


class RecordOperation(StrEnum):
    """What a question wants of the records it is about."""

    LIST = "list"
    TOTAL = "total"
    COUNT = "count"
    AVERAGE = "average"
    LATEST = "latest"
    GOAL = "goal"
    """Whether a goal was met."""
    MOST = "most"
    """The day, week or month with the most."""
    LEAST = "least"
    PERIODS = "periods"
    """How many days, weeks or months met or missed a goal."""


class Standing(StrEnum):
    """How a value stands to its target."""

    MET = "met"
    MISSED = "missed"
    OVER = "over"
    """Above the target, whether that is good or bad."""
    UNDER = "under"


class Bound(StrEnum):
    """What a target asks for."""

    AT_LEAST = ">="
    MORE = ">"
    AT_MOST = "<="
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Target:
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
        match self.bound:
            case Bound.AT_LEAST:
                return value >= self.value
            case Bound.MORE:
                return value > self.value
            case Bound.AT_MOST:
                return value <= self.value
            case Bound.LESS:
                return value < self.value


@dataclass(frozen=True, slots=True)
class RecordQuestion:
    """A question over records that was recognised for sure.

    Attributes:
        operation: what is wanted.
        kind: of the records.
        language: ISO 639-1, of the question.
        categories: of the records, by the bank's names for them; empty for all of the kind.
        subject: what they are of, in the question's words; empty for all of the kind.
        unit: of the values, canonical; None where the question names none.
        window: the time asked about; None for all.
        period: the days, weeks or months that are compared, counted or averaged over.
        standing: of a goal, as it is asked for.
        target: a number the question itself gives; None where a goal of the bank is meant.
        counted: the records are counted and not their values added up: on which day most coffees were bought.
        surely: every word was understood; else these records may be more than the question is about (decision 162).
    """

    operation: RecordOperation
    kind: RecordKind
    language: str
    categories: tuple[str, ...] = ()
    subject: str = ""
    unit: str | None = None
    window: Interval | None = None
    period: Granule | None = None
    standing: Standing | None = None
    target: Target | None = None
    counted: bool = False
    surely: bool = True


@dataclass(frozen=True, slots=True)
class PeriodValue:
    """What the records of one day, week or month come to.

    Attributes:
        start: its first day.
        end: its last day.
        value: their sum, or how many they are.
        entries: they themselves, in order of time.
    """

    start: date
    end: date
    value: Decimal
    entries: tuple[RecordEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordAnswer:
    """An exact answer, computed from records without a model.

    Attributes:
        question: as it was understood.
        value: the number; what the latest record says; None for a list, and for a period.
        unit: of the value, canonical; empty if it has none.
        entries: the records that entered, in order of time.
        text: the answer in words, in the question's language.
        met: whether the goal was met; None where no goal was asked about.
        target: the goal.
        periods: the days, weeks or months that were asked for: with the most or the least (several where they are equal),
            or those that met or missed the goal.
    """

    question: RecordQuestion
    value: Decimal | str | None
    unit: str
    entries: tuple[RecordEntry, ...]
    text: str
    met: bool | None = None
    target: Target | None = None
    periods: tuple[PeriodValue, ...] = ()

    @property
    def unit_ids(self) -> tuple[str, ...]:
        """Ids of the memories that the records stand in, each once."""
        return tuple(dict.fromkeys(entry.memory.id for entry in self.entries))

    @property
    def values(self) -> tuple[Decimal | str, ...]:
        """What the records say, in order of time."""
        return tuple(entry.record.value for entry in self.entries)
