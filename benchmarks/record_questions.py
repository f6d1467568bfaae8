"""Questions over records, answered without a model, against a table of what they should come to.

    python benchmarks/record_questions.py --table FILE --facts FOLDER [--half fit] [--show]

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
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memora.bank import LIGHT
from records.judging import Outcome, judged

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.config import HindsightConfig

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "week": {"time_zone": "America/New_York", "week_starts": "sunday"},
    "month_a": {"time_zone": "UTC"},
    "month_b": {"time_zone": "Europe/Berlin"},
}
FILES = {"week": "weekly-software_engineer.jsonl"}


def fill(bank: MemoryBank, facts: Path) -> None:
    """Retain each session's facts, with a message for every turn they cite."""
    for line in facts.read_text(encoding="utf-8").splitlines():
        session = json.loads(line)
        said: dict[str, list[str]] = {}
        for fact in session["facts"]:
            for source in fact["sources"]:
                said.setdefault(source, []).append(fact["what"])
        messages = [{"role": "user", "content": " ".join(said[turn]), "id": turn} for turn in said]
        if messages:
            thread = f"S{session['session']}"
            bank.retain(messages, timestamp=session["session_date"], thread=thread, facts=session["facts"])


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


def main() -> int:
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
    options = parser.parse_args()
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
