"""Questions over records, answered without a model, against a table of what they should come to.

    hindsight-evals bench record_questions --table FILE --facts FOLDER [--half fit] [--show]

The table has a JSON line a question: id, half, data (a file of facts in FOLDER, or of a file named "weekly-<person>" for
"week"), asked_at, question, expected ("decline", or operation and answer) and also (a list of further outcomes that count
as right). Every set of facts is retained in a bank of its own, and each question is put to `bank.reflect` as of the moment
it was asked. Exits with 1 if a number is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hindsight_evals.benchmarks.memora.bank import LIGHT
from hindsight_evals.datasets.extracted import read_extracted
from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.config import HindsightConfig
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


SETTINGS: Mapping[str, Mapping[str, str]] = {
    "week": {"time_zone": "America/New_York", "week_starts": "sunday"},
    "month_a": {"time_zone": "UTC"},
    "month_b": {"time_zone": "Europe/Berlin"},
}
FILES = {"week": "weekly-software_engineer.jsonl"}


def fill(bank: MemoryBank, facts: Path) -> None:
    """Retain each session's facts, with a message for every turn they cite."""
    for session in read_extracted(facts):
        said: dict[str, list[str]] = {}
        for fact in session.facts:
            for source in fact.sources:
                said.setdefault(source, []).append(fact.what)
        messages = [{"role": "user", "content": " ".join(said[turn]), "id": turn} for turn in said]
        if messages:
            thread = f"S{session.session}"
            bank.retain(messages, timestamp=session.session_date, thread=thread, facts=session.facts)


def asked(
    table: Iterable[dict[str, Any]], data: str, folders: list[Path]
) -> list[tuple[dict[str, Any], Outcome]]:
    """Every question of a table over one set of facts, with what became of it."""
    name = FILES.get(data, f"{data}.jsonl")
    path = next(folder / name for folder in folders if (folder / name).exists())
    config = HindsightConfig(storage=LIGHT, languages=("en", "de"), **SETTINGS.get(data, {}))  # type: ignore[arg-type]
    with (
        tempfile.TemporaryDirectory() as folder,
        Hindsight.open(folder, reranker=None, config=config) as hindsight,
    ):
        bank = hindsight.bank("records")
        fill(bank, path)
        found = []
        for row in table:
            answer = bank.reflect(row["question"], as_of=datetime.fromisoformat(row["asked_at"])).exact
            found.append((row, judged(row, answer, config.time_zone)))
        return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument(
        "--facts", type=Path, action="append", required=True, help="a folder of facts; may be given again"
    )
    parser.add_argument("--half", action="append", help="only questions of this half")
    parser.add_argument(
        "--show", action="append", default=[], help="halves whose outcomes are printed one by one"
    )
    options = parser.parse_args(argv)
    rows = [json.loads(line) for line in options.table.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if not options.half or row["half"] in options.half]
    counts: dict[str, Counter[str]] = {}
    for data in dict.fromkeys(row["data"] for row in rows):
        for row, outcome in asked([r for r in rows if r["data"] == data], data, options.facts):
            counts.setdefault(row["half"], Counter())[outcome.verdict] += 1
            if row["half"] in options.show:
                print(
                    f"{row['id']:>4} {outcome.verdict:18} {row['question']}\n     {outcome.said}  ({outcome.wanted})"
                )
    for half, verdicts in counts.items():
        right = verdicts["answered right"] + verdicts["declined right"]
        total = sum(verdicts.values())
        print(f"{half}: {right}/{total} = {100 * right / total:.1f} %", dict(sorted(verdicts.items())))
    return 1 if any(verdicts["WRONG NUMBER"] for verdicts in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
