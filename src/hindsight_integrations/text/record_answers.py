"""Exact answers in words, in the question's language. Pure (decision 135)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_answers import Bound, PeriodValue, RecordQuestion, Standing, Target
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_words import AnswerWords
from hindsight_integrations.text.vocabulary.cldr import written_day, written_number
from hindsight_integrations.text.vocabulary.currencies import currency_of

_SO_FAR = {"kept": "kept so far", "missed": "missed so far"}
_CENT = Decimal("0.01")


class Wording:
    """Words an exact answer.

    Args:
        question: as it was understood.
        language: of the question.
        days: first and last day it is about; None for all time.
    """

    def __init__(self, question: RecordQuestion, language: Language, days: tuple[date, date] | None) -> None:
        self._question, self._code = question, language.code
        self._words: AnswerWords = language.records.answers
        self._subject = self._named()
        self._when = self._words.whenever if days is None else self.stretch(*days)

    def sentence(self, template: str, **parts: str) -> str:
        """One of the language's templates with the subject, the time and further parts put in."""
        text = str(getattr(self._words, template)).format(subject=self._subject, when=self._when, **parts)
        return text[:1].upper() + text[1:]

    def value(self, value: Decimal | str, unit: str) -> str:
        """A value with its unit."""
        if isinstance(value, str):
            return " ".join(f"{value} {unit}".split())
        rounded = value.quantize(_CENT, ROUND_HALF_UP) if value % _CENT else value
        number = written_number(rounded, self._code, decimals=2 if currency_of(unit) else 0)
        return f"{number} {unit}".strip()

    def entry(self, entry: RecordEntry) -> str:
        """One record of a list."""
        record = entry.record
        value = self.value(record.value, record.unit)
        listed = isinstance(record.value, Decimal) and len(self._question.categories) != 1
        return f"{record.category} {value}".strip() if listed else value

    def entries(self, entries: Sequence[RecordEntry]) -> str:
        """All records of a list."""
        return "; ".join(map(self.entry, entries))

    def records(self, count: int) -> str:
        """How many records."""
        return self._words.records[count != 1].format(count=count)

    def periods(self, count: int, period: Granule) -> str:
        """How many days, weeks or months."""
        return self._words.units[period.value][count != 1].format(count=count)

    def per(self, period: Granule) -> str:
        """What a mean is per."""
        return self._words.per[period.value]

    def target(self, target: Target) -> str:
        """A target."""
        value = self.value(target.value, target.unit)
        return f"{self._words.bounds[target.bound.value].format(value=value)} {self.per(target.period)}"

    def standing(self, standing: Standing, target: Target, *, going_on: bool = False) -> str:
        """What became of a goal: a limit is kept or exceeded, what is to be reached is met or missed, perhaps so far.

        Args:
            standing: how values stand to it.
            target: the goal.
            going_on: the time asked about is not over.
        """
        limit = target.bound in {Bound.AT_MOST, Bound.LESS}
        key = (
            {"met": "kept", "missed": "broken"}.get(standing.value, standing.value)
            if limit
            else standing.value
        )
        return self._words.standing[_SO_FAR.get(key, key) if going_on else key]

    def named_periods(self, periods: Sequence[PeriodValue]) -> str:
        """The days, weeks or months, all of them."""
        names = [self.stretch(part.start, part.end) for part in periods]
        if len(names) == 1:
            return names[0]
        return f"{', '.join(names[:-1])} {self._words.and_} {names[-1]}"

    def day(self, day: date) -> str:
        """A day in full."""
        return written_day(day, self._code)

    def stretch(self, first: date, last: date) -> str:
        """One day, or from one to another."""
        if first == last:
            return self._words.day.format(start=self.day(first))
        return self._words.days.format(start=self.day(first), end=self.day(last))

    def _named(self) -> str:
        question = self._question
        if not question.categories:
            return self._words.kinds[question.kind.value]
        names = ", ".join(question.categories)
        several = len(question.categories) > 1 and question.subject
        named = f"{question.subject} ({names})" if several else names
        money = question.kind in {RecordKind.EXPENSE, RecordKind.INCOME}
        return f"{named} ({self._words.kinds[question.kind.value]})" if money and not several else named
