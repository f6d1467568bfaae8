"""Rendering of record digests in agents' prompts: figures, goals, uncounted records, and one line per record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal

from hindsight_integrations.language.units import currency_of
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_digest import Bound, DayValue, Figures, GoalStanding, PeriodValue
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule, readable_time

MOST_NAMED = 3  # maximum number of uncounted records listed
MOST_PERIODS = 31  # maximum number of days, weeks or months listed; the latest are kept
_TIMED = r"(?:today|this week|this month|all time|[A-Z][a-z]{2} \d[^:\n]*)[^:\n]*: (?:sum \S|no records|\d+ records?\b|\S+ \S+ in \d)"
_OTHER = r"(?:goal at (?:most|least) \S|not counted, |by (?:day|week|month)\b|rows: (?:complete|cut), |figures are of |too many records )"
DIGEST_LINE = rf"(?:Records, seen on [A-Z][^\n]*: [^\n]* records\b|= (?:{_TIMED}|{_OTHER}))[^\n]*"
"""A pattern for the lines above a digest's rows, which are removed if a user pastes a digest into a message."""
_CENT = Decimal("0.01")
_PER = {Granule.DAY: "a day", Granule.WEEK: "a week", Granule.MONTH: "a month"}
_PERIODS = {Granule.DAY: "days", Granule.WEEK: "weeks", Granule.MONTH: "months"}


def record_line(entry: RecordEntry, *, valid: bool = True, seen_from: datetime | None = None) -> str:
    """Format a record on one line: value, category and date, with a different bullet than memories.

    Args:
        entry: the record and its memory.
        valid: whether it is valid at the time asked about.
        seen_from: the time of the question.
    """
    record, memory = entry.record, entry.memory
    of = f", {record.category}" if record.category else ""
    when = readable_time(memory.occurred, memory.mentioned_at, seen_from)
    past = "" if valid else "; history, holds no more"
    return f"* {' '.join(f'{record.words}{of}'.split())} ({when}{past})"


def as_heading(lines: Sequence[str]) -> str:
    """Join the title and the lines, with a bullet that memories do not use, so that a pasted digest is recognised."""
    return "\n= ".join(lines)


