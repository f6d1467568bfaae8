"""The record digest returned with the memories: exact figures and complete rows for the categories that a question is about.

Ranking returns an incomplete list without saying what is missing, and models do not add reliably. So figures are
computed from all records of these categories, and the records are listed, within a separate budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal, localcontext
from itertools import chain

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.indexes.record_search import RecordFilter, latest_records
from hindsight_integrations.language.dates import question_time
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.record_questions import (
    VALUED,
    Best,
    KnownThings,
    Subject,
    known_things,
    open_tasks,
    subjects_of,
)
from hindsight_integrations.language.records import unit_of
from hindsight_integrations.language.times.calendar import TimeWindow
from hindsight_integrations.language.units import converted, currency_of, same_measure
from hindsight_integrations.model.aggregates import WIDE, RecordEntry, exact_sum, total
from hindsight_integrations.model.arrays import BoolArray, IntArray
from hindsight_integrations.model.record_digest import (
    Bound,
    DayValue,
    Figures,
    GoalStanding,
    GoalTarget,
    PeriodValue,
    RecordDigest,
    RecordRow,
)
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import MICROSECOND, Granule, Interval, Weekday
from hindsight_integrations.prompts.record_digest import DigestWords, as_heading, record_line, rows_line
from hindsight_integrations.recall.context import RecallContext, timed

ONE_DAY = timedelta(days=1)
_PERIODS = {"day": Granule.DAY, "week": Granule.WEEK, "month": Granule.MONTH}
_MEASURED = (RecordKind.EXPENSE, RecordKind.QUANTITY)

Days = tuple[date, date]
"""A range of days: the first and the last day."""


# Pure functions that compute figures for periods and goals, in the bank's days and weeks.
@dataclass(frozen=True, slots=True)
class Calendar:
    """The conventions by which moments are assigned to days and weeks.

    Attributes:
        zone: time zone of days.
        week_starts: first day of the week.
    """

    zone: tzinfo
    week_starts: Weekday = Weekday.MONDAY

    def day(self, moment: datetime) -> date:
        """Return the day of a moment."""
        return moment.astimezone(self.zone).date()

    def days_of(self, entry: RecordEntry) -> Days:
        """Return the days on which the recorded event happened; without a time, the day the record was mentioned."""
        occurred = entry.memory.occurred
        if occurred is None:
            return (day := self.day(entry.memory.mentioned_at)), day
        return self.day(occurred.start), self.day(occurred.end - MICROSECOND)

    def around(self, day: date, period: Granule) -> Days:
        """Return the day, week or month that contains a day."""
        if period == Granule.MONTH:
            first = day.replace(day=1)
            return first, (first + 31 * ONE_DAY).replace(day=1) - ONE_DAY
        if period == Granule.WEEK:
            first = day - (day.weekday() - self.week_starts.number) % 7 * ONE_DAY
            return first, first + 6 * ONE_DAY
        return day, day

    def days(self, window: Interval) -> Days | None:
        """Return the days of a window; None if it does not consist of whole days."""
        bounds = (window.start.astimezone(self.zone), window.end.astimezone(self.zone))
        if any((bound.hour, bound.minute, bound.second) != (0, 0, 0) for bound in bounds):
            return None
        return self.day(window.start), self.day(window.end - MICROSECOND)


@dataclass(frozen=True, slots=True)
class CountedRecords:
    """The records in a range of days, and records outside it that a reader might count too.

    Attributes:
        inside: records in the range, in order of time.
        partly: records that lie partly in the range.
        told_inside: records that were mentioned in the range, but happened outside it.
    """

    inside: tuple[RecordEntry, ...]
    partly: tuple[RecordEntry, ...] = ()
    told_inside: tuple[RecordEntry, ...] = ()


def within(entries: Iterable[RecordEntry], days: Days | None, calendar: Calendar) -> CountedRecords:
    """Return the records in a range of days; of all time if `days` is None."""
    if days is None:
        return CountedRecords(tuple(entries))
    inside, partly, told = [], [], []
    for entry in entries:
        first, last = calendar.days_of(entry)
        if days[0] <= first and last <= days[1]:
            inside.append(entry)
        elif last >= days[0] and first <= days[1]:
            partly.append(entry)
        elif days[0] <= calendar.day(entry.memory.mentioned_at) <= days[1]:
            told.append(entry)
    return CountedRecords(tuple(inside), tuple(partly), tuple(told))


def figures_of(
    entries: Sequence[RecordEntry], when: str, days: Days | None, calendar: Calendar, *, adds_up: bool
) -> list[Figures]:
    """Compute the figures of records per measure, the most frequent measure first; different currencies are never added.

    `when` is the period in words; `days` None means all time.
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
    """Return the sum for each day, week or month that has records and overlaps a range of days, in order of time.

    A period that lies only partly in the range is summed whole.

    Empty if a record is not a number or spans several periods, or if the values measure different things.
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
    """Convert a record's value to another unit, if possible."""
    own = unit_of(entry.record)
    if own == unit or same_measure(own) != same_measure(unit):
        return entry
    return replace(entry, record=replace(entry.record, value=_in_unit(entry, unit), unit=unit))


