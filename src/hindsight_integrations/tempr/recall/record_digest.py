"""The record digest beside the memories: exact figures and the complete rows of what a question touches (decision 173).

Ranking finds most of a list, and nobody can tell what is missing; and no model adds up reliably. So figures are computed from all
records of the categories that the question touches, and these are listed, under a budget of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_digest import Figures, PeriodValue, RecordDigest, RecordRow, Standing
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import Granule, Interval
from hindsight_integrations.ports.arrays import BoolArray, IntArray
from hindsight_integrations.prompts.record_digest import DigestWords, as_heading, record_line, rows_line
from hindsight_integrations.search.record_search import RecordFilter, latest_records
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.record_figures import (
    Calendar,
    Counted,
    Days,
    figures_of,
    given_in,
    standing,
    sums_of,
    target_of,
    within,
)
from hindsight_integrations.text.open_tasks import open_tasks
from hindsight_integrations.text.record_subjects import (
    VALUED,
    Best,
    KnownThings,
    Subject,
    known_things,
    touched,
)
from hindsight_integrations.text.time_expressions import TimeWindow
from hindsight_integrations.text.times import question_time

MOST_READ = 2_000  # memories of one digest that are read, the latest: 0.1 s on two cores (decision 173)
LEAST_ROW = 4  # tokens; bounds how many rows are worth counting (no source)
EVER: Days = (date.min, date.max)
NEVER: Days = (date.max, date.min)
BEST = 10  # memories whose records tell what is asked about, where no word does [decision 173]


def record_digests(run: RecallContext, allowed: BoolArray, ranking: IntArray) -> tuple[RecordDigest, ...]:
    """The digests a question asks for; none where it asks for none, or the bank has no such record.

    Args:
        run: the recall under way.
        allowed: which memories may be returned.
        ranking: row ids of what was found, best first.
    """
    budget = run.query.record_tokens
    if not budget:
        return ()
    with timed(run.trace, "records") as detail:
        found: list[RecordDigest] = []
        asked = _Asked.of(run, ranking)
        for place, subject in enumerate(asked.subjects):
            share = (budget - sum(each.tokens for each in found)) // (len(asked.subjects) - place)
            try:
                digest = _Digesting(run, asked, subject, allowed).digest(share)
            except MemoryDamaged as error:
                run.trace.notes.append(f"records: no figures, {error}")
                continue
            found += [digest] if digest else []
        detail["rows"] = sum(len(each.rows) for each in found)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question asks of records.

    Attributes:
        subjects: what it is about.
        known: what the bank has records of.
        window: the time it names, or the caller.
        calendar: of the bank.
    """

    subjects: tuple[Subject, ...]
    known: KnownThings
    window: Interval | None
    calendar: Calendar

    @classmethod
    def of(cls, run: RecallContext, ranking: IntArray) -> _Asked:
        """The same, read from the question's words and, where they name no category, from what it found."""
        query, tools = run.query, run.tools
        known = known_things(tuple(_categories(run)), tuple(tools.languages))
        found = question_time(query.text, query.query_timestamp, tools.dates, tools.languages)

        def best() -> list[Best]:
            units = run.view.ledger.units(run.view.bank, ranking[:BEST]).values()
            return [(unit.text, {(each.kind, each.category) for each in unit.records}) for unit in units]

        subjects = touched(
            query.text,
            known,
            tools.languages,
            time=found.phrase if found else "",
            best=best,
        )
        window = query.window or (_of_whole_days(found) if found else None)
        return cls(subjects, known, window, Calendar(tools.dates.zone, tools.dates.week_starts))


def _of_whole_days(found: TimeWindow) -> Interval:
    """A time that a question names; of "the last 10 days" today is one, where recall looks a day further back."""
    days = (found.interval.end - found.interval.start).days
    counted = found.granule is Granule.DAY and found.from_now and days > 2
    if counted and str(days - 1) in re.findall(r"\d+", found.phrase):
        return Interval(found.interval.start + timedelta(days=1), found.interval.end)
    return found.interval


def _categories(run: RecallContext) -> list[RecordCategory]:
    ledger, bank = run.view.ledger, run.view.bank
    units = ledger.category_units(bank, None)
    return [
        replace(each, units=units.get((each.kind, each.name), ())) for each in ledger.categories(bank, None)
    ]


