"""Whether recall alone serves all that a question over a Memora week needs: memories and the table of records.

    python benchmarks/memora_recall.py --data DIR --facts DIR [--name weekly-software_engineer] [--max-tokens 512] [--no-records]

Every session is retained with its extracted facts. Each reasoning question is asked as an agent's node asks it, at the end
of its day, in weeks that start as the data set's do. A value of its evidence is served if a memory or a row that stands on
the value's session holds its number. Printed are the values served by memories alone, by the table alone and by both, what
they cost, and whether the table's own sum is the data set's. Exits with 1 if a question is not complete.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from memora.bank import LIGHT, fill
from memora.truth import tokens

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RecallResult
from hindsight_integrations.verb_options import SHOWN

NODE = {"budget": "low", **SHOWN}  # the defaults of a recall node (docs/doors.md), but for max_tokens
VALUES = ("amount", "step_count")
LISTS = ("food_expenses", "step_data", "expense_items", "activity_sessions")
TOTALS = ("total_amount", "total_steps", "category_total")


@dataclass(frozen=True, slots=True)
class Served:
    """A text that recall returned, and the sessions it stands on."""

    text: str
    sessions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's evidence beside what was served.

    Attributes:
        question: in words.
        values: of the evidence, each a session and a number.
        memories: how many of them the memories hold.
        rows: how many of them the table holds.
        both: how many of them either holds.
        summed: the table tells the evidence's total; None where the question has none.
        tokens: of the memories and of the table.
    """

    question: str
    values: int
    memories: int
    rows: int
    both: int
    summed: bool | None
    tokens: tuple[int, int]

    def __str__(self) -> str:
        summed = {None: "-", True: "yes", False: "NO"}[self.summed]
        counts = f"{self.memories:>4} {self.rows:>4} {self.both:>4} of {self.values:>2}"
        return f"{self.question:50} {counts}  {summed:4} {self.tokens[0]:>5} {self.tokens[1]:>5}"


def evidence(question: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """The values a question needs, as session and number."""
    needed = question["memory_evidence"]
    for each in (item for name in LISTS for item in needed.get(name, ())):
        yield each["session_id"], next(_number(each[name]) for name in VALUES if name in each)
    if "goal_session" in needed:
        yield needed["goal_session"]["session_id"], _number(needed["goal_value"])


def asked(bank: MemoryBank, question: Mapping[str, Any], asking: Mapping[str, Any]) -> Asked:
    """A question put to recall, judged."""
    day = date.fromisoformat(question["question_date"])
    evening = datetime.combine(day, time(23, 59), UTC)
    found = bank.recall(question["question"], query_timestamp=evening, **asking)
    memories = [Served(each.unit.text, _sessions(each.unit.sources)) for each in found.units]
    rows = [
        Served(row.text, _sessions(bank.get(row.unit_id).sources))
        for table in found.records
        for row in table.rows
    ]
    values = list(evidence(question))
    held = [sum(_holds(texts, *value) for value in values) for texts in (memories, rows, [*memories, *rows])]
    spent = (sum(each.tokens for each in found.units), sum(table.tokens for table in found.records))
    return Asked(question["question"], len(values), *held, _summed(found, question), spent)


def _summed(found: RecallResult, question: Mapping[str, Any]) -> bool | None:
    totals = [
        _number(question["memory_evidence"][name]) for name in TOTALS if name in question["memory_evidence"]
    ]
    told = " ".join(table.heading for table in found.records)
    return all(total in tokens(told)[0] for total in totals) if totals else None


def _holds(texts: list[Served], session: int, number: str) -> bool:
    return any(session in each.sessions and number in tokens(each.text)[0] for each in texts)


def _sessions(sources: tuple[str, ...]) -> frozenset[int]:
    return frozenset(int(source.split(":")[0][1:]) for source in sources)


def _number(value: float) -> str:
    return f"{Decimal(str(value)).quantize(Decimal('0.01')).normalize():f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the Memora files")
    parser.add_argument("--facts", type=Path, required=True, help="folder with the extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    parser.add_argument("--reranked", action="store_true", help="with the default reranker")
    parser.add_argument(
        "--max-tokens", type=int, default=2048, help="of memories; a recall node's own by default"
    )
    parser.add_argument("--no-records", action="store_true", help="memories alone, no table")
    options = parser.parse_args()
    asking = {**NODE, "max_tokens": options.max_tokens}
    if options.no_records:
        asking["include_records"] = False
    week = json.loads((options.data / f"{options.name}.json").read_text(encoding="utf-8"))
    config = HindsightConfig(storage=LIGHT, week_starts="sunday")
    reranker = {} if options.reranked else {"reranker": None}
    with Hindsight.open(":memory:", config=config, **reranker) as engine:
        bank = engine.bank("week")
        fill(bank, week["sessions"], options.facts / f"{options.name}.jsonl")
        rows = [asked(bank, each, asking) for each in week["evaluation"]["questions"]["reasoning"]]
    print(f"{'question':50} memo. table both       sum   tokens of each")
    print(*rows, sep="\n")
    complete = sum(row.both == row.values for row in rows)
    print(f"complete: {complete} of {len(rows)}")
    return 0 if complete == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
