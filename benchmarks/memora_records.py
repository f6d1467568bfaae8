"""Sum, mean, count and goal questions over a week of Memora, answered by `records` and `aggregate`.

    python benchmarks/memora_records.py --data DIR [--facts DIR] [--name weekly-software_engineer]

Every session is retained with its extracted facts; then each question is answered by exhaustive access and compared
with the ground truth of the data set, which the memory never sees. Exits with 1 if an answer is not exact.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from memora.bank import fill

from hindsight_integrations import Hindsight, MemoryBank

FOOD, STEPS = "expense", "steps"


def truth(questions: list[dict[str, Any]]) -> dict[str, Decimal]:
    """What the data set says, by question id without its running number."""
    found: dict[str, Decimal] = {}
    for question in questions:
        evidence = question["memory_evidence"]
        for key in (
            "total_amount",
            "total_steps",
            "category_total",
            "actual_value",
            "goal_value",
            "expense_count",
        ):
            if key in evidence:
                found[f"{question['question_id'].rsplit('_163', 1)[0]}/{key}"] = Decimal(
                    str(round(evidence[key], 2))
                )
    return found


def answers(bank: MemoryBank) -> dict[str, Decimal]:
    """The same from memory alone."""

    def value(how: str, kind: str, category: str | None = None) -> Decimal:
        found = bank.aggregate(how, kind=kind, category=category).value
        assert isinstance(found, Decimal)
        return found

    goals = {goal.unit: goal.value for unit in bank.records(kind="goal") for goal in unit.records}
    return {
        "activity_food_total/total_amount": value("sum", FOOD),
        "activity_food_total/expense_count": value("count", FOOD),
        "activity_food_coffee/category_total": value("sum", FOOD, "coffee"),
        "activity_steps_total/total_steps": value("sum", STEPS),
        "goal_food_expenses_coffee/actual_value": value("sum", FOOD, "coffee"),
        "goal_food_expenses_coffee/goal_value": Decimal(goals["USD/week on coffee"]),
        "goal_step_tracker_daily_steps/actual_value": value("mean", STEPS),
        "goal_step_tracker_daily_steps/goal_value": Decimal(goals["steps/day"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the Memora files")
    parser.add_argument("--facts", type=Path, required=True, help="folder with the extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    options = parser.parse_args()
    week = json.loads((options.data / f"{options.name}.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, Hindsight.open(folder, reranker=None) as hindsight:
        bank = hindsight.bank("week")
        fill(bank, week["sessions"], options.facts / f"{options.name}.jsonl")
        ours = answers(bank)
    expected = truth(week["evaluation"]["questions"]["reasoning"])
    wrong = 0
    for name, value in ours.items():
        exact = value == expected[name]
        wrong += not exact
        print(f"{name:48} {value!s:>10} {'exact' if exact else f'is not {expected[name]}'}")
    for goal, unit in (
        ("goal_food_expenses_coffee", "at most"),
        ("goal_step_tracker_daily_steps", "at least"),
    ):
        actual, wanted = ours[f"{goal}/actual_value"], ours[f"{goal}/goal_value"]
        met = actual <= wanted if unit == "at most" else actual >= wanted
        print(f"{goal:48} {actual} against {unit} {wanted}: {'met' if met else 'not met'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
