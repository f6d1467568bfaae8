"""Latency of several processes that write one bank of a PostgreSQL database, and of other banks while one bank is locked.

    hindsight-evals bench contention [--writers 8] [--turns 40] [--hold 10] [--out FILE]

1. One process retains turns in one bank, then eight processes do so concurrently: the latency of a turn, and
  whether all succeed.
2. A process reads and writes 19 banks, first without contention and then while a transaction holds the lock
  of another bank.
3. As many threads as the pool has connections write one bank each, and read during the write: no thread may
  wait forever.

With light indexes, facts passed by the caller, and no model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.kills.child import preload
from hindsight_evals.benchmarks.kills.postgres import running
from hindsight_evals.benchmarks.kills.serving import WHEN, config
from hindsight_integrations import ExtractedFact, Hindsight, MemoryBank, Message
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.testing.doubles import HashEmbedder

ONE = "one bank for all"


def opened(address: str) -> Hindsight:
    """Open an engine with light indexes."""
    return Hindsight.open(address, embeddings=HashEmbedder(), reranker=None, config=config())


def turn(bank: MemoryBank, number: int) -> float:
    """Retain a turn of two messages with two facts; return the milliseconds."""
    said = [f"Ann saw bird k{number}k at the river.", f"Bob baked cake k{number}k for the feast."]
    told = [Message(text, "Ann", WHEN, id=f"m{number}.{place}") for place, text in enumerate(said)]
    facts = [ExtractedFact(what=text, sources=[each.id or ""]) for text, each in zip(said, told, strict=True)]
    started = time.perf_counter()
    bank.retain(told, facts=facts)
    return (time.perf_counter() - started) * 1000


def write(address: str, start: Any, writer: int, turns: int, times: Any) -> None:  # noqa: ANN401 - of multiprocessing
    """Write to one bank once all writers are ready; put the milliseconds of each turn into a queue."""
    with opened(address) as engine:
        bank = engine.bank(ONE)
        turn(bank, writer * 100_000)
        start.wait()
        times.put([turn(bank, writer * 100_000 + number) for number in range(1, turns + 1)])


def writing(address: str, writers: int, turns: int, first: int) -> list[float]:
    """Return the milliseconds of all turns of concurrent writer processes."""
    context = get_context("forkserver")
    start, times = context.Barrier(writers), context.Queue()
    processes = [
        context.Process(target=write, args=(address, start, first + number, turns, times))
        for number in range(writers)
    ]
    for process in processes:
        process.start()
    found = [milliseconds for _ in processes for milliseconds in times.get(timeout=600)]
    for process in processes:
        process.join()
    return found


def using(engine: Hindsight, banks: Sequence[str], rounds: int, first: int) -> dict[str, list[float]]:
    """Return the milliseconds of turns and recalls in some banks."""
    turns, recalls = [], []
    for number in range(rounds):
        bank = engine.bank(banks[number % len(banks)])
        turns.append(turn(bank, first + number))
        started = time.perf_counter()
        bank.recall("Who saw the bird?")
        recalls.append((time.perf_counter() - started) * 1000)
    return {"turn": turns, "recall": recalls}


def holding(address: str, seconds: float) -> dict[str, Any]:
    """Use 19 banks, first without contention and then while another process's transaction locks the twentieth."""
    banks = [f"bank {number}" for number in range(20)]
    ledger = Ledger.open(address)
    with opened(address) as engine, ThreadPoolExecutor(1) as pool:
        using(engine, banks, 40, 10_000_000)
        free = using(engine, banks[1:], 95, 11_000_000)
        with ledger.transaction(banks[0]):
            waiting = pool.submit(turn, engine.bank(banks[0]), 12_000_000)
            started, held = time.perf_counter(), {"turn": list[float](), "recall": list[float]()}
            first = 13_000_000
            while time.perf_counter() - started < seconds:
                first += 1000
                for name, times in using(engine, banks[1:], 19, first).items():
                    held[name] += times
        waited = waiting.result(60)
    ledger.close()
    return {
        "free": {name: summary(times) for name, times in free.items()},
        "held": {name: summary(times) for name, times in held.items()},
        "the held bank's writer waited ms": round(waited),
    }


def crowding(address: str) -> float:
    """Return the seconds until as many writers as the pool has connections have written five turns each, in a bank each."""
    connections = config().storage.connections
    started = time.perf_counter()
    with opened(address) as engine:
        ready = threading.Barrier(connections)

        def crowd(number: int) -> None:
            bank = engine.bank(f"crowd {number}")
            ready.wait(60)
            for each in range(5):
                turn(bank, 20_000_000 + number * 1000 + each)

        with ThreadPoolExecutor(connections) as pool:
            list(pool.map(crowd, range(connections)))
    return time.perf_counter() - started


def summary(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of milliseconds."""
    return {
        "count": len(times),
        "p50": round(statistics.median(times), 1),
        "p95": round(statistics.quantiles(times, n=20)[-1], 1),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run all parts; print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--hold", type=float, default=10.0, help="seconds")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    preload()
    with running() as server:
        address = server.address()
        alone = summary(writing(address, 1, options.turns, 0))
        together = summary(writing(address, options.writers, options.turns, 1))
        figures = {
            "benchmark": "contention",
            "alone": alone,
            f"{options.writers} writers": together,
            "p95 over the median alone": round(together["p95"] / alone["p50"], 1),
            "a held bank": holding(address, options.hold),
            "as many writers as connections, s": round(crowding(address), 1),
        }
    print(json.dumps(figures, indent=1))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
