"""Memory and time of metadata in the columns of 10,000 and 100,000 units, without indexes and ledger.

    hindsight-evals bench metadata_columns [--sizes 10000,100000] [--out FILE]

Three variants: no metadata; three keys with 60 recurring combinations; and the same with an id and a number
that are unique to each unit. For each size: bytes for each unit in all columns (tracemalloc), the time to
build them, and the time to evaluate a filter (p50 of 20). The columns are those of an open bank;
`engine_speed` measures whole processes.
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from hindsight_evals.benchmarks.speed.clocks import milliseconds, percentiles
from hindsight_integrations import MetadataFilter, MetadataGroup
from hindsight_integrations.indexes.columns import with_metadata
from hindsight_integrations.indexes.projection import GrowingColumns
from hindsight_integrations.ledger.values import UnitColumns
from hindsight_integrations.model.arrays import NEVER, UNDATED
from hindsight_integrations.model.metadata import MetadataTest

AT_ONCE = 8_192  # units in one commit, so that buffers grow as in normal use
CHANNELS = ("mail", "chat", "phone")


def _none(number: int) -> dict[str, Any]:
    del number
    return {}


def _few(number: int) -> dict[str, Any]:
    return {"channel": CHANNELS[number % 3], "year": 2015 + number % 10, "done": number % 2 == 0}


def _own(number: int) -> dict[str, Any]:
    return {**_few(number), "message_id": f"8c1f6f0e-4a0b-4d8f-9a52-{number:012d}", "size": number * 7}


SORTS: dict[str, Callable[[int], dict[str, Any]]] = {"none": _none, "few": _few, "own": _own}
FILTERS: dict[str, MetadataTest] = {
    "channel == mail": MetadataFilter("channel", "mail"),
    "year >= 2020, done": MetadataGroup((MetadataFilter("year", 2020, ">="), MetadataFilter("done", True))),
    "size > 3,500": MetadataFilter("size", 3_500, ">"),
    "message_id in 100": MetadataFilter("message_id", [_own(n)["message_id"] for n in range(100)], "in"),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all sizes and variants; print a table and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    rows = [measured(int(size), sort) for size in options.sizes.split(",") for sort in SORTS]
    for row in rows:
        filters = ", ".join(f"{name}: {value:.2f} ms" for name, value in row["filters_ms"].items())
        print(
            f"{row['units']:>8,} {row['sort']:5} {row['bytes_a_unit']:7.1f} bytes a unit, {row['built_ms']:7.1f} ms; {filters}"
        )
    if options.out:
        options.out.write_text(json.dumps({"benchmark": "metadata_columns", "rows": rows}, indent=1))


def measured(units: int, sort: str) -> dict[str, Any]:
    """Return bytes for each unit, milliseconds to build, and milliseconds of a filter, for columns with one variant of metadata."""
    started = perf_counter()
    columns = _grown(units, SORTS[sort]).newest
    built = 1_000 * (perf_counter() - started)
    filters = {
        name: percentiles(milliseconds(lambda wanted=wanted: with_metadata(columns, wanted), 20))["p50"]  # type: ignore[misc]
        for name, wanted in FILTERS.items()
    }
    tracemalloc.start()
    held = _grown(units, SORTS[sort])
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held.newest) == units
    return {
        "units": units,
        "sort": sort,
        "bytes_a_unit": used / units,
        "built_ms": built,
        "filters_ms": filters,
    }


def _grown(units: int, metadata_of: Callable[[int], dict[str, Any]]) -> GrowingColumns:
    columns = GrowingColumns()
    for first in range(0, units, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, units))
        columns.update(
            _changes(numbers, [_written(metadata_of(number)) for number in numbers]), np.empty(0, np.int64)
        )
    return columns


def _changes(numbers: range, metadata: Sequence[str]) -> UnitColumns:
    size = len(numbers)
    ids = np.arange(numbers.start + 1, numbers.stop + 1, dtype=np.int64)
    types, starts, ends, mentioned, closed, tokens, compact = (
        np.full(size, value, np.int64) for value in (0, UNDATED, UNDATED, 0, NEVER, 20, 20)
    )
    return UnitColumns(
        ids=ids,
        types=types,
        starts=starts,
        ends=ends,
        mentioned=mentioned,
        closed=closed,
        tokens=tokens,
        compact=compact,
        heads=np.zeros(len(ids), np.int64),
        lasting=np.zeros(len(ids), np.int64),
        tags=[()] * size,
        turns=[("", "")] * size,
        metadata=list(metadata),
    )


def _written(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata) if metadata else ""


if __name__ == "__main__":
    main()