def periods_of(
    entries: Iterable[RecordEntry], period: Granule, calendar: Calendar
) -> dict[Days, list[RecordEntry]] | None:
    """Group records by day, week or month, in order of time; None if a record spans several periods."""
    parts: dict[Days, list[RecordEntry]] = {}
    for entry in entries:
        first, last = calendar.days_of(entry)
        bounds = calendar.around(first, period)
        if last > bounds[1]:
            return None
        parts.setdefault(bounds, []).append(entry)
    return dict(sorted(parts.items()))


def standing(
    target: GoalTarget,
    unit_id: str,
    entries: Sequence[RecordEntry],
    days: Days | None,
    today: date,
    calendar: Calendar,
) -> GoalStanding | None:
    """Compare records with a goal; None if the records measure something else, or if a record spans several of the goal's periods.

    `entries` are all records the goal is about, in order of time; `days` are those asked about, None for all time.
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
    return GoalStanding(replace(target, unit=unit), unit_id, looked_at, sums.get(looked_at), met, len(asked))


def target_of(
    entry: RecordEntry, subject: Subject, known: KnownThings, languages: Sequence[Language]
) -> GoalTarget | None:
    """Return the target that a goal sets for a subject's records; None if it lacks a number or period, or has another subject.

    A spending goal is a maximum; there is no target if it is worded only as a minimum. Other goals are minimums unless worded as a
    maximum; there is no target if they are worded as both.
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
    return None if bound is None else GoalTarget(record.value, bound, unit, period)


def _goal_subject(category: str, unit: str, known: KnownThings) -> tuple[RecordKind, frozenset[str]] | None:
    """Return the subject of a goal: its category if the bank has records of it, else the category that its unit counts."""
    money = currency_of(unit) is not None
    kinds = (RecordKind.EXPENSE,) if money else (RecordKind.QUANTITY,) if unit else _MEASURED
    if category and (
        matches := [candidate for candidate in known.named(category) if candidate.kind in kinds]
    ):
        return (matches[0].kind, frozenset(matches[0].categories)) if len(matches) == 1 else None
    if money:
        return None if category else (RecordKind.EXPENSE, frozenset())
    counted = (
        known.measured_in(unit)
        if unit and (not category or known.unit(category, money=False) == unit)
        else None
    )
    return None if counted is None else (counted.kind, frozenset(counted.categories))


def _stated_period(stated: str, languages: Sequence[Language]) -> Granule | None:
    words = stated.lower().split()
    matches = {
        language.records.periods[word]
        for language in languages
        for word in words
        if word in language.records.periods
    }
    return matches.pop() if len(matches) == 1 else None


