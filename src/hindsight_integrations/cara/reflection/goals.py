"""Goals among a bank's records: which one a question means, and whether a value meets it. Pure (decision 135)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_answers import Bound, RecordQuestion, Standing, Target
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_subjects import KnownThings, Subject
from hindsight_integrations.text.vocabulary.currencies import currency_of
from hindsight_integrations.text.vocabulary.records import unit_of

_PERIODS = {"day": Granule.DAY, "week": Granule.WEEK, "month": Granule.MONTH}
_MEASURED = (RecordKind.EXPENSE, RecordKind.QUANTITY)


def goal_of(
    question: RecordQuestion, goals: Sequence[RecordEntry], known: KnownThings, languages: Sequence[Language]
) -> tuple[RecordQuestion, Target] | None:
    """The one goal a question means, and the question with what it is a goal for; None where none or several fit.

    Args:
        question: whether, or how often, a goal was met.
        goals: all valid records of goals.
        known: what the bank has records of.
        languages: in which goals are worded.
    """
    found: dict[tuple[Subject, Target], RecordEntry] = {}
    for entry in goals:
        target = _target(entry, languages)
        if target is None or question.period not in {None, target.period}:
            continue
        subject = _subject(entry, target, known)
        if subject is None and not question.categories:
            return None  # it may be the one that is meant
        if subject is not None and (question.kind == RecordKind.GOAL or _same(subject, question)):
            found[subject, target] = entry
    if len(found) != 1:
        return None
    (subject, target), entry = found.popitem()
    if question.window is not None and question.window.end <= entry.memory.mentioned_at:
        return None  # there was no such goal yet
    bounded = _bounded(target, subject.kind, entry.memory.text, languages)
    asked = replace(question, kind=subject.kind, categories=subject.categories)
    return None if bounded is None else (asked, bounded)


def held_against(value: Decimal, target: Target, standing: Standing) -> bool:
    """Whether a value stands to its target as is asked."""
    match standing:
        case Standing.MET:
            return target.met_by(value)
        case Standing.MISSED:
            return not target.met_by(value)
        case Standing.OVER:
            return value > target.value
        case Standing.UNDER:
            return value < target.value


def _target(entry: RecordEntry, languages: Sequence[Language]) -> Target | None:
    """A goal's number, what it is of and what it is per; None where it has none of these."""
    record = entry.record
    over, _, under = unit_of(record).partition("/")
    period = _PERIODS.get(under) or _stated_period(record.stated, languages)
    if not isinstance(record.value, Decimal) or period is None:
        return None
    return Target(record.value, Bound.AT_LEAST, over, period)


def _stated_period(stated: str, languages: Sequence[Language]) -> Granule | None:
    words = stated.lower().split()
    found = {
        each.records.periods[word] for each in languages for word in words if word in each.records.periods
    }
    return found.pop() if len(found) == 1 else None


def _subject(entry: RecordEntry, target: Target, known: KnownThings) -> Subject | None:
    """What a goal is for: its category among what the bank has records of, else what its unit counts."""
    record = entry.record
    money = currency_of(target.unit) is not None
    kinds = (RecordKind.EXPENSE,) if money else (RecordKind.QUANTITY,) if target.unit else _MEASURED
    if record.category and (found := known.subject(record.category, kinds)):
        return found
    if money:
        return None if record.category else Subject(RecordKind.EXPENSE)
    if record.category and known.unit(record.category) != target.unit:
        return None
    counted = known.measured_in(target.unit) if target.unit else None
    return None if counted is None else replace(counted, unit=None)


def _same(subject: Subject, question: RecordQuestion) -> bool:
    return subject.kind == question.kind and set(subject.categories) == set(question.categories)


def _bounded(target: Target, kind: RecordKind, text: str, languages: Sequence[Language]) -> Target | None:
    """The target with its side: what may be spent is a limit, what is measured is to be reached, unless its words say otherwise.

    None where they say both, or the opposite of what money means.
    """
    most = any(language.records.at_most.search(text) for language in languages)
    least = any(language.records.at_least.search(text) for language in languages)
    if kind == RecordKind.EXPENSE:
        return replace(target, bound=Bound.AT_MOST) if most or not least else None
    if most and least:
        return None
    return replace(target, bound=Bound.AT_MOST if most else Bound.AT_LEAST)
