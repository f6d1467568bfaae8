"""The record digest beside the memories: exact figures and the complete rows of what a question touches (decision 173).

Ranking finds most of a list, and nobody can tell what is missing; and no model adds up reliably. So figures are computed from all
records of the categories that the question touches, and these are listed, under a budget of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

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
        entries, unread = self._entries()
        if not entries:
            return None
        listed = self._listed(entries)
        if self._subject.kind not in VALUED and not listed:
            return None
        lines = self._figured(entries, unread)
        title = self._words.title(self._subject.kind, self._subject.categories)
        if window is not None and self._days is None:
            lines.append("of the part of a day asked about the rows alone are known")
        of = len(listed) + unread
        heading, rows = self._fitting([title, *lines], [self._row(each) for each in listed], of, budget)
        if not heading:
            return None
        text = "\n".join([heading, *(row.text for row in rows)])
        entered = {entry.memory.id for entry in (entries if self._figures else listed)}
        [tokens] = self._run.tools.tokens.count([text])
        return RecordDigest(
            kind=self._subject.kind,
            categories=self._subject.categories,
            window=window,
            figures=tuple(self._figures),
            periods=self._periods,
            goals=tuple(self._goals),
            heading=heading,
            rows=rows,
            tokens=tokens,
            of=of,
            unit_ids=tuple(sorted(entered)),
        )

    def _entries(self) -> tuple[list[RecordEntry], int]:
        """All records of the subject in order of time, and how many memories with further, earlier ones were not read."""
        query, found, unread = self._run.query, list[RecordEntry](), 0
        for category in self._subject.categories or (None,):
            wanted = RecordFilter(self._subject.kind, category, as_of=query.as_of)
            wanted = replace(wanted, include_invalidated=query.include_invalidated)
            entries, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
            if more and query.window is None and self._asked.window is not None:
                wanted = replace(wanted, window=self._asked.window)
                entries, more = latest_records(self._run.view, wanted, self._allowed, most=MOST_READ)
            found += entries
            unread += more
        found = list({(id(each.record), each.memory.id): each for each in found}.values())
        if self._subject.kind is RecordKind.TASK:
            found = open_tasks(found, self._run.tools.languages)
        return sorted(found, key=lambda entry: (entry.at, entry.memory.mentioned_at)), unread

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

    def _figured(self, entries: Sequence[RecordEntry], unread: int) -> list[str]:
        """Figures and goals, kept, and in words; nothing of kinds that are no numbers, and none over history."""
        if self._subject.kind not in VALUED or self._run.query.include_invalidated:
            return []
        unit, words = self._subject.unit, self._words
        given = entries if unit is None else [given_in(entry, unit) for entry in entries]
        past = [entry for entry in given if entry.at <= self._moment]
        times = list(self._times(past, unread))
        self._figures += [figures for parts in times for figures in parts]
        lines = (
            [words.nothing("asked", self._days)]
            if self._days and not (times and times[0][0].days == self._days)
            else []
        )
        lines += [words.figures(times[0])] if times else []
        lines += [words.short(times[1:])] if times[1:] else []
        if past and not unread:
            self._goals += self._standings(past)
            if self._subject.period and self._adds_up:
                self._periods = sums_of(past, self._subject.period, self._days, self._calendar)
        lines += [words.goal(each) for each in self._goals]
        if self._subject.period and self._periods:
            lines.append(words.periods(self._subject.period, self._periods, self._figures[0].unit))
        return [*lines, *self._left_out(within(past, self._days, self._calendar), given)]

    @property
    def _adds_up(self) -> bool:
        alike = self._subject.kind is not RecordKind.QUANTITY or len(self._subject.categories) == 1
        return alike and self._asked.known.adds_up(self._subject)

    def _times(self, past: Sequence[RecordEntry], unread: int) -> Iterator[list[Figures]]:
        """The figures of the time asked about, else of all time, then of the present day, week and month and all time."""
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
        known_from = self._calendar.days_of(past[0])[0] + timedelta(days=1) if unread and past else None
        seen = set[tuple[str, ...]]()
        for name, days in dict.fromkeys(times):
            if known_from is not None and (days is None or days[0] < known_from) and days != self._days:
                continue
            inside = within(past, days, self._calendar).inside
            ids = tuple(f"{entry.memory.id} {entry.record}" for entry in inside)
            if not inside or ids in seen:
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
            ("told of in this time and of another", counted.told_inside),
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