@dataclass(frozen=True, slots=True)
class _Read:
    """The records that were read.

    Attributes:
        entries: in order of time.
        unread: how many memories with further ones were not read.
        known: the days of which all were read.
    """

    entries: Sequence[RecordEntry]
    unread: int
    known: Days

    def covers(self, days: Days | None) -> bool:
        """Whether all records of these days were read; of all time where there are none."""
        first, last = self.known
        return self.known == EVER or (days is not None and first <= days[0] and days[1] <= last)


def _overlap(one: Days, other: Days) -> Days:
    return max(one[0], other[0]), min(one[1], other[1])


class _Digesting:
    """Makes the digest of one subject.

    Args:
        run: the recall under way.
        asked: what its question asks of records.
        subject: which records.
        allowed: which memories they may stand in.
    """

    def __init__(self, run: RecallContext, asked: _Asked, subject: Subject, allowed: BoolArray) -> None:
        self._run, self._asked, self._subject, self._allowed = run, asked, subject, allowed
        self._calendar = asked.calendar
        self._moment = run.query.query_timestamp
        self._today = self._calendar.day(self._moment)
        self._days = None if asked.window is None else self._calendar.days(asked.window)
        self._words = DigestWords(self._today)
        self._figures: list[Figures] = []
        self._of_time_asked: Figures | None = None
        self._goals: list[Standing] = []
        self._periods: tuple[PeriodValue, ...] = ()

    def digest(self, budget: int) -> RecordDigest | None:
        """Figures, goals and rows within a budget of tokens; None where there is nothing to tell, or no room for it.

        Raises:
            MemoryDamaged: some records are not what was written, so that no figure would be right.
        """
        window = self._asked.window
        if self._subject.kind in VALUED and window is not None and window.start > self._moment:
            return None  # nothing is spent or walked yet
        read = self._read()
        if not read.entries:
            return None
        listed = self._listed(read.entries)
        if self._subject.kind not in VALUED and not listed:
            return None
        lines = self._figured(read)
        title = self._words.title(self._subject.kind, self._subject.categories)
        if window is not None and self._days is None:
            lines.append("figures are of whole days; the rows are those of the time asked about")
        of = len(listed) + read.unread
        heading, rows = self._fitting([title, *lines], [self._row(each) for each in listed], of, budget)
        if not heading:
            return None
        text = "\n".join([heading, *(row.text for row in rows)])
        entered = {entry.memory.id for entry in (read.entries if self._figures else listed)}
        entered |= {standing.unit_id for standing in self._goals}
        [tokens] = self._run.tools.tokens.count([text])
        return RecordDigest(
            kind=self._subject.kind,
            categories=self._subject.categories,
            window=window,
            asked=self._of_time_asked,
            figures=tuple(self._figures),
            periods=self._periods,
            goals=tuple(self._goals),
            heading=heading,
            rows=rows,
            tokens=tokens,
            of=of,
            unit_ids=tuple(sorted(entered)),
        )

    def _read(self) -> _Read:
        """The records of the subject: all of them, or the latest, of the time asked about where it names one."""
        query, window = self._run.query, self._asked.window
        entries: list[RecordEntry] = []
        unread, known = 0, EVER
        for category in self._subject.categories or (None,):
            wanted = RecordFilter(self._subject.kind, category, as_of=query.as_of)
            wanted = replace(wanted, include_invalidated=query.include_invalidated)
            found, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
            if more:
                if window is not None:
                    wanted = replace(wanted, window=window)
                    found, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
                known = _overlap(known, self._known(found, more))
            # steps of a category "walking" are of both where both are asked about
            earlier = {(entry.memory.id, entry.record) for entry in entries}
            entries += [entry for entry in found if (entry.memory.id, entry.record) not in earlier]
            unread += more
        if self._subject.kind is RecordKind.TASK:
            entries = open_tasks(entries, self._run.tools.languages)
        entries.sort(key=lambda entry: (entry.at, entry.memory.mentioned_at))
        return _Read(entries, unread, known)

    def _known(self, found: Sequence[RecordEntry], more: int) -> Days:
        """The days of which all records were read, where not all of the bank were; none of a part of a day."""
        if self._asked.window is not None and self._days is None:
            return NEVER
        first, last = self._days or EVER
        if more and found:
            first = max(first, self._calendar.days_of(found[0])[0] + timedelta(days=1))
        return first, last

    def _listed(self, entries: Sequence[RecordEntry]) -> list[RecordEntry]:
        """The records of the time asked about: whatever touches its days, or, of a part of a day, begins in it."""
        window = self._asked.window
        if window is None:
            return list(entries)
        if self._days is None:
            return [entry for entry in entries if window.start <= entry.at < window.end]
        first, last = self._days
        spans = [(entry, self._calendar.days_of(entry)) for entry in entries]
        return [entry for entry, (begins, ends) in spans if ends >= first and begins <= last]

    def _figured(self, read: _Read) -> list[str]:
        """Figures and goals, kept, and in words; nothing of kinds that are no numbers, and none over history."""
        if self._subject.kind not in VALUED or self._run.query.include_invalidated:
            return []
        unit, words, period = self._subject.unit, self._words, self._subject.period
        given = read.entries if unit is None else [given_in(entry, unit) for entry in read.entries]
        past = [entry for entry in given if entry.at <= self._moment]
        times = list(self._times(past, read))
        self._figures += [figures for parts in times for figures in parts]
        lines = []
        if times and times[0][0].days == self._days and (self._days or self._asked.window is None):
            self._of_time_asked = times[0][0]
        elif not read.covers(self._days):
            lines.append(f"too many records to add up: the latest {MOST_READ} memories were read")
        elif self._days:
            lines.append(words.nothing("asked", self._days))
        lines += [words.figures(times[0])] if times else []
        lines += [words.short(times[1:])] if times[1:] else []
        if past and read.covers(None):
            self._goals += self._standings(past)
            if period and self._adds_up:
                self._periods = sums_of(past, period, self._days, self._calendar)
        lines += [words.goal(each) for each in self._goals]
        if period and self._periods:
            lines.append(words.periods(period, self._periods, self._figures[0].unit))
        return [*lines, *self._left_out(within(past, self._days, self._calendar), given)]

    @property
    def _adds_up(self) -> bool:
        alike = self._subject.kind is not RecordKind.QUANTITY or len(self._subject.categories) == 1
        return alike and self._asked.known.adds_up(self._subject)

    def _times(self, past: Sequence[RecordEntry], read: _Read) -> Iterator[list[Figures]]:
        """The figures of the time asked about, else of all time, then of the present day, week and month and all time.

        Left out are times that were not read whole, or have the records of one before.
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

    def _standings(self, past: Sequence[RecordEntry]) -> list[Standing]:
        """How the records stand to the bank's goals for them."""
        query, tools = self._run.query, self._run.tools
        wanted = RecordFilter(RecordKind.GOAL, as_of=query.as_of)
        goals, _ = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
        found = []
        for entry in goals:
            target = target_of(entry, self._subject, self._asked.known, tools.languages)
            if target is None:
                continue
            stands = standing(target, entry.memory.id, past, self._days, self._today, self._calendar)
            found += [stands] if stands else []
        return found

    def _left_out(self, counted: Counted, entries: Sequence[RecordEntry]) -> Iterator[str]:
        """What stands next to the time asked about, and what is not yet so."""
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
        """Heading and latest rows within a budget; lines of the heading give way from its end, and without its first two it says nothing."""
        counter = self._run.tools.tokens
        kept = list(lines)
        while len(kept) >= min(2, len(lines)):
            heading = as_heading([*kept, rows_line(shown=0, of=of)])
            [cost] = counter.count([heading])
            if cost + LEAST_ROW <= budget:
                break
            kept.pop()
        else:
            return "", ()
        latest = rows[-(budget // LEAST_ROW + 1) :]
        costs = counter.count([f"\n{row.text}" for row in latest])
        fits = int(np.searchsorted(np.cumsum(costs[::-1]), budget - cost - LEAST_ROW, side="right"))
        shown = tuple(latest[len(latest) - fits :])
        return as_heading([*kept, rows_line(shown=len(shown), of=of)]), shown

    def _row(self, entry: RecordEntry) -> RecordRow:
        moment, closed = self._run.query.as_of, entry.memory.closed_at
        valid = closed is None or (moment is not None and moment < closed)
        line = record_line(entry, valid=valid, seen_from=self._moment)
        return RecordRow(line, entry.memory.id, entry.record, entry.at, valid)
