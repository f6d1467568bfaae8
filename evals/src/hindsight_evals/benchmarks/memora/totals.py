"""Sums, counts, means and goals of a Memora week, from its ground truth and from a bank's records.

The engine never sees the ground truth.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hindsight_evals.benchmarks.memora.truth import tokens
from hindsight_evals.datasets.memora import MemoraPersona
from hindsight_integrations import InvalidRequest, MemoryBank, MemoryUnit

EXPENSES, STEPS = "expense", "steps"
CENTS = Decimal("0.01")  # Memora's sums are floats, and means are also compared with this precision
_NUMBERING = re.compile(r"_\d+(_\d+)?$")


@dataclass(frozen=True, slots=True)
class Total:
    """A true value and the bank's; an exact answer has the same text."""

    name: str
    truth: str
    answer: str

    @property
    def exact(self) -> bool:
        return self.truth == self.answer

    def __str__(self) -> str:
        return f"{self.name:48} {self.answer:>10} {'exact' if self.exact else f'is not {self.truth}'}"


def question_totals(bank: MemoryBank, week: MemoraPersona) -> list[Total]:
    """Return every number that a reasoning question of the week asks for."""
    return [
        Total(f"{_NUMBERING.sub('', question.question_id)}/{key}", _number(evidence[key]), answer)
        for question in week.evaluation.questions["reasoning"]
        for evidence in [question.memory_evidence]
        for key, answer in _answers(bank, evidence)
    ]


def goals_met(bank: MemoryBank, week: MemoraPersona) -> Iterator[str]:
    """Yield each goal in a question, with the value reached, in words."""
    for question in week.evaluation.questions["reasoning"]:
        evidence = question.memory_evidence
        if "goal_value" in evidence:
            found = dict(_answers(bank, evidence))
            actual, wanted = found["actual_value"], found["goal_value"]
            budget = evidence["goal_data"]["category"] == "food_expenses"
            try:
                met = Decimal(actual) <= Decimal(wanted) if budget else Decimal(actual) >= Decimal(wanted)
            except ArithmeticError:
                met = False
            limit = "at most" if budget else "at least"
            name = _NUMBERING.sub("", question.question_id)
            yield f"{name:48} {actual} against {limit} {wanted}: {'met' if met else 'not met'}"


def category_totals(bank: MemoryBank, week: MemoraPersona) -> list[Total]:
    """Return sum, count and mean of all expenses, of each category, and of steps; and every goal."""
    values: dict[tuple[str, str | None], list[Decimal]] = defaultdict(list)
    goals = []
    for session in week.sessions:
        details = session.operation_details or {}
        item: Any = details.get("item")
        if details.get("category") == "food_expenses":
            amount = Decimal(str(item["amount"]))
            values[EXPENSES, None].append(amount)
            values[EXPENSES, item["expense_type"]].append(amount)
        elif details.get("category") == "step_tracker":
            values[STEPS, None].append(Decimal(str(item["step_count"])))
        elif session.session_type == "goal":
            goals.append((details["subcategory"], item))
    found = []
    for (kind, category), stated in sorted(values.items(), key=str):
        truths = {"sum": sum(stated), "count": len(stated), "mean": sum(stated) / len(stated)}
        name = f"{kind} {category}" if category else kind
        for how, truth in truths.items():
            found.append(Total(f"{how} of {name}", _number(truth), _aggregate(bank, how, kind, category)))
    steps = _number(sum(values[STEPS, None], Decimal()))
    found.append(Total("sum of quantity in steps", steps, _aggregate(bank, "sum", "quantity", unit=STEPS)))
    return found + [Total(f"goal of {name}", _number(value), _goal(bank, name)) for name, value in goals]


def _answers(bank: MemoryBank, evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the bank's value for each number in a question's evidence, by key."""
    if "total_amount" in evidence:
        yield "total_amount", _aggregate(bank, "sum", EXPENSES)
        yield "expense_count", _aggregate(bank, "count", EXPENSES)
    if "category_total" in evidence:
        yield "category_total", _aggregate(bank, "sum", EXPENSES, evidence["expense_type"])
    if "total_steps" in evidence:
        yield "total_steps", _aggregate(bank, "sum", STEPS)
    if "goal_value" in evidence:
        goal = evidence["goal_data"]["subcategory"]
        if evidence["goal_data"]["category"] == "food_expenses":
            yield "actual_value", _aggregate(bank, "sum", EXPENSES, goal)
        else:
            yield "actual_value", _aggregate(bank, "mean", STEPS)
        yield "goal_value", _goal(bank, goal)


def _aggregate(
    bank: MemoryBank, how: str, kind: str, category: str | None = None, *, unit: str | None = None
) -> str:
    try:
        return _number(bank.records.aggregate(how, kind=kind, category=category, unit=unit).value)
    except InvalidRequest as error:
        return error.reason


def _goal(bank: MemoryBank, name: str) -> str:
    """Return the values of the goals whose category or unit contains the name, or else whose memory does."""
    wanted = tokens(name.rsplit("_", maxsplit=1)[-1])[1]
    goals = [(entry.memory, entry.record) for entry in bank.records.list(kind="goal")]
    named = [record for _, record in goals if wanted <= tokens(f"{record.category} {record.unit}")[1]]
    told = [record for unit, record in goals if wanted <= tokens(unit.text)[1]]
    return ", ".join(sorted({_number(record.value) for record in named or told})) or "none"


def _number(value: Decimal | float | str | None) -> str:
    if value is None or isinstance(value, str):
        return str(value)
    return f"{Decimal(str(value)).quantize(CENTS).normalize():f}"


def record_table(units: Sequence[MemoryUnit]) -> list[str]:
    """Return the records of these memories by kind, category and unit, with their number and sum."""
    groups: dict[tuple[str, str, str], list[Decimal | str]] = defaultdict(list)
    for unit in units:
        for record in unit.records:
            groups[str(record.kind), record.category, record.unit].append(record.value)
    lines = []
    for (kind, category, measure), values in sorted(groups.items()):
        numbers = [value for value in values if isinstance(value, Decimal)]
        total = f"{_number(sum(numbers, Decimal()))} in all" if numbers else ""
        texts = "; ".join(sorted(value for value in values if isinstance(value, str)))
        lines.append(f"{kind:14} {category:30} {measure:14} {len(values):>4}  {total}  {texts}".rstrip())
    return lines
