"""How many time expressions the grammar reads exactly, how many it sees where none are, and how long a question takes.

    python tests/support/time_expressions.py --table tests/unit/time_table [--language en] [--passes 3] [--quiet]

A table is a folder with `dated.jsonl` and `dateless.jsonl`; tests/unit/time_table/README.md describes the rows. A dated
row is exact if both ends of the window are those of the row, or if both find none. Times are of `find_window` alone,
each question's median over the passes, after one pass to warm up.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.times.calendar import TimeWindow
from hindsight_integrations.language.times.finding import find_window
from hindsight_integrations.language.times.grammar import TimeRules

Row = dict[str, Any]
Ends = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Scores:
    """The result of a table.

    Attributes:
        rows: dated and dateless rows.
        misses: dated rows whose window differs, one line each.
        alarms: dateless rows with a window, one line each.
    """

    rows: tuple[int, int]
    misses: list[str]
    alarms: list[str]

    @property
    def exact(self) -> float:
        """Share of dated rows with the exact window, 0 to 1."""
        return 1 - len(self.misses) / max(self.rows[0], 1)

    @property
    def false_alarms(self) -> float:
        """Share of dateless rows with a window, 0 to 1."""
        return len(self.alarms) / max(self.rows[1], 1)


def load(table: Path, name: str) -> list[Row]:
    """The rows of one file of a table."""
    return [json.loads(line) for line in (table / name).read_text(encoding="utf-8").splitlines() if line]


def read(row: Row, rules: TimeRules) -> TimeWindow | None:
    """The window that the grammar finds in a row's question."""
    zone = ZoneInfo(row["zone"])
    return find_window(row["question"], datetime.fromisoformat(row["asked"]), zone, rules=rules)


def ends(row: Row, rules: TimeRules) -> Ends:
    """The window as local times in the row's zone, with the table's notation for open sides."""
    found = read(row, rules)
    if found is None:
        return None
    zone = ZoneInfo(row["zone"])
    return _local(found.interval.start, zone), _local(found.interval.end, zone)


def _local(moment: datetime, zone: ZoneInfo) -> str:
    """A bound within a day of the calendar's end is an open side, whatever the zone."""
    if moment.year == 1 and moment.timetuple().tm_yday <= 2:
        return "0001-01-01T00:00:00"
    if (moment.year, moment.month) == (9999, 12) and moment.day >= 30:
        return "9999-12-31T23:59:59.999999"
    return moment.astimezone(zone).replace(tzinfo=None).isoformat()


def rules_of(code: str) -> TimeRules:
    """The grammar of a language that has one."""
    rules = LANGUAGES[code].times
    assert rules is not None
    return rules


def score(table: Path, code: str = "en") -> Scores:
    """Compare every row of a table, read in a language."""
    rules = rules_of(code)
    dated, dateless = load(table, "dated.jsonl"), load(table, "dateless.jsonl")
    misses = [
        f"{row['question']!r} asked {row['asked']}: {found}, not {gold}"
        for row in dated
        if (found := ends(row, rules)) != (gold := (row["start"], row["end"]) if row["start"] else None)
    ]
    alarms = [f"{row['question']!r}: {found}" for row in dateless if (found := ends(row, rules))]
    return Scores((len(dated), len(dateless)), misses, alarms)


def milliseconds(rows: Iterable[Row], passes: int, code: str = "en") -> list[float]:
    """Each question's median time over the passes, ascending."""
    rules = rules_of(code)
    return sorted(statistics.median(_timed(row, rules) for _ in range(passes)) for row in rows)


def _timed(row: Row, rules: TimeRules) -> float:
    reference, zone = datetime.fromisoformat(row["asked"]), ZoneInfo(row["zone"])
    started = time.process_time()
    find_window(row["question"], reference, zone, rules=rules)
    return (time.process_time() - started) * 1000


def main(arguments: list[str] | None = None) -> int:
    """Print the figures and the missed rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--language", choices=sorted(LANGUAGES), default="en")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument(
        "--quiet", action="store_true", help="print no rows, so that a table kept back stays unseen"
    )
    chosen = parser.parse_args(arguments)
    found = score(chosen.table, chosen.language)
    rows = load(chosen.table, "dated.jsonl") + load(chosen.table, "dateless.jsonl")
    times = milliseconds(rows, chosen.passes, chosen.language)
    for line in () if chosen.quiet else (*found.misses, "", *found.alarms):
        print(line)
    print(f"\nexact {found.exact:.1%} of {found.rows[0]}", end=", ")
    print(f"false alarms {found.false_alarms:.1%} of {found.rows[1]}", end=", ")
    print(f"p50 {statistics.median(times):.2f} ms, p95 {times[int(0.95 * (len(times) - 1))]:.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