class DigestWords:
    """Formats the figures of one digest.

    Args:
        today: the day of the question; days in the same year are written without the year.
    """

    def __init__(self, today: date) -> None:
        self._today = today

    def title(self, kind: RecordKind, categories: Sequence[str]) -> str:
        """Format the digest's subject."""
        what = f"{kind.value.replace('_', ' ')} records"
        about = f" ({', '.join(categories)})" if categories else ""
        return f"Records, seen on {self._today:%A}, {self._today}: {what}{about}"

    def figures(self, parts: Sequence[Figures]) -> str:
        """Format the figures of one period, unit by unit."""
        return f"{self.time(parts[0])}: {' and '.join(map(self._full, parts))}"

    def short(self, times: Sequence[Sequence[Figures]]) -> str:
        """Format the figures of further periods on one line."""
        return "; ".join(f"{self.time(parts[0])}: {' and '.join(map(self._short, parts))}" for parts in times)

    def nothing(self, when: str, days: tuple[date, date]) -> str:
        """Say that a period has no records."""
        return f"{self._when(when, days)}: no records"

    def goal(self, standing: GoalStanding) -> str:
        """Format the progress towards a goal, now and in the period asked about."""
        target = standing.target
        limit = target.bound is Bound.AT_MOST
        parts = [
            f"goal {'at most' if limit else 'at least'} {value(target.value, target.unit)} {_PER[target.period]}"
        ]
        if standing.value is not None:
            gap = target.value - standing.value
            if gap == 0:
                said = "just that"
            elif limit:
                said = f"{number(abs(gap), target.unit)} {'over' if gap < 0 else 'under'}"
            else:
                said = f"{number(abs(gap), target.unit)} {'more' if gap < 0 else 'short'}"
            parts.append(f"{self._days(standing.days)} {number(standing.value, target.unit)}, {said}")
        elif limit:
            parts.append(f"{self._days(standing.days)} no records, {number(target.value, target.unit)} under")
        if standing.periods:
            verb = "kept" if limit else "met"
            parts.append(
                f"{verb} in {standing.met} of {standing.periods} {_PERIODS[target.period]} with records"
            )
        return "; ".join(parts)

    def periods(self, period: Granule, sums: Sequence[PeriodValue], unit: str) -> str:
        """Format the sums by day, week or month."""
        shown = sums[-MOST_PERIODS:]
        cut = f", the latest {len(shown)} of {len(sums)}" if len(shown) < len(sums) else ""
        told = ", ".join(f"{self._days((each.start, each.end))} {number(each.value, unit)}" for each in shown)
        return f"by {period.value}{cut}: {told}"

    def not_counted(self, why: str, entries: Sequence[tuple[RecordEntry, tuple[date, date]]]) -> str:
        """List records that are not in the figures although a reader might expect them.

        Args:
            why: the reason, which is the same for all entries.
            entries: the records, each with its first and last day.
        """
        named = ", ".join(
            f"{entry.record.words} on {self._days(days)}" for entry, days in entries[:MOST_NAMED]
        )
        more = f" and {len(entries) - MOST_NAMED} more" if len(entries) > MOST_NAMED else ""
        return f"not counted, {why}: {named}{more}"

    def time(self, figures: Figures) -> str:
        """Format the period of figures."""
        return self._when(figures.when, figures.days)

    def _when(self, when: str, days: tuple[date, date] | None) -> str:
        if days is None:
            return when
        return self._days(days) if when == "asked" else f"{when} ({self._days(days)})"

    def _full(self, figures: Figures) -> str:
        return ", ".join(self._parts(figures))

    def _parts(self, figures: Figures) -> Iterator[str]:
        unit, latest = figures.unit, figures.latest
        if figures.count == 1 and latest:
            yield f"1 record, {value(latest.value, unit)} on {self._day(latest.day)}"
            return
        if figures.total is not None:
            yield f"sum {value(figures.total, unit)}"
        yield _records(figures.count)
        if figures.mean is not None:
            yield f"mean {value(figures.mean, unit)}"
        for name, extreme in (
            ("smallest", figures.smallest),
            ("largest", figures.largest),
            ("latest", latest),
        ):
            if extreme is not None:
                yield self._dated(name, extreme, unit)
        if figures.mean is None:
            yield "no sum, since not every value is a number"
        if (
            figures.per_day is not None
            and figures.most is not None
            and figures.days != (figures.most.day,) * 2
        ):
            yield f"mean of a day with records {number(figures.per_day, unit)}"
            yield self._dated("most in a day", figures.most, unit)

    def _short(self, figures: Figures) -> str:
        shown = figures.latest if figures.total is None else None
        if shown is not None:
            return f"{_records(figures.count)}, latest {value(shown.value, figures.unit)}"
        return f"{value(figures.total or Decimal(0), figures.unit)} in {_records(figures.count)}"

    def _dated(self, name: str, extreme: DayValue, unit: str) -> str:
        shown = number(extreme.value, unit) if isinstance(extreme.value, Decimal) else extreme.value
        return f"{name} {shown} ({self._day(extreme.day)})"

    def _day(self, day: date) -> str:
        year = "" if day.year == self._today.year else f", {day.year}"
        return f"{day:%b} {day.day}{year}"

    def _days(self, days: tuple[date, date]) -> str:
        first, last = days
        if first == last:
            return self._day(first)
        if (first.year, first.month) == (last.year, last.month) and first.year == self._today.year:
            return f"{self._day(first)} to {last.day}"
        return f"{self._day(first)} to {self._day(last)}"


def rows_line(*, shown: int, of: int, which: str = "latest") -> str:
    """Return whether the rows are complete, and if not, which of them are shown."""
    return f"rows: complete, {of} of {of}" if shown == of else f"rows: cut, the {which} {shown} of {of}"


def value(amount: Decimal | str, unit: str) -> str:
    """Format a value with its unit."""
    return " ".join(f"{number(amount, unit) if isinstance(amount, Decimal) else amount} {unit}".split())


def number(amount: Decimal | str, unit: str) -> str:
    """Format a number with at most two decimals; money always has two."""
    if isinstance(amount, str) or not amount.is_finite() or abs(amount.adjusted()) > 40:
        return str(amount)
    whole, _, fraction = f"{amount:f}".partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > 2:
        return f"{amount.quantize(_CENT, ROUND_HALF_UP, Context(prec=60)):f}"
    if not fraction:
        return whole
    return f"{whole}.{fraction.ljust(2, '0') if currency_of(unit) else fraction}"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