def _usual_unit(entries: Sequence[RecordEntry]) -> str:
    """Return the most frequent unit of the records; if several are equally frequent, the one that occurs first."""
    units = [unit_of(entry.record) for entry in entries]
    return max(dict.fromkeys(units), key=units.count, default="")


def _in_unit(entry: RecordEntry, unit: str) -> Decimal | str:
    value = entry.record.value
    return converted(value, unit_of(entry.record), unit) if isinstance(value, Decimal) else value


def _sum(entries: Iterable[RecordEntry], unit: str) -> Decimal:
    return total([value for entry in entries if isinstance(value := _in_unit(entry, unit), Decimal)])


MOST_READ = 2_000  # maximum number of latest memories read for one digest, in 0.1 s on two cores
LEAST_ROW = 4  # minimum tokens of a row, which limits how many rows are tokenised (chosen by hand)
EVER: Days = (date.min, date.max)
NEVER: Days = (date.max, date.min)
BEST = 10  # number of best matches whose records determine the subject if the question names none


def record_digests(run: RecallContext, allowed: BoolArray, ranking: IntArray) -> tuple[RecordDigest, ...]:
    """Build the digests for a question; empty if it asks for no records, or if the bank has no such records."""
    budget = run.query.record_tokens
    if not budget:
        return ()
    with timed(run.trace, "records") as detail:
        digests: list[RecordDigest] = []
        asked = _RecordQuestion.of(run, ranking)
        for place, subject in enumerate(asked.subjects):
            share = (budget - sum(digest.tokens for digest in digests)) // (len(asked.subjects) - place)
            try:
                digest = _DigestBuilder(run, asked, subject, allowed).digest(share)
            except MemoryDamaged as error:
                run.trace.notes.append(f"records: no figures, {error}")
                continue
            digests += [digest] if digest else []
        detail["rows"] = sum(len(digest.rows) for digest in digests)
    return tuple(digests)


@dataclass(frozen=True, slots=True)
class _RecordQuestion:
    """The records a question asks about.

    Attributes:
        subjects: the subjects of the question.
        known: the kinds and categories of the bank's records.
        window: the time window named by the question or the caller; None for all time.
        calendar: the bank's calendar.
    """

    subjects: tuple[Subject, ...]
    known: KnownThings
    window: Interval | None
    calendar: Calendar

    @classmethod
    def of(cls, run: RecallContext, ranking: IntArray) -> _RecordQuestion:
        """Parse the question; if it names no category, use the categories of the best matches."""
        query, services = run.query, run.services
        known = known_things(tuple(_categories(run)), tuple(services.languages))
        expression = question_time(query.text, query.query_timestamp, services.dates, services.languages)

        def best() -> list[Best]:
            units = run.units(ranking[:BEST]).values()
            return [(unit.text, {(each.kind, each.category) for each in unit.records}) for unit in units]

        subjects = subjects_of(
            query.text,
            known,
            services.languages,
            time=expression.phrase if expression else "",
            best=best,
        )
        window = query.window or (_of_whole_days(expression) if expression else None)
        return cls(subjects, known, window, Calendar(services.dates.zone, services.dates.week_starts))


def _of_whole_days(expression: TimeWindow) -> Interval:
    """Return the time named in a question, for counting. "The last 10 days" include today, whereas recall searches 11 days."""
    days = (expression.interval.end - expression.interval.start).days
    counted = expression.granule is Granule.DAY and expression.from_now and days > 2
    if counted and str(days - 1) in re.findall(r"\d+", expression.phrase):
        return Interval(expression.interval.start + timedelta(days=1), expression.interval.end)
    return expression.interval


def _categories(run: RecallContext) -> list[RecordCategory]:
    ledger, bank = run.view.ledger, run.view.bank
    units = ledger.records.category_units(bank, None)
    return [
        replace(each, units=units.get((each.kind, each.name), ()))
        for each in ledger.records.categories(bank, None)
    ]


