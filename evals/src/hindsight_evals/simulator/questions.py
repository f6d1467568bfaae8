"""Questions about a simulated life, with items, criteria and exact answers from its trace (Memora 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from hindsight_evals.episode import Criterion, CriterionKind, Item, Question
from hindsight_evals.simulator.dialogue import rendered
from hindsight_evals.simulator.memories import MemoryKind
from hindsight_evals.simulator.operations import SINGULAR
from hindsight_evals.simulator.seeds import QuestionFamily
from hindsight_evals.simulator.told import Memories, Told, items

MOST_GONE = 40  # maximum number of invalidated items in a question (the latest ones); Memora's have up to 24
# Maximum number of days for which a context is expected to contain all purchases; for longer spans only the
# answer is.
LONGEST_LISTED = 7
DOCUMENTS_ASKED = 4


@dataclass(frozen=True, slots=True)
class Span:
    """The days a question is about, up to the day on which it is asked."""

    words: str
    start: date
    end: date

    def __contains__(self, day: date) -> bool:
        return self.start <= day <= self.end

    @property
    def days(self) -> int:
        """The number of days, both ends included."""
        return (self.end - self.start).days + 1


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question before it is put into words."""

    values: Mapping[str, str]
    items: tuple[Item, ...] = ()
    answer: str = ""


def spans(first: date, asked: date) -> list[Span]:
    """Return the spans to ask about: the week, month and year, if the life is at least as long."""
    monday = asked - timedelta(days=asked.weekday())
    found = [Span("this week", monday, asked)]
    if first <= asked.replace(day=1) and (asked - first).days >= LONGEST_LISTED:
        found.append(Span("this month", asked.replace(day=1), asked))
    if (asked - first).days > 31:
        found.append(Span("this year", asked.replace(month=1, day=1), asked))
    return found


