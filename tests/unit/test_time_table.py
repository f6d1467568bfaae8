"""The gold table of time expressions (tests/unit/time_table/README.md), written blind before the grammar was fitted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.time_expressions import find_window

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TABLE = Path(__file__).parent / "time_table"
TABLES = (TABLE, TABLE / "first_blind", TABLE / "second_blind")
LEAST_EXACT, MOST_FALSE_ALARMS = 0.97, 0.01
SLOWEST = 10  # ms at p95; several times what the benchmark measures, for a busy machine


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield import_module("time_expressions")


@pytest.fixture(scope="module", params=TABLES, ids=lambda table: table.name)
def scores(benchmark: ModuleType, request: pytest.FixtureRequest) -> Any:
    return benchmark.score(request.param)


def test_dated_questions_get_the_window_a_reader_means(scores: Any) -> None:
    """A question that names a time searches that time, start and end exact; impossible dates search none."""
    assert scores.exact >= LEAST_EXACT, "\n".join(scores.misses)


def test_questions_without_a_time_get_no_window(scores: Any) -> None:
    """Names, titles, numbers, habits and durations do not narrow a search."""
    assert scores.false_alarms <= MOST_FALSE_ALARMS, "\n".join(scores.alarms)


def test_reading_a_question_is_quick(benchmark: ModuleType) -> None:
    """Finding the window costs a recall no noticeable time."""
    rows = benchmark.load(TABLE, "dated.jsonl")[::10]
    times = benchmark.milliseconds(rows, 5)
    assert times[int(0.95 * (len(times) - 1))] < SLOWEST, f"p50 {statistics.median(times):.1f} ms"


def test_a_page_of_nothing_but_times_is_read_in_a_moment() -> None:
    """Hostile text cannot hold up a recall or a retain: only the beginning is read."""
    started = time.perf_counter()
    find_window("mon to " * 100_000, datetime(2024, 6, 12, tzinfo=UTC), rules=ENGLISH.times)
    assert time.perf_counter() - started < 2.0
