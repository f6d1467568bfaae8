"""What an exact answer is worth against what a table expects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from hindsight_integrations.model.record_answers import RecordAnswer, RecordOperation

DECLINE = "decline"
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question.

    Attributes:
        verdict: answered right, declined right, wrongly declined or WRONG NUMBER.
        said: the answer's text; empty where there was none.
        wanted: what was expected.
    """

    verdict: str
    said: str
    wanted: str


def judged(row: dict[str, Any], answer: RecordAnswer | None, zone: str) -> Outcome:
    """The verdict on an answer, or on there being none."""
    accepted = [row["expected"], *row.get("also", ())]
    if answer is None:
        verdict = "declined right" if DECLINE in accepted else "wrongly declined"
        return Outcome(verdict, "", str(row["expected"]))
    right = any(fits(answer, wanted, zone) for wanted in accepted if wanted != DECLINE)
    return Outcome("answered right" if right else "WRONG NUMBER", answer.text, str(row["expected"]))


def fits(answer: RecordAnswer, wanted: dict[str, Any], zone: str) -> bool:
    """Whether an answer is the one expected."""
    expected, operation = wanted["answer"], answer.question.operation
    if operation == RecordOperation.GOAL:
        told = "met" if answer.met else "missed"
        values = [
            (wanted.get("value"), answer.value),
            (wanted.get("goal"), answer.target and answer.target.value),
        ]
        return expected == told and all(given is None or same(given, value) for given, value in values)
    if operation in {RecordOperation.MOST, RecordOperation.LEAST}:
        days = [str(p.start) if p.start == p.end else f"{p.start}/{p.end}" for p in answer.periods]
        given = expected if isinstance(expected, list) else [expected]
        return sorted(days) == sorted(given) and (
            "value" not in wanted or same(wanted["value"], answer.value)
        )
    if isinstance(expected, list):
        return listed(expected, answer.values)
    if isinstance(expected, str) and answer.entries:
        day = answer.entries[-1].at.astimezone(ZoneInfo(zone)).date()
        return expected in {str(day), str(answer.value)}
    return same(expected, answer.value)


def listed(expected: Sequence[Any], values: Sequence[Decimal | str]) -> bool:
    """Whether a list has exactly these values in this order, or these texts in any."""
    if all(isinstance(value, Decimal) for value in values) and not any(isinstance(e, str) for e in expected):
        return len(expected) == len(values) and all(map(same, expected, values))
    return sorted(map(str, expected)) == sorted(map(str, values))


def same(expected: object, value: object) -> bool:
    """Whether two numbers are the same to the cent."""
    if not isinstance(value, Decimal) or not isinstance(expected, int | float):
        return expected == value
    return Decimal(str(expected)).quantize(CENT, ROUND_HALF_UP) == value.quantize(CENT, ROUND_HALF_UP)
