"""Latency of a turn and a recall on PostgreSQL and on SQLite, also with a slower network.

    hindsight-evals bench databases [--sizes 1000,10000] [--turns 60] [--queries 100] [--delay 1] [--out FILE]

Banks with the same facts are in a directory, on PostgreSQL through a local socket, and on PostgreSQL through
a proxy that delays data in each direction and counts round trips. Vectors are exact hash vectors, keywords
use FTS5, facts are passed by the caller, and there is no reranker, because these parts cost the same on both.
Finally, a new process opens the PostgreSQL bank without a cache: the seconds to its first answer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.contention import summary, turn
from hindsight_evals.benchmarks.kills.postgres import Proxy, running
from hindsight_evals.benchmarks.kills.serving import WHEN, config
from hindsight_integrations import ExtractedFact, Hindsight, MemoryBank, Message, RetainItem
from hindsight_integrations.testing.doubles import HashEmbedder

BANK = "life"
BATCH = 500


def opened(address: str) -> Hindsight:
    """Open an engine with light indexes."""
    settings = replace(config(), storage=replace(config().storage, connections=8))
    return Hindsight.open(address, embeddings=HashEmbedder(), reranker=None, config=settings)


def fill(bank: MemoryBank, size: int) -> None:
    """Retain `size` facts, with one message each."""
    said = [f"Person {number % 997} lent book {number} to library {number % 89}." for number in range(size)]
    for start in range(0, size, BATCH):
        items = [
            RetainItem(
                [Message(text, "Ann", WHEN, id=f"s{number}")],
                facts=[ExtractedFact(what=text, sources=[f"s{number}"])],
            )
            for number, text in enumerate(said[start : start + BATCH], start)
        ]
        bank.retain_many(items, batch_size=BATCH)


def measured(call: Callable[[int], object], count: int, trips: Callable[[], int]) -> dict[str, Any]:
    """Return the median and the 95th percentile of milliseconds, and the median number of round trips."""
    times, counts = [], []
    for number in range(count):
        before, started = trips(), time.perf_counter()
        call(number)
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.002)  # wait until the proxy has forwarded the last answer
        counts.append(trips() - before)
    return summary(times) | {"round trips": statistics.median(counts)}


def costs(address: str, options: argparse.Namespace, first: int, trips: Callable[[], int]) -> dict[str, Any]:
    """Measure a turn and a recall on an open engine."""
    with opened(address) as engine:
        bank = engine.bank(BANK)
        for number in range(5):
            turn(bank, first + number)
            bank.recall(f"Who lent book {number}?")
        return {
            "turn": measured(lambda number: turn(bank, first + 10 + number), options.turns, trips),
            "recall": measured(
                lambda number: bank.recall(f"Who lent book {number * 7} to the library?"),
                options.queries,
                trips,
            ),
        }


def first_answer(address: str) -> float:
    """Return the seconds from opening to the first answer."""
    started = time.perf_counter()
    with opened(address) as engine:
        engine.bank(BANK).recall("Who lent book 7?")
        return time.perf_counter() - started


def beside(size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures for one bank size."""
    with running() as server, tempfile.TemporaryDirectory() as folder:
        proxy = Proxy(server)
        for address in (folder, server.address()):
            with opened(address) as engine:
                fill(engine.bank(BANK), size)
        found = {
            "SQLite": costs(folder, options, 10_000_000, lambda: 0),
            "PostgreSQL": costs(server.address(), options, 11_000_000, lambda: 0),
        }
        proxy.delay = options.delay / 1000
        found[f"PostgreSQL, {options.delay:g} ms each way"] = costs(
            server.address(proxy.port), options, 12_000_000, lambda: proxy.round_trips
        )
        found["first answer, s"] = {
            "SQLite": round(first_answer(folder), 2),
            "PostgreSQL, cold": round(first_answer(server.address()), 2),
        }
        proxy.close()
        return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all sizes; print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--delay", type=float, default=1.0, help="milliseconds each way")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {"benchmark": "databases"}
    for size in map(int, options.sizes.split(",")):
        figures[f"{size} facts"] = beside(size, options)
        print(json.dumps({f"{size} facts": figures[f"{size} facts"]}, indent=1), flush=True)
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
