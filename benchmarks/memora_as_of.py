"""Whether `as_of` shows a Memora week as it was: recall and enumeration at 20 moments, against the validity log and a fresh bank.

    python benchmarks/memora_as_of.py --data DIR --facts DIR

At each moment, just after a session that changed something, every item of ground truth so far is asked about with
`as_of` that moment. Served must be nothing that was mentioned later, nothing closed by then, and only what is valid by a
replay of the log written apart from the engine. The units enumerated must be, text for text, those a bank holds as true
that was told only the sessions up to then. Sessions of one day, which Memora does not order by hour, are put a minute
apart. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memora.bank import LIGHT, fill
from memora.past import points, question, spaced, violations

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank

JUST_AFTER = timedelta(seconds=30)


@dataclass(slots=True)
class Row:
    """One moment: what was asked and found."""

    moment: datetime
    session: int
    told: list[str]
    valid: int = 0
    recalls: int = 0
    served: int = 0
    wrong: int = 0
    same: bool = False


def told_up_to(
    bank: MemoryBank, sessions: list[dict[str, Any]], places: Sequence[int], facts: Path
) -> list[Row]:
    """A bank told session by session: what it held as true after each of these places."""
    rows, done = [], 0
    for place in places:
        fill(bank, sessions[done : place + 1], facts)
        done = place + 1
        moment = sessions[place]["date"] + JUST_AFTER
        rows.append(
            Row(moment, sessions[place]["session_id"], sorted(unit.text for unit in bank.iterate_units()))
        )
    return rows


def look_back(bank: MemoryBank, row: Row, questions: Sequence[str]) -> None:
    """Ask the whole week's bank about the past, and judge what it serves."""
    units = list(bank.iterate_units(as_of=row.moment))
    row.valid, row.same = len(units), sorted(unit.text for unit in units) == row.told
    if not row.same:
        now = {unit.text for unit in units}
        for mark, texts in (("-", set(row.told) - now), ("+", now - set(row.told))):
            sys.stdout.writelines(f"  {mark} {text[:160]}\n" for text in sorted(texts))
    for asked in questions:
        found = bank.recall(asked, as_of=row.moment).units
        served = [item.unit for item in found] + [
            bank.get(part.by_unit) for item in found for part in item.amendments
        ]
        problems = [(unit.text, wrong) for unit in served for wrong in violations(bank, unit, row.moment)]
        problems += [(item.unit.text, "not marked valid") for item in found if not item.valid]
        row.recalls, row.served, row.wrong = (
            row.recalls + 1,
            row.served + len(served),
            row.wrong + len(problems),
        )
        sys.stdout.writelines(f"  S{row.session} {wrong}: {text[:120]}\n" for text, wrong in problems)


def report(rows: Sequence[Row]) -> None:
    """The table, and a last line with the sums."""
    sys.stdout.write(
        f"{'as_of':<17}{'session':>8}{'valid':>7}{'recalls':>9}{'served':>8}{'violations':>12}  same set\n"
    )
    for row in rows:
        sys.stdout.write(
            f"{row.moment:%Y-%m-%d %H:%M} {row.session:>8}{row.valid:>7}{row.recalls:>9}{row.served:>8}{row.wrong:>12}"
            f"  {'yes' if row.same else 'NO'}\n"
        )
    sys.stdout.write(
        f"{len(rows)} moments, {sum(row.recalls for row in rows)} recalls, {sum(row.served for row in rows)} memories "
        f"served, {sum(row.wrong for row in rows)} violations, {sum(row.same for row in rows)} same sets\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Run one week; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of Memora weeks")
    parser.add_argument("--facts", type=Path, required=True, help="folder of extracted facts")
    parser.add_argument("--name", default="weekly-software_engineer")
    parser.add_argument("--points", type=int, default=20, help="moments to look back to")
    parser.add_argument("--light", action="store_true", help="numpy and FTS5 instead of Chroma and Lucene")
    given = parser.parse_args(arguments)
    week = json.loads((given.data / f"{given.name}.json").read_text(encoding="utf-8"))["sessions"]
    sessions, facts = spaced(week), given.facts / f"{given.name}.jsonl"
    places = points(sessions, given.points)
    config = HindsightConfig(storage=LIGHT) if given.light else HindsightConfig()
    with Hindsight.open(":memory:", reranker=None, config=config) as engine:
        rows = told_up_to(engine.bank("told so far"), sessions, places, facts)
        whole = engine.bank("the whole week")
        fill(whole, sessions, facts)
        for place, row in zip(places, rows, strict=True):
            asked = [question(session) for session in sessions[: place + 1] if session["operation"]]
            look_back(whole, row, asked)
    report(rows)
    return 1 if any(row.wrong or not row.same for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
