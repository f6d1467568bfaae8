"""The gold tables of time expressions (tests/unit/time_table/README.md), written blind before the grammars were fitted."""

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
TABLES = [  # language, folder, least share exact, most false alarms
    ("en", TABLE, 1.0, 0.0),
    ("en", TABLE / "first_blind", 1.0, 0.0),
    ("en", TABLE / "second_blind", 1.0, 0.0),
    ("es", TABLE / "es" / "first_blind", 1.0, 0.0),
    ("es", TABLE / "es" / "second_blind", 0.98, 0.02),
    ("es", TABLE / "es" / "third_blind", 0.97, 0.0),
    ("de", TABLE / "de" / "first_blind", 1.0, 0.0),
    ("de", TABLE / "de" / "second_blind", 0.99, 0.02),
    ("de", TABLE / "de" / "third_blind", 0.98, 0.02),
    ("en", TABLE / "titles", 0.96, 0.03),
    ("es", TABLE / "es" / "titles", 0.91, 0.0),
    ("de", TABLE / "de" / "titles", 1.0, 0.0),
]
SLOWEST = 10  # ms at p95; several times what the benchmark measures, for a busy machine


@every_row(("code", "table", "least", "most"), TABLES, ids=[f"{row[0]}-{row[1].name}" for row in TABLES])
def test_a_table_is_read_as_its_writer_meant(code: str, table: Path, least: float, most: float) -> None:
    """A question that names a time searches that time, start and end exact; names, titles, numbers, habits and durations
    narrow no search."""
    scores = score(table, code)
    assert scores.exact >= least, "\n".join(scores.misses)
    assert scores.false_alarms <= most, "\n".join(scores.alarms)


@pytest.mark.parametrize(
    ("code", "table"), [("en", TABLE), ("es", TABLE / "es/first_blind"), ("de", TABLE / "de/first_blind")]
)
def test_reading_a_question_is_quick(code: str, table: Path) -> None:
    """Finding the window costs a recall no noticeable time."""
    rows = load(table, "dated.jsonl")[::10]
    times = milliseconds(rows, 5, code)
    assert times[int(0.95 * (len(times) - 1))] < SLOWEST, f"p50 {statistics.median(times):.1f} ms"


@pytest.mark.parametrize(("code", "words"), [("en", "mon to "), ("es", "lunes a "), ("de", "montag bis ")])
def test_a_page_of_nothing_but_times_is_read_in_a_moment(code: str, words: str) -> None:
    """Hostile text cannot hold up a recall or a retain: only the beginning is read."""
    rules = LANGUAGES[code].times
    assert rules is not None
    find_window("", datetime(2024, 6, 12, tzinfo=UTC), rules=rules)  # compiles
    started = time.perf_counter()
    find_window(words * 100_000, datetime(2024, 6, 12, tzinfo=UTC), rules=rules)
    assert time.perf_counter() - started < 2.0