class Asking:
    """Generates the questions of a life.

    Args:
        memories: all stated memories.
        first: the first day.
        moment: the time at which the questions are asked.
        random: chooses wordings and documents.
    """

    def __init__(self, memories: Memories, first: date, moment: datetime, random: Random) -> None:
        self._memories, self._moment, self._random = memories, moment, random
        self._spans = spans(first, moment.date())
        self._targets: Mapping[str, Callable[[], Iterator[_Asked]]] = {
            "todos": lambda: self._all_of(MemoryKind.TODO),
            "calendar": self._calendar,
            "goals": self._goals,
            "document": self._documents,
            "food_total": self._food_totals,
            "food_category_total": self._category_totals,
            "food_budget_left": self._budgets_left,
            "steps_total": self._steps_totals,
            "step_target_days": self._target_days,
            **{domain: lambda domain=domain: self._tastes(domain) for domain in SINGULAR},  # type: ignore[misc] # bound at once
        }

    def questions(self, families: Sequence[QuestionFamily]) -> Iterator[Question]:
        """Yield a question for every target that has an answer, with a wording of one of its families."""
        for target, about in self._targets.items():
            fitting = [family for family in families if family.target == target]
            for number, asked in enumerate(about() if fitting else ()):
                family = self._random.choice(fitting)
                yield self._question(f"{target}_{number}", family, asked)

    def _question(self, name: str, family: QuestionFamily, asked: _Asked) -> Question:
        text = rendered(self._random.choice(family.text), asked.values)
        evidence = frozenset(source for item in asked.items if item.valid for source in item.sources)
        criteria = tuple(_criteria(name, asked))
        return Question(name, text, self._moment, family.task, asked.answer, evidence, criteria, asked.items)

    def _all_of(self, kind: MemoryKind) -> Iterator[_Asked]:
        found = items([*self._memories.valid(kind)], [*self._memories.gone(kind)], most_gone=MOST_GONE)
        if found:
            yield _Asked({}, found)

    def _calendar(self) -> Iterator[_Asked]:
        today = self._moment.date()
        ahead = [told for told in self._memories.valid(MemoryKind.CALENDAR_EVENT) if told.entry.day > today]
        gone = [told for told in self._memories.gone(MemoryKind.CALENDAR_EVENT) if told.entry.day > today]
        if ahead:
            yield _Asked({}, items(ahead, gone, most_gone=MOST_GONE))

    def _goals(self) -> Iterator[_Asked]:
        kinds = (MemoryKind.FOOD_BUDGET, MemoryKind.STEP_TARGET)
        valid = [told for kind in kinds for told in self._memories.valid(kind)]
        gone = [told for kind in kinds for told in self._memories.gone(kind)]
        if valid:
            yield _Asked({}, items(valid, gone, most_gone=MOST_GONE))

    def _documents(self) -> Iterator[_Asked]:
        """Yield questions about documents, first those from which something was withdrawn."""
        valid, gone = (
            [*self._memories.valid(MemoryKind.DOCUMENT)],
            [*self._memories.gone(MemoryKind.DOCUMENT)],
        )
        changed = {told.entry.values["title"] for told in gone}
        titles = sorted({told.entry.values["title"] for told in valid})
        self._random.shuffle(titles)
        for title in sorted(titles, key=lambda title: title not in changed)[:DOCUMENTS_ASKED]:
            of_it = [[told for told in some if told.entry.values["title"] == title] for some in (valid, gone)]
            yield _Asked({"title": title}, items(of_it[0], of_it[1], most_gone=MOST_GONE))

    def _tastes(self, domain: str) -> Iterator[_Asked]:
        valid, gone = (
            [told for told in some if told.entry.values["domain_id"] == domain]
            for some in (
                self._memories.valid(MemoryKind.PREFERENCE),
                self._memories.gone(MemoryKind.PREFERENCE),
            )
        )
        if valid:
            yield _Asked({}, items(valid, gone, most_gone=MOST_GONE))

    def _food_totals(self) -> Iterator[_Asked]:
        for span in self._spans:
            yield self._total(self._purchases(span), span, {})

    def _category_totals(self) -> Iterator[_Asked]:
        for span in self._spans:
            bought = self._purchases(span)
            for category in sorted({told.entry.values["category"] for told in bought})[:2]:
                some = [told for told in bought if told.entry.values["category"] == category]
                yield self._total(some, span, {"category": category})

    def _total(self, bought: Sequence[Told], span: Span, values: Mapping[str, str]) -> _Asked:
        total = sum((Decimal(told.entry.values["amount"]) for told in bought), Decimal(0))
        return _Asked({**values, "span": span.words}, _listed(bought, span), f"{total:.2f}")

    def _budgets_left(self) -> Iterator[_Asked]:
        week = self._spans[0]
        for budget in self._memories.valid(MemoryKind.FOOD_BUDGET):
            category = budget.entry.values["category"]
            bought = [told for told in self._purchases(week) if told.entry.values["category"] == category]
            spent = sum((Decimal(told.entry.values["amount"]) for told in bought), Decimal(0))
            left = Decimal(budget.entry.values["amount"]) - spent
            asked = {"category": category, "span": week.words}
            yield _Asked(asked, _listed([budget, *bought], week), f"{left:.2f}")

    def _steps_totals(self) -> Iterator[_Asked]:
        for span in self._spans:
            walked = self._walked(span)
            total = sum(_number(told) for told in walked)
            yield _Asked({"span": span.words}, _listed(walked, span), str(total))

    def _target_days(self) -> Iterator[_Asked]:
        for target in self._memories.valid(MemoryKind.STEP_TARGET):
            for span in self._spans:
                walked = self._walked(span)
                reached = sum(_number(told) >= _number(target) for told in walked)
                yield _Asked({"span": span.words}, _listed([target, *walked], span), str(reached))

    def _purchases(self, span: Span) -> list[Told]:
        return [told for told in self._memories.valid(MemoryKind.FOOD_EXPENSE) if told.entry.day in span]

    def _walked(self, span: Span) -> list[Told]:
        return [told for told in self._memories.valid(MemoryKind.STEPS) if told.entry.day in span]


def _listed(told: Sequence[Told], span: Span) -> tuple[Item, ...]:
    """Return the items of an answer if a context can contain them all."""
    return tuple(one.item() for one in told) if span.days <= LONGEST_LISTED else ()


def _number(told: Told) -> int:
    return int(told.entry.values["steps"].replace(",", ""))


def _criteria(name: str, asked: _Asked) -> Iterator[Criterion]:
    """Yield the criteria for a judge: the exact answer, or each item."""
    if asked.answer:
        text = f"Does the response give {asked.answer} as the answer?"
        yield Criterion(f"{name}_answer", text, CriterionKind.PRESENCE, expected=True)
        return
    for number, item in enumerate(asked.items):
        kind = CriterionKind.PRESENCE if item.valid else CriterionKind.ABSENCE
        text = f"Does the response mention {item.text!r}, or reflect it, as something that holds?"
        yield Criterion(f"{name}_{number}", text, kind, expected=item.valid)
