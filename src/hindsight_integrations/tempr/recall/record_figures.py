"""Exact figures of records, of a time and against goals, in the bank's days and weeks. Pure (decision 173)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal, localcontext

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.exact_sums import WIDE, exact_sum, total
from hindsight_integrations.model.record_digest import Bound, DayValue, Figures, PeriodValue, Standing, Target
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import MICROSECOND, Granule, Interval, Weekday
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_subjects import KnownThings, Subject
from hindsight_integrations.text.vocabulary.currencies import currency_of
from hindsight_integrations.text.vocabulary.records import unit_of
from hindsight_integrations.text.vocabulary.units import converted, same_measure

ONE_DAY = timedelta(days=1)
_PERIODS = {"day": Granule.DAY, "week": Granule.WEEK, "month": Granule.MONTH}
_MEASURED = (RecordKind.EXPENSE, RecordKind.QUANTITY)

Days = tuple[date, date]
"""First and last day."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """How days and weeks are told apart.

    Attributes:
        zone: of days.
        week_starts: on which day weeks begin.
    """

    zone: tzinfo
    week_starts: Weekday = Weekday.MONDAY

    def day(self, moment: datetime) -> date:
        """The day on which a moment lies."""
        return moment.astimezone(self.zone).date()

    def days_of(self, entry: RecordEntry) -> Days:
        """The days of what a record tells of; of one without a time, the day it was mentioned."""
        occurred = entry.memory.occurred
        if occurred is None:
            return (day := self.day(entry.memory.mentioned_at)), day
        return self.day(occurred.start), self.day(occurred.end - MICROSECOND)

    def around(self, day: date, period: Granule) -> Days:
        """The day, week or month of a day."""
        if period == Granule.MONTH:
            first = day.replace(day=1)
            return first, (first + 31 * ONE_DAY).replace(day=1) - ONE_DAY
        if period == Granule.WEEK:
            first = day - (day.weekday() - self.week_starts.number) % 7 * ONE_DAY
            return first, first + 6 * ONE_DAY
        return day, day

    def days(self, window: Interval) -> Days | None:
        """The days of a window; None where it is not of whole days."""
        bounds = (window.start.astimezone(self.zone), window.end.astimezone(self.zone))
        if any((bound.hour, bound.minute, bound.second) != (0, 0, 0) for bound in bounds):
            return None
        return self.day(window.start), self.day(window.end - MICROSECOND)


@dataclass(frozen=True, slots=True)
class Counted:
    """The records of a stretch of days, and those next to it that a reader might think are among them.

    Attributes:
        inside: in order of time.
        partly: which lie partly in it.
        told_inside: which were told of in it and happened outside.
    """

    inside: tuple[RecordEntry, ...]
    partly: tuple[RecordEntry, ...] = ()
    told_inside: tuple[RecordEntry, ...] = ()


def within(entries: Iterable[RecordEntry], days: Days | None, calendar: Calendar) -> Counted:
    """The records of a stretch of days; of any time where it is None."""
    if days is None:
        return Counted(tuple(entries))
    inside, partly, told = [], [], []
    for entry in entries:
        first, last = calendar.days_of(entry)
        if days[0] <= first and last <= days[1]:
            inside.append(entry)
        elif last >= days[0] and first <= days[1]:
            partly.append(entry)
        elif days[0] <= calendar.day(entry.memory.mentioned_at) <= days[1]:
            told.append(entry)
    return Counted(tuple(inside), tuple(partly), tuple(told))


def figures_of(
    entries: Sequence[RecordEntry], when: str, days: Days | None, calendar: Calendar, *, adds_up: bool
) -> list[Figures]:
    """What records come to, those of each measure apart, the most frequent first: nothing is added over currencies.

    Args:
        entries: of that time, in order of time.
        when: the time in words.
        days: its days; None for all time.
        calendar: of the bank.
        adds_up: whether their values may be added.
    """
    measures: dict[object, list[RecordEntry]] = {}
    for entry in entries:
        measures.setdefault(same_measure(unit_of(entry.record)), []).append(entry)
    parts = sorted(measures.values(), key=len, reverse=True)
    return [_figures(part, when, days, calendar, adds_up=adds_up) for part in parts]


def _figures(
    entries: Sequence[RecordEntry], when: str, days: Days | None, calendar: Calendar, *, adds_up: bool
) -> Figures:
    unit = _usual_unit(entries)
    values = [_in_unit(entry, unit) for entry in entries]
    dated = [
        DayValue(value, calendar.days_of(entry)[0]) for value, entry in zip(values, entries, strict=True)
    ]
    numbers = [value for value in values if isinstance(value, Decimal)]
    figures = Figures(when, days, unit, len(entries), None, None, None, None, dated[-1])
    if len(numbers) < len(values):
        return figures
    with localcontext(WIDE):
        whole = exact_sum(numbers)
        mean = None if whole is None else whole / len(numbers)
    smallest, largest = (dated[numbers.index(each)] for each in (min(numbers), max(numbers)))
    figures = replace(figures, mean=mean, smallest=smallest, largest=largest)
    if not adds_up or whole is None:
        return figures
    by_day = periods_of(entries, Granule.DAY, calendar)
    if by_day is None:
        return replace(figures, total=whole)
    sums = [(first, _sum(part, unit)) for (first, _), part in by_day.items()]
    most = max(sums, key=lambda each: each[1])
    with localcontext(WIDE):
        per_day = whole / len(sums)
    return replace(figures, total=whole, per_day=per_day, most=DayValue(most[1], most[0]))


def sums_of(
    entries: Sequence[RecordEntry], period: Granule, days: Days | None, calendar: Calendar
) -> tuple[PeriodValue, ...]:
    """The sums of all days, weeks or months with records that touch a stretch of days, whole, in order of time.

    Empty where a record is no number, lies in several of them, or values measure different things.
    """
    unit = _usual_unit(entries)
    alike = len({same_measure(unit_of(entry.record)) for entry in entries}) == 1
    parts = periods_of(entries, period, calendar)
    if parts is None or not alike or not all(isinstance(entry.record.value, Decimal) for entry in entries):
        return ()
    return tuple(
        PeriodValue(first, last, _sum(part, unit))
        for (first, last), part in parts.items()
        if days is None or (last >= days[0] and first <= days[1])
    )


def given_in(entry: RecordEntry, unit: str) -> RecordEntry:
    """A record with its value in another unit, where it can be given in it."""
    own = unit_of(entry.record)
    if own == unit or same_measure(own) != same_measure(unit):
        return entry
    return replace(entry, record=replace(entry.record, value=_in_unit(entry, unit), unit=unit))


def periods_of(
    entries: Iterable[RecordEntry], period: Granule, calendar: Calendar
) -> dict[Days, list[RecordEntry]] | None:
    """The records of each day, week or month with records, in order of time; None where one lies in several."""
    parts: dict[Days, list[RecordEntry]] = {}
    for entry in entries:
        first, last = calendar.days_of(entry)
        bounds = calendar.around(first, period)
        if last > bounds[1]:
            return None
        parts.setdefault(bounds, []).append(entry)
    return dict(sorted(parts.items()))


def standing(
    target: Target,
    unit_id: str,
    entries: Sequence[RecordEntry],
    days: Days | None,
    today: date,
    calendar: Calendar,
) -> Standing | None:
    """How records stand to a goal; None where they measure something else, or one lies in several of its periods.

    Args:
        target: the goal.
        unit_id: the memory it stands in.
        entries: all records it is about, in order of time.
        days: the time asked about; None for all.
        today: of the question.
        calendar: of the bank.
    """
    unit = _usual_unit(entries)
    if target.unit and target.unit != unit:
        if same_measure(target.unit) != same_measure(unit):
            return None
        target = replace(target, value=converted(target.value, target.unit, unit))
    numbers = all(isinstance(_in_unit(entry, unit), Decimal) for entry in entries)
    if not numbers or len({same_measure(unit_of(entry.record)) for entry in entries}) > 1:
        return None
    parts = periods_of(entries, target.period, calendar)
    if parts is None:
        return None
    looked_at = calendar.around(min(today, days[1]) if days else today, target.period)
    sums = {bounds: _sum(part, unit) for bounds, part in parts.items()}
    asked = [value for (first, last), value in sums.items() if days is None or (days[0] <= first <= days[1])]
    met = sum(target.met_by(value) for value in asked)
    return Standing(replace(target, unit=unit), unit_id, looked_at, sums.get(looked_at), met, len(asked))


def target_of(
    entry: RecordEntry, subject: Subject, known: KnownThings, languages: Sequence[Language]
) -> Target | None:
    """What a goal of the bank asks of a subject's records; None where it has no number or period, or is about something else.

    What may be spent is a limit, what is measured is to be reached, unless the goal's own words say otherwise; where they
    say both, or the opposite of what money means, there is none.
    """
    record = entry.record
    unit, _, under = unit_of(record).partition("/")
    period = _PERIODS.get(under) or _stated_period(record.stated, languages)
    if not isinstance(record.value, Decimal) or period is None:
        return None
    if _goal_subject(record.category, unit, known) != (subject.kind, frozenset(subject.categories)):
        return None
    most, least = (
        any(getattr(each.records, side).search(entry.memory.text) for each in languages)
        for side in ("at_most", "at_least")
    )
    if subject.kind is RecordKind.EXPENSE:
        bound = None if least and not most else Bound.AT_MOST
    else:
        bound = None if most and least else Bound.AT_MOST if most else Bound.AT_LEAST
    return None if bound is None else Target(record.value, bound, unit, period)


def _goal_subject(category: str, unit: str, known: KnownThings) -> tuple[RecordKind, frozenset[str]] | None:
    """What a goal is for: its category among what the bank has records of, else what its unit counts."""
    money = currency_of(unit) is not None
    kinds = (RecordKind.EXPENSE,) if money else (RecordKind.QUANTITY,) if unit else _MEASURED
    if category and (found := [each for each in known.named(category) if each.kind in kinds]):
        return (found[0].kind, frozenset(found[0].categories)) if len(found) == 1 else None
    if money:
        return None if category else (RecordKind.EXPENSE, frozenset())
    counted = known.measured_in(unit) if unit and (not category or known.unit(category) == unit) else None
    return None if counted is None else (counted.kind, frozenset(counted.categories))


def _stated_period(stated: str, languages: Sequence[Language]) -> Granule | None:
    words = stated.lower().split()
    found = {
        each.records.periods[word] for each in languages for word in words if word in each.records.periods
    }
    return found.pop() if len(found) == 1 else None


def _usual_unit(entries: Sequence[RecordEntry]) -> str:
    """The unit that most of the records have, the first in time of those as frequent."""
    units = [unit_of(entry.record) for entry in entries]
    return max(dict.fromkeys(units), key=units.count, default="")


def _in_unit(entry: RecordEntry, unit: str) -> Decimal | str:
    value = entry.record.value
    return converted(value, unit_of(entry.record), unit) if isinstance(value, Decimal) else value


def _sum(entries: Iterable[RecordEntry], unit: str) -> Decimal:
    return total([value for entry in entries if isinstance(value := _in_unit(entry, unit), Decimal)])
