"""Latency of one turn: a message with two facts is retained in a bank with many memories.

    hindsight-evals bench turn_speed [--sizes 1000,10000,100000] [--turns 300] [--out FILE]

Synthetic facts (`speed/synthetic.py`) fill one bank on Chroma, Lucene, rustworkx and SQLite. Then turns are
retained one by one, as in a chat, without other load or batching. For each size: milliseconds of a turn
without the embedding of its facts (p50, p95 and maximum), in total and by stage; and, alternating with the
turns, a plain SQLite commit of the same rows into a copy of the ledger (same schema, pragmas and disk), which
is the cost of a turn without decisions and indexes. A stage that runs in few turns only (the batched writing
of Chroma and Lucene) has a median of 0; its cost appears in the mean and the maximum.

There is no extraction; the facts are passed by the caller. Vectors are synthetic; names, dates and links are
resolved as usual. Targets: turn minus plain commit, p50, at most 15 ms; and with 100,000 memories at most
twice as long as with 1,000.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hindsight_evals.benchmarks.speed.bare_commit import BareCommits, bare_commits
from hindsight_evals.benchmarks.speed.clocks import percentiles, retain_stages
from hindsight_evals.benchmarks.speed.synthetic import Batch, SyntheticEmbedder, World
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank

BATCH = 250  # facts per retain while the bank is filled
FACTS = 2  # facts per turn
WARM = 20  # number of unmeasured turns, during which Java compiles and buffers grow
BANK = "turns"
AIM_MS = 15.0
AIM_GROWTH = 2.0


def main(argv: Sequence[str] | None = None) -> None:
    """Measure every size, print the tables and the verdict, write the numbers."""
    options = _parser().parse_args(argv)
    found = [_apart(size, options.turns) for size in options.sizes]
    first, last = (each["minus_bare_ms"]["p50"] for each in (found[0], found[-1]))
    growth = round(last / first, 2)
    print(
        f"\nturn minus bare commit, p50: {first:.1f} ms at {found[0]['facts']:,}, {last:.1f} ms at ", end=""
    )
    print(f"{found[-1]['facts']:,} memories ({growth} times; aims {AIM_MS:g} ms and {AIM_GROWTH:g} times)")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "turn_speed", "python": platform.python_version(), "sizes": found}
        report |= {"machine": platform.platform(), "growth": growth}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="memories, comma-separated, rising")
    add("--turns", type=int, default=300, help="turns measured at each size")
    add("--out", type=Path, help="write the numbers here as JSON")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _apart(size: int, turns: int) -> dict[str, Any]:
    """Run `measure` in its own process, so that no size warms up the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, size, turns).result()


def measure(size: int, turns: int) -> dict[str, Any]:
    """Fill one bank and retain turns in it, alternating with plain commits."""
    embedder, end = SyntheticEmbedder(), size + FACTS * (WARM + turns)
    world = World(end)
    with (
        TemporaryDirectory(prefix="turn-speed-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            Path(folder) / "bank", embeddings=embedder, reranker=None, config=HindsightConfig()
        ) as hindsight,
    ):
        bank = hindsight.bank(BANK)
        for batch in world.batches(BATCH, end=size):
            bank.retain(batch.messages, facts=batch.facts, thread="before")
            print(f"\r{bank.count()} of {size} facts", end="", file=sys.stderr)
        print(file=sys.stderr)
        with bare_commits(Path(folder) / "bank", Path(folder) / "bare") as bare:
            found = _turns(bank, list(world.batches(FACTS, begin=size, end=end)), embedder, bare)
    found = {"facts": size, "turns": turns, **found}
    _print(found)
    return found


def _turns(
    bank: MemoryBank, batches: list[Batch], embedder: SyntheticEmbedder, bare: BareCommits
) -> dict[str, Any]:
    """Return milliseconds of the measured turns, of their stages and of the plain commits."""
    turns, commits, rows = [], [], []
    stages: dict[str, list[float]] = defaultdict(list)
    for number, batch in enumerate(batches):
        with retain_stages() as seconds:
            started, embedding = time.perf_counter(), embedder.seconds
            result = bank.retain(batch.messages, facts=batch.facts, thread="turns")
            spent = time.perf_counter() - started - (embedder.seconds - embedding)
        assert result.created == FACTS, f"{result.created} of {FACTS} facts were kept"
        assert not result.behind, f"{result.behind} could not be written"
        commit, added = bare.milliseconds()
        if number < WARM:
            continue
        turns.append(1000 * spent)
        commits.append(commit)
        rows.append(added)
        for name, part in seconds.items():
            stages[name].append(1000 * part)
    differences = [turn - commit for turn, commit in zip(turns, commits, strict=True)]
    return {
        "turn_ms": _spread(turns),
        "bare_commit_ms": _spread(commits),
        "minus_bare_ms": _spread(differences),
        "rows_a_commit": round(sum(rows) / len(rows), 1),
        "stages_ms": {name: _spread(values) for name, values in stages.items()},
    }


def _spread(values: list[float]) -> dict[str, float]:
    worst, mean = max(values), sum(values) / len(values)
    return {**percentiles(values), "mean": round(mean, 2), "worst": round(worst, 2)}


def _print(found: dict[str, Any]) -> None:
    print(f"\n{found['facts']:,} memories, {found['turns']} turns of {FACTS} facts, ms")
    print(" " * 30 + "".join(f"{name:>9}" for name in found["turn_ms"]))
    lines = {
        "turn": "turn_ms",
        "bare commit of its rows": "bare_commit_ms",
        "turn minus bare": "minus_bare_ms",
    }
    named = {name: found[key] for name, key in lines.items()} | {
        f"  {name}": values for name, values in found["stages_ms"].items()
    }
    for name, values in named.items():
        print(f"  {name:28}" + "".join(f"{value:9.2f}" for value in values.values()))
    print(f"  {found['rows_a_commit']} rows a commit")


if __name__ == "__main__":
    main()
