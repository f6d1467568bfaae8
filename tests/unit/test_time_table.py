"""The gold tables of time expressions (tests/unit/time_table/README.md), written before the grammars were fitted."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from table import every_row
from time_expressions import load, milliseconds, score

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.times.finding import find_window

TABLE = Path(__file__).parent / "time_table"
FOLDERS = {  # by id, as "de/titles"; a table outside a language's folder is English
    file.parent.relative_to(TABLE).as_posix(): file.parent for file in sorted(TABLE.rglob("dated.jsonl"))
}
LIMITS = {  # minimum share of exact rows and maximum share of false alarms, of tables with faults
    "es/second_blind": (0.98, 0.02),
    "es/third_blind": (0.97, 0.0),
    "de/second_blind": (0.99, 0.02),
    "de/third_blind": (0.98, 0.02),
    "titles": (0.96, 0.03),
    "es/titles": (0.91, 0.0),
}
SLOWEST = 10  # ms at p95; several times the benchmark's value, for a busy machine


def code_of(table: str) -> str:
    first = table.split("/", maxsplit=1)[0]
    return first if first in LANGUAGES else "en"


@every_row("table", FOLDERS)
def test_a_table_is_read_as_its_writer_meant(table: str) -> None:
    """A question with a time gives its exact window; names, titles, numbers, habits and durations give none."""
    least, most = LIMITS.get(table, (1.0, 0.0))
    scores = score(FOLDERS[table], code_of(table))
    assert scores.exact >= least, "\n".join(scores.misses)
    assert scores.false_alarms <= most, "\n".join(scores.alarms)


@pytest.mark.parametrize("table", [table for table in FOLDERS if "/first" in table or table == "."])
def test_reading_a_question_is_quick(table: str) -> None:
    """Finding the window costs a recall no noticeable time."""
    rows = load(FOLDERS[table], "dated.jsonl")[::10]
    times = milliseconds(rows, 5, code_of(table))
    assert times[int(0.95 * (len(times) - 1))] < SLOWEST, f"p50 {statistics.median(times):.1f} ms"


@pytest.mark.parametrize(("code", "words"), [("en", "mon to "), ("es", "lunes a "), ("de", "montag bis ")])
def test_a_page_of_nothing_but_times_is_read_in_a_moment(code: str, words: str) -> None:
    """Hostile text does not delay a recall or a retain: only the beginning is read."""
    rules = LANGUAGES[code].times
    assert rules is not None
    find_window("", datetime(2024, 6, 12, tzinfo=UTC), rules=rules)  # compiles
    started = time.process_time()
    find_window(words * 100_000, datetime(2024, 6, 12, tzinfo=UTC), rules=rules)
    assert time.process_time() - started < 2.0