@dataclass(frozen=True, slots=True)
class _SubjectRecords:
    """The records read for a digest.

    Attributes:
        entries: records in order of time.
        unread: number of memories whose records were not read.
        known: the range of days whose records were all read.
    """

    entries: Sequence[RecordEntry]
    unread: int
    known: Days

    def covers(self, days: Days | None) -> bool:
        """Return whether all records of these days (None: of all time) were read."""
        first, last = self.known
        return self.known == EVER or (days is not None and first <= days[0] and days[1] <= last)


@dataclass(frozen=True, slots=True)
class _ComputedFigures:
    """The figures computed from the records of one subject; the attributes are those of `RecordDigest`.

    Attributes:
        lines: the lines of the heading after its title.
        figures: the figures per time range and unit.
        asked: the figures of the question's time range.
        goals: the progress towards the bank's goals.
        periods: the sums per period.
    """

    lines: tuple[str, ...] = ()
    figures: tuple[Figures, ...] = ()
    asked: Figures | None = None
    goals: tuple[GoalStanding, ...] = ()
    periods: tuple[PeriodValue, ...] = ()


def _overlap(one: Days, other: Days) -> Days:
    return max(one[0], other[0]), min(one[1], other[1])


class _DigestBuilder:
    """Builds the digest of one subject, from the memories that the mask `allowed` selects."""

    def __init__(
        self, run: RecallContext, asked: _RecordQuestion, subject: Subject, allowed: BoolArray
    ) -> None:
        self._run, self._asked, self._subject, self._allowed = run, asked, subject, allowed
        self._calendar = asked.calendar
        self._moment = run.query.query_timestamp
        self._today = self._calendar.day(self._moment)
        self._days = None if asked.window is None else self._calendar.days(asked.window)
        self._words = DigestWords(self._today)

    def digest(self, budget: int) -> RecordDigest | None:
        """Build a digest with figures, goals and rows, within a budget of tokens; None if there are no records or none fit.

        Raises:
            MemoryDamaged: some records are damaged, so the figures would be wrong.
        """
        window = self._asked.window
        if self._subject.kind in VALUED and window is not None and window.start > self._moment:
            return None  # future amounts are not known yet
        read = self._read()
        if not read.entries:
            return None
        listed = self._listed(read.entries)
        if self._subject.kind not in VALUED and not listed:
            return None
        computed = self._computed(read)
        lines = list(computed.lines)
        if self._is_calendar and (over := [entry for entry in read.entries if not self._is_ahead(entry)]):
            lines.append(
                self._words.not_counted("over", [(each, self._calendar.days_of(each)) for each in over])
            )
        title = self._words.title(self._subject.kind, self._subject.categories)
        if window is not None and self._days is None:
            lines.append("figures cover whole days; the rows are those of the requested time")
        of = len(listed) + read.unread
        heading, rows = self._fitting([title, *lines], [self._row(each) for each in listed], of, budget)
        if not heading:
            return None
        text = "\n".join([heading, *(row.text for row in rows)])
        entered = {entry.memory.id for entry in (read.entries if computed.figures else listed)}
        entered |= {standing.unit_id for standing in computed.goals}
        [tokens] = self._run.services.tokens.count([text])
        return RecordDigest(
            kind=self._subject.kind,
            categories=self._subject.categories,
            window=window,
            asked=computed.asked,
            figures=computed.figures,
            periods=computed.periods,
            goals=computed.goals,
            heading=heading,
            rows=rows,
            tokens=tokens,
            of=of,
            unit_ids=tuple(sorted(entered)),
        )

    def _read(self) -> _SubjectRecords:
        """Read the subject's records: all of them or, if there are too many, the latest ones in the question's window."""
        query, window = self._run.query, self._asked.window
        entries: list[RecordEntry] = []
        unread, known = 0, EVER
        for category in self._subject.categories or (None,):
            wanted = RecordFilter(self._subject.kind, category, as_of=query.as_of)
            wanted = replace(wanted, include_invalidated=query.include_invalidated)
            records, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
            if more:
                if window is not None:
                    wanted = replace(wanted, window=window)
                    records, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
                known = _overlap(known, self._known(records, more))
            # Two categories may have the same records: 5,000 steps of "walking" match "steps" and "walking".
            earlier = {(entry.memory.id, entry.record) for entry in entries}
            entries += [entry for entry in records if (entry.memory.id, entry.record) not in earlier]
            unread += more
        if self._subject.kind is RecordKind.TASK:
            entries = open_tasks(entries, self._run.services.languages)
        entries.sort(key=lambda entry: (entry.at, entry.memory.mentioned_at))
        return _SubjectRecords(entries, unread, known)

    def _known(self, records: Sequence[RecordEntry], more: int) -> Days:
        """Return the range of days whose records were all read; no days if the window does not consist of whole days."""
        if self._asked.window is not None and self._days is None:
            return NEVER
        first, last = self._days or EVER
        if more and records:
            first = max(first, self._calendar.days_of(records[0])[0] + timedelta(days=1))
        return first, last

    def _listed(self, entries: Sequence[RecordEntry]) -> list[RecordEntry]:
        """Return the records that overlap the window's days; without a window, all records that are not over.

        If the window does not consist of whole days, return the records that begin in it.
        """
        window = self._asked.window
        if self._is_calendar:
            return [entry for entry in entries if self._is_ahead(entry)]
        if window is None:
            return list(entries)
        if self._days is None:
            return [entry for entry in entries if window.start <= entry.at < window.end]
        first, last = self._days
        spans = [(entry, self._calendar.days_of(entry)) for entry in entries]
        return [entry for entry, (begins, ends) in spans if ends >= first and begins <= last]

    @property
    def _is_calendar(self) -> bool:
        """Whether the question is about all events, at no particular time and not in their history."""
        whole = self._subject.kind is RecordKind.EVENT and not self._subject.categories
        return whole and self._asked.window is None and not self._run.query.include_invalidated

    def _is_ahead(self, entry: RecordEntry) -> bool:
        """Return whether an event is not over at the time of the question; an event without a date counts as ahead."""
        return entry.memory.occurred is None or entry.memory.occurred.end > self._moment

    def _computed(self, read: _SubjectRecords) -> _ComputedFigures:
        """Compute the figures and goals of the records; none for kinds without numbers, and for history."""
        if self._subject.kind not in VALUED or self._run.query.include_invalidated:
            return _ComputedFigures()
        unit, words, period = self._subject.unit, self._words, self._subject.period
        given = read.entries if unit is None else [given_in(entry, unit) for entry in read.entries]
        past = [entry for entry in given if entry.at <= self._moment]
        times = list(self._times(past, read))
        figures = tuple(chain.from_iterable(times))
        asked, lines = None, []
        if times and times[0][0].days == self._days and (self._days or self._asked.window is None):
            asked = times[0][0]
        elif not read.covers(self._days):
            lines.append(f"too many records to add up: the latest {MOST_READ} memories were read")
        elif self._days:
            lines.append(words.nothing("asked", self._days))
        lines += [words.figures(times[0])] if times else []
        lines += [words.short(times[1:])] if times[1:] else []
        goals: tuple[GoalStanding, ...] = ()
        periods: tuple[PeriodValue, ...] = ()
        if past and read.covers(None):
            goals = tuple(self._standings(past))
            if period and self._adds_up:
                periods = sums_of(past, period, self._days, self._calendar)
        lines += [words.goal(goal) for goal in goals]
        if period and periods:
            lines.append(words.periods(period, periods, figures[0].unit))
        lines += self._left_out(within(past, self._days, self._calendar), given)
        return _ComputedFigures(tuple(lines), figures, asked, goals, periods)

    @property
    def _adds_up(self) -> bool:
        alike = self._subject.kind is not RecordKind.QUANTITY or len(self._subject.categories) == 1
        return alike and self._asked.known.adds_up(self._subject)

    def _times(self, past: Sequence[RecordEntry], read: _SubjectRecords) -> Iterator[list[Figures]]:
        """Yield the figures for the question's window (or for all time), then for the current day, week and month, then for all time.

        Periods that were not read completely, or that have the same records as an earlier one, are left out.
        """
        around = {
            "today": self._calendar.around(self._today, Granule.DAY),
            "this week": self._calendar.around(self._today, Granule.WEEK),
            "this month": self._calendar.around(self._today, Granule.MONTH),
        }
        times: list[tuple[str, Days | None]] = [*around.items(), ("all time", None)]
        if self._days is None:
            times.insert(0, times.pop())
        else:
            name = next((name for name, days in around.items() if days == self._days), "asked")
            times.insert(0, (name, self._days))
        seen = set[tuple[str, ...]]()
        for name, days in dict.fromkeys(times):
            inside = within(past, days, self._calendar).inside
            ids = tuple(f"{entry.memory.id} {entry.record}" for entry in inside)
            if not inside or ids in seen or not read.covers(days):
                continue
            seen.add(ids)
            yield figures_of(inside, name, days, self._calendar, adds_up=self._adds_up)

    def _standings(self, past: Sequence[RecordEntry]) -> list[GoalStanding]:
        """Compare the records with the bank's goals for them."""
        query, services = self._run.query, self._run.services
        wanted = RecordFilter(RecordKind.GOAL, as_of=query.as_of)
        goals, _ = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
        standings = []
        for entry in goals:
            target = target_of(entry, self._subject, self._asked.known, services.languages)
            if target is None:
                continue
            stands = standing(target, entry.memory.id, past, self._days, self._today, self._calendar)
            standings += [stands] if stands else []
        return standings

    def _left_out(self, counted: CountedRecords, entries: Sequence[RecordEntry]) -> Iterator[str]:
        """Describe records that were not counted: those that lie only partly in the window, or in the future."""
        planned = [entry for entry in entries if entry.at > self._moment]
        if self._days is not None:
            planned = [entry for entry in planned if self._calendar.days_of(entry)[0] <= self._days[1]]
        for why, left in (
            ("mentioned in this time, dated outside it", counted.told_inside),
            ("partly in this time", counted.partly),
            ("planned", planned),
        ):
            if left:
                yield self._words.not_counted(why, [(each, self._calendar.days_of(each)) for each in left])

    def _fitting(
        self, lines: Sequence[str], rows: Sequence[RecordRow], of: int, budget: int
    ) -> tuple[str, tuple[RecordRow, ...]]:
        """Fit the heading and the latest rows (of a calendar the next ones) into a budget.

        Heading lines are dropped from the end; the result is empty if the first two do not fit.
        """
        counter = self._run.services.tokens
        kept = list(lines)
        while len(kept) >= min(2, len(lines)):
            heading = as_heading([*kept, rows_line(shown=0, of=of)])
            [cost] = counter.count([heading])
            if cost + LEAST_ROW <= budget:
                break
            kept.pop()
        else:
            return "", ()
        most = budget // LEAST_ROW + 1
        kept_first = rows[:most] if self._is_calendar else rows[: -most - 1 : -1]
        costs = counter.count([f"\n{row.text}" for row in kept_first])
        fits = int(np.searchsorted(np.cumsum(costs), budget - cost - LEAST_ROW, side="right"))
        shown = tuple(kept_first[:fits] if self._is_calendar else kept_first[:fits][::-1])
        which = "next" if self._is_calendar else "latest"
        return as_heading([*kept, rows_line(shown=len(shown), of=of, which=which)]), shown

    def _row(self, entry: RecordEntry) -> RecordRow:
        moment, closed = self._run.query.as_of, entry.memory.closed_at
        valid = closed is None or (moment is not None and moment < closed)
        line = record_line(entry, valid=valid, seen_from=self._moment)
        return RecordRow(line, entry.memory.id, entry.record, entry.at, valid)
