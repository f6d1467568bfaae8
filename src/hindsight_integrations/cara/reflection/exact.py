"""Questions over records answered exactly, without a model; what records do not say for sure is declined (decision 135)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from hindsight_integrations.cara.reflection.goals import goal_of, held_against
from hindsight_integrations.cara.reflection.periods import ONE_DAY, Calendar, Uncertain, in_window, within
from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.model.record_answers import (
    RecordAnswer,
    RecordOperation,
    RecordQuestion,
    Standing,
    Target,
)
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import Granule, Interval, LocalDates
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.open_tasks import open_tasks
from hindsight_integrations.text.record_answers import Wording
from hindsight_integrations.text.record_operations import VALUED
from hindsight_integrations.text.record_questions import record_question
from hindsight_integrations.text.record_subjects import KnownThings
from hindsight_integrations.text.vocabulary.records import unit_of
from hindsight_integrations.text.vocabulary.units import factor, same_measure


@dataclass(frozen=True, slots=True)
class RecordTools:
    """What exact answers need of the bank.

    Attributes:
        categories: those of the bank, with their units.
        entries: all valid records of a kind and (if named) a category, in order of time.
        aggregate: one exact value over records.
        dates: how days are read.
        languages: of questions and categories, the likeliest first.
        calendar: days and weeks.
    """

    categories: Callable[[], Awaitable[Sequence[RecordCategory]]]
    entries: Callable[[RecordKind, str | None], Awaitable[Sequence[RecordEntry]]]
    aggregate: Callable[[Sequence[RecordEntry], Aggregation], Aggregate]
    dates: LocalDates
    languages: Sequence[Language]
    calendar: Calendar


async def exact_answer(
    query: str, moment: datetime, tools: RecordTools, *, window: Interval | None = None
) -> RecordAnswer | None:
    """What records say to a question; None if it is not recognised for sure, or they do not say for sure.

    Args:
        query: the question.
        moment: when it is put.
        tools: the bank's records.
        window: the time it is about, if the caller gave one; a question that names another is declined.
    """
    categories = await tools.categories()
    question = record_question(
        query,
        moment,
        dates=tools.dates,
        languages=tools.languages,
        categories=categories,
    )
    if question is None or (window is not None and question.window not in {None, window}):
        return None
    asked = replace(question, window=question.window or window)
    try:
        goals = await tools.entries(RecordKind.GOAL, None) if asked.standing else ()
        target: Target | None = asked.target
        if asked.standing and target is None:
            found = goal_of(asked, goals, KnownThings(categories, tools.languages), tools.languages)
            if found is None:
                return None
            asked, target = found
        answering = _Answering(asked, moment, tools, target)
        return answering.answer(await _entries(asked, tools))
    except (Uncertain, MemoryDamaged, InvalidRequest):
        return None


async def _entries(question: RecordQuestion, tools: RecordTools) -> list[RecordEntry]:
    """All records a question is about, of any time, in order of time."""
    found: list[RecordEntry] = []
    for category in question.categories or (None,):
        found.extend(await tools.entries(question.kind, category))
    return (
        sorted(found, key=lambda entry: (entry.at, entry.memory.mentioned_at))
        if len(question.categories) > 1
        else found
    )


@dataclass(frozen=True, slots=True)
class _Answering:
    """One question being answered.

    Attributes:
        question: as it was understood.
        moment: when it was put.
        tools: the bank's.
        target: of a goal.
    """

    question: RecordQuestion
    moment: datetime
    tools: RecordTools
    target: Target | None

    def answer(self, entries: Sequence[RecordEntry]) -> RecordAnswer | None:
        """The answer; None where there is nothing to say.

        Raises:
            Uncertain: the records do not say for sure.
            InvalidRequest: they have values of different measures.
        """
        operation = self.question.operation
        if self.question.kind == RecordKind.TASK:
            entries = open_tasks(entries, self.tools.languages)
        if operation == RecordOperation.LATEST:
            return self._latest(entries)
        inside = self._inside(entries)
        if self.question.kind in VALUED and any(entry.at > self.moment for entry in inside):
            raise Uncertain  # planned, and not yet so
        if operation in {RecordOperation.LIST, RecordOperation.COUNT}:
            return self._listed(inside)
        if not inside or any(not isinstance(entry.record.value, Decimal) for entry in inside):
            raise Uncertain
        return self._computed(entries, inside)

    def _computed(self, entries: Sequence[RecordEntry], inside: Sequence[RecordEntry]) -> RecordAnswer:
        match self.question.operation:
            case RecordOperation.TOTAL:
                return self._total(inside)
            case RecordOperation.AVERAGE:
                return self._average(entries, inside)
            case RecordOperation.MOST | RecordOperation.LEAST:
                return self._extreme(entries)
            case _:
                return self._against_goal(entries)

    @property
    def _days(self) -> tuple[date, date] | None:
        window = self.question.window
        return None if window is None else self.tools.calendar.days(window)

    @property
    def _wording(self) -> Wording:
        language = next(each for each in self.tools.languages if each.code == self.question.language)
        return Wording(self.question, language, self._days)

    def _inside(self, entries: Sequence[RecordEntry]) -> list[RecordEntry]:
        return list(entries) if self._days is None else within(entries, *self._days, self.tools.calendar)

    def _sum(self, entries: Sequence[RecordEntry]) -> tuple[Decimal, str]:
        """Sum and unit, in the unit asked for."""
        if any(not isinstance(entry.record.value, Decimal) for entry in entries):
            raise Uncertain
        found = self.tools.aggregate(entries, Aggregation.SUM)
        value = found.value if isinstance(found.value, Decimal) else Decimal(0)
        wanted = self.question.unit
        if wanted is None or found.unit in {wanted, ""} or not entries:
            return value, wanted or found.unit
        if same_measure(found.unit) != same_measure(wanted):
            raise Uncertain
        ratio = factor(found.unit, wanted)
        return value * ratio.numerator / ratio.denominator, wanted

    def _value(self, entries: Sequence[RecordEntry]) -> Decimal:
        return Decimal(len(entries)) if self.question.counted else self._sum(entries)[0]

    def _made(
        self, value: Decimal | str | None, unit: str, entries: Sequence[RecordEntry], text: str
    ) -> RecordAnswer:
        return RecordAnswer(self.question, value, unit, tuple(entries), text)

    def _listed(self, entries: Sequence[RecordEntry]) -> RecordAnswer:
        words, counting = self._wording, self.question.operation == RecordOperation.COUNT
        records = words.records(len(entries))
        if not entries:
            return self._made(Decimal(0) if counting else None, "", (), words.sentence("none"))
        if counting:
            return self._made(Decimal(len(entries)), "", entries, words.sentence("count", records=records))
        text = words.sentence("list", items=words.entries(entries), records=records)
        return self._made(None, "", entries, text)

    def _latest(self, entries: Sequence[RecordEntry]) -> RecordAnswer | None:
        past = [entry for entry in self._inside(entries) if entry.at <= self.moment]
        if not past:
            return None
        last = max(past, key=lambda entry: (entry.at, entry.memory.mentioned_at))
        words, unit = self._wording, unit_of(last.record)
        alike = [e for e in past if (e.at, e.memory.mentioned_at) == (last.at, last.memory.mentioned_at)]
        last = alike[-1]
        date_of = words.day(self.tools.calendar.days_of(last)[0])
        text = words.sentence("latest", date=date_of, value=words.entry(last))
        return self._made(last.record.value, unit, (last,), text)

    def _total(self, entries: Sequence[RecordEntry]) -> RecordAnswer:
        words = self._wording
        value, unit = self._sum(entries)
        text = words.sentence("total", value=words.value(value, unit), records=words.records(len(entries)))
        return self._made(value, unit, entries, text)

    def _average(self, entries: Sequence[RecordEntry], inside: Sequence[RecordEntry]) -> RecordAnswer:
        words, period = self._wording, self.question.period
        total, unit = self._sum(inside)
        if period is None:
            mean = total / len(inside)
            parts = {"records": words.records(len(inside))}
            template = "average"
        else:
            found = in_window(entries, self._days, period, self._value, self.tools.calendar)
            mean = total / len(found)
            parts = {"per": words.per(period), "periods": words.periods(len(found), period)}
            template = "average_period"
        text = words.sentence(
            template, value=words.value(mean, unit), total=words.value(total, unit), **parts
        )
        return self._made(mean, unit, inside, text)

    def _extreme(self, entries: Sequence[RecordEntry]) -> RecordAnswer:
        """The periods with the most or the least; several where they are equal."""
        words, most = self._wording, self.question.operation == RecordOperation.MOST
        period = self.question.period or Granule.DAY
        found = in_window(entries, self._days, period, self._value, self.tools.calendar)
        best = (max if most else min)(part.value for part in found)
        chosen = tuple(part for part in found if part.value == best)
        inside = [entry for part in found for entry in part.entries]
        unit = "" if self.question.counted else self._sum(inside)[1]
        value = words.records(int(best)) if self.question.counted else words.value(best, unit)
        text = words.sentence("most" if most else "least", value=value, periods=words.named_periods(chosen))
        return replace(self._made(best, unit, inside, text), periods=chosen)

    def _against_goal(self, entries: Sequence[RecordEntry]) -> RecordAnswer:
        """Whether a goal was met, or how often."""
        target = self.target
        if target is None:
            raise Uncertain
        unit = self._sum(entries)[1]
        held = _in_unit(target, unit)
        if self.question.operation == RecordOperation.PERIODS:
            return self._periods_against(held, entries)
        if self.question.window is None:
            present = replace(self.question, window=self._interval(self._present(target.period)))
            return replace(self, question=present).goal(held, entries)
        return self.goal(held, entries)

    def _periods_against(self, target: Target, entries: Sequence[RecordEntry]) -> RecordAnswer:
        words, standing = self._wording, self.question.standing or Standing.MET
        found = in_window(entries, self._days, target.period, self._value, self.tools.calendar)
        chosen = tuple(part for part in found if held_against(part.value, target, standing))
        text = words.sentence(
            "counted",
            target=words.target(target),
            standing=words.standing(standing, target),
            count=str(len(chosen)),
            periods=words.periods(len(found), target.period),
        )
        inside = [entry for part in found for entry in part.entries]
        made = self._made(Decimal(len(chosen)), "", inside, text)
        return replace(made, target=target, periods=chosen)

    def goal(self, target: Target, entries: Sequence[RecordEntry]) -> RecordAnswer:
        """Whether a goal was met in the time asked about: on average, where that is several of its periods.

        Raises:
            Uncertain: no whole period lies in it, or it was met on average and not every time.
        """
        words, days = self._wording, self._days
        found = in_window(entries, days, target.period, self._value, self.tools.calendar)
        if days is None or not found or not self._whole_periods(days, target.period):
            raise Uncertain
        total, reached = (
            sum((part.value for part in found), Decimal(0)),
            [target.met_by(part.value) for part in found],
        )
        mean = total / len(found)
        met = target.met_by(mean)
        if met and not all(reached):
            raise Uncertain
        inside = [entry for part in found for entry in part.entries]
        going_on = days[1] >= self.tools.calendar.day(self.moment)
        single = days == self.tools.calendar.around(days[0], target.period)
        text = words.sentence(
            "goal" if single else "goal_average",
            value=words.value(mean, target.unit),
            target=words.target(target),
            standing=words.standing(Standing.MET if met else Standing.MISSED, target, going_on=going_on),
            records=words.records(len(inside)),
            per=words.per(target.period),
            met=str(sum(reached)),
            periods=words.periods(len(found), target.period),
            total=words.value(total, target.unit),
        )
        made = self._made(mean, target.unit, inside, text)
        return replace(made, met=met, target=target, periods=tuple(found))

    def _present(self, period: Granule) -> tuple[date, date]:
        """What a goal without a time is about: this week, or this month where it is a month's."""
        today = self.tools.calendar.day(self.moment)
        return self.tools.calendar.around(today, Granule.MONTH if period == Granule.MONTH else Granule.WEEK)

    def _interval(self, days: tuple[date, date]) -> Interval:
        zone = self.tools.calendar.zone
        bounds = (days[0], days[1] + ONE_DAY)
        return Interval(*(datetime(day.year, day.month, day.day, tzinfo=zone) for day in bounds))

    def _whole_periods(self, days: tuple[date, date], period: Granule) -> bool:
        """Whether the time asked about has a whole period at least, or the present one as far as it has come."""
        calendar = self.tools.calendar
        first, last = calendar.around(days[0], period)
        if days[0] > first:
            first, last = calendar.around(last.fromordinal(last.toordinal() + 1), period)
        return last <= days[1] or (first == days[0] and days[1] >= calendar.day(self.moment))


def _in_unit(target: Target, unit: str) -> Target:
    """A target in the unit of the values.

    Raises:
        Uncertain: it measures something else.
    """
    if not target.unit or target.unit == unit:
        return replace(target, unit=unit)
    if same_measure(target.unit) != same_measure(unit):
        raise Uncertain
    ratio = factor(target.unit, unit)
    return replace(target, value=target.value * ratio.numerator / ratio.denominator, unit=unit)
