"""Space and latency of memories and banks on PostgreSQL: database, write-ahead log, cache, process memory, first answers.

    hindsight-evals bench server_space [--size 10000] [--turns 100] [--banks 200] [--out FILE]

Synthetic facts of 42 words with 384-dimensional vectors, on Chroma and Lucene, without a model. Each figure
is measured in a new process; the time to import the package is not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psycopg

from hindsight_evals.benchmarks.kills.postgres import Server, running
from hindsight_evals.benchmarks.many_banks import filled, name, secret, usage
from hindsight_evals.benchmarks.speed.synthetic import SyntheticEmbedder, World
from hindsight_integrations import Hindsight, RetainItem

BANK, BATCH = "life", 20
FACTS_OF_A_BANK = 5


def opened(address: str, cache: str | None) -> Hindsight:
    """Open an engine with the default indexes."""
    return Hindsight.open(address, embeddings=SyntheticEmbedder(), reranker=None, cache=cache)


def sizes(server: Server) -> tuple[int, int]:
    """Return the bytes of the memory's tables with their indexes, and of all write-ahead log so far."""
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(oid)), pg_current_wal_lsn() - '0/0'::pg_lsn FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def growth(server: Server, work: Callable[[], object], count: int) -> dict[str, float]:
    """Return the kibibytes added by each of `count` operations."""
    before = sizes(server)
    work()
    after = sizes(server)
    return {
        name: round((new - old) / count / 1024, 2)
        for name, old, new in zip(("database_kb", "wal_kb"), before, after, strict=True)
    }


def first_answer(address: str, cache: str | None, banks: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return milliseconds and megabytes of the first answers of some banks, in sequence."""
    with opened(address, cache) as engine:
        engine.bank("warm-up").recall("anything")
        before, started = usage(), time.perf_counter()
        for bank, question in banks:
            engine.bank(bank).recall(question)
        spent, after = time.perf_counter() - started, usage()
    return {
        "ms_a_bank": round(spent * 1000 / len(banks), 1),
        "anonymous_mb_before": before["anonymous_mb"],
        "anonymous_mb_a_bank": round((after["anonymous_mb"] - before["anonymous_mb"]) / len(banks), 2),
    }


def apart(*given: Any) -> dict[str, Any]:  # noqa: ANN401 - the arguments of `first_answer`
    """Measure first answers in a separate process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(first_answer, *given).result()


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return all figures."""
    world = World(options.size + options.turns)
    large = list(world.batches(BATCH, end=options.size))
    turns = list(world.batches(2, begin=options.size, end=options.size + 2 * options.turns))[: options.turns]
    with running() as server, tempfile.TemporaryDirectory() as folder:
        cache, address = str(Path(folder) / "cache"), server.address()
        with opened(address, cache) as engine:
            engine.bank("warm-up")
            bank, found = engine.bank(BANK), {}
            items = [RetainItem(batch.messages, facts=batch.facts) for batch in large]
            found["a memory"] = growth(server, lambda: _retain_all(bank, items), options.size)
            found["a turn of two facts"] = growth(
                server, lambda: [bank.retain(one.messages, facts=one.facts) for one in turns], len(turns)
            )
        found["a memory"]["cache_kb"] = round(_files(Path(cache)) / options.size / 1024, 2)
        asked = [(BANK, "what is known of topic7?")]
        found[f"bank of {options.size}, cold"] = apart(address, None, asked)
        found[f"bank of {options.size}, cached"] = apart(address, cache, asked)
        with opened(address, None) as engine:
            found["a small bank"] = growth(
                server,
                lambda: [filled(engine, number, FACTS_OF_A_BANK) for number in range(options.banks)],
                options.banks,
            )
        small = [(name(number), secret(number)) for number in range(min(options.banks, 60))]
        found["small banks, cold"] = apart(address, None, small)
        return found


def _retain_all(bank: Any, items: list[RetainItem]) -> None:  # noqa: ANN401 - a bank
    failed = bank.retain_many(items).failed
    if failed:
        raise failed[0][1]


def _files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=10_000, help="memories of the large bank")
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--banks", type=int, default=200, help="banks of five facts")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    options = parser.parse_args(argv)
    figures = {"benchmark": "server_space", **measured(options)}
    print(json.dumps(figures, indent=1))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
