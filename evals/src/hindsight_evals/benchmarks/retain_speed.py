"""Throughput of `retain_many` without a model: facts per second, and milliseconds per fact by stage.

    hindsight-evals bench retain_speed [--sizes 1000,10000,100000] [--real 1000] [--out FILE]

Synthetic facts (`speed/synthetic.py`) are retained in a new bank on Chroma, Lucene, rustworkx and SQLite:
conversations of 25 facts, ten in each commit. Vectors are synthetic and their computation is not counted;
`--real N` adds a run of N facts with the real embedder, to measure the time a user waits. For each size:
milliseconds per fact by stage, and the number of links of a unit. Between sizes: the stages that grow faster
than n log n, that is, whose cost per fact grows by more than log(n2)/log(n1).
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hindsight_evals.benchmarks.speed.clocks import retain_stages
from hindsight_evals.benchmarks.speed.synthetic import SyntheticEmbedder, World
from hindsight_integrations import Hindsight, HindsightConfig, RetainItem
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.models.onnx import OnnxEmbedder

FACTS_PER_ITEM = 25  # in a conversation of five messages
ITEMS_PER_COMMIT = 10
BANK = "speed"
KINDS = {0: "temporal", 1: "semantic"}  # keys are LINK_CODES; all other codes are causal
NOISE = 1.15  # ratio by which two runs of the same size may differ
TRIFLE = 0.02  # milliseconds per fact below which a stage's growth is ignored


def main(argv: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(argv)
    found = [_apart(size, real=False) for size in options.sizes]
    grown = [line for before, after in pairwise(found) for line in faster_than_n_log_n(before, after)]
    if len(found) > 1:
        print("\n".join(["", *(grown or ["no stage grew faster than n log n"])]))
    real = _apart(options.real, real=True) if options.real else None
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "retain_speed", "machine": platform.platform(), "sizes": found, "real": real}
        options.out.write_text(json.dumps({**report, "faster_than_n_log_n": grown}, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="facts, comma-separated, rising")
    add("--real", type=int, default=1_000, help="facts with the real embedder; 0 leaves that run out")
    add("--out", type=Path, help="write the numbers here as JSON")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _apart(size: int, *, real: bool) -> dict[str, Any]:
    """Run `measure` in its own process, so that no size warms up the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, size, real).result()


def measure(size: int, real: bool) -> dict[str, Any]:
    """Fill one bank and measure its graph."""
    embedder = OnnxEmbedder() if real else SyntheticEmbedder()
    with (
        TemporaryDirectory(prefix="retain-speed-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(folder, embeddings=embedder, reranker=None, config=HindsightConfig()) as hindsight,
    ):
        bank = hindsight.bank(BANK)
        items = list(_items(size))
        with retain_stages() as seconds:
            started = time.perf_counter()
            result = bank.retain_many(items, batch_size=ITEMS_PER_COMMIT)
            spent = time.perf_counter() - started
        assert result.created == size, f"{result.created} of {size} facts were kept: {result.failed[:1]}"
        if isinstance(embedder, SyntheticEmbedder):
            spent -= embedder.seconds
        found = {
            "facts": size,
            "embedder": embedder.identity.name,
            "facts_per_second": round(size / spent),
            "ms_per_fact": round(1000 * spent / size, 3),
            "stages_ms_per_fact": {name: round(1000 * part / size, 4) for name, part in seconds.items()},
            "links_per_unit": links_per_unit(hindsight.asynchronous._services.ledger),  # noqa: SLF001 - no verb lists links
        }
    _print(found)
    return found


def _items(size: int) -> Iterator[RetainItem]:
    for batch in World(size).batches(FACTS_PER_ITEM):
        yield RetainItem(batch.messages, facts=batch.facts, thread="speed")


def links_per_unit(ledger: Ledger) -> dict[str, dict[str, float]]:
    """Return the mean and maximum number of links at a unit, in either direction, by type."""
    with ledger.feed(BANK) as feed:
        units, edges, _ = feed.graph(0)
    kinds = np.array([KINDS.get(code, "causal") for code in edges.codes.tolist()])
    chosen = {"all": np.ones(len(kinds), bool), **{str(kind): kinds == kind for kind in np.unique(kinds)}}
    found = {}
    for name, mask in chosen.items():
        ends = np.concatenate([edges.sources[mask], edges.targets[mask]])
        degrees = np.bincount(np.searchsorted(units, ends), minlength=len(units))
        found[name] = {
            "mean": round(float(degrees.mean()), 1),
            "p99": float(np.percentile(degrees, 99)),
            "max": int(degrees.max()),
        }
    return found


def faster_than_n_log_n(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the stages whose cost per fact grew by more than log(n2)/log(n1) and noise."""
    allowed = math.log(after["facts"]) / math.log(before["facts"]) * NOISE
    lines = []
    for name, later in after["stages_ms_per_fact"].items():
        earlier = before["stages_ms_per_fact"][name]
        if later > TRIFLE and later > allowed * max(earlier, TRIFLE):
            lines.append(
                f"{name.strip('- ')} grew faster than n log n from {before['facts']:,} to {after['facts']:,}: "
                f"{earlier:.3f} to {later:.3f} ms a fact"
            )
    return lines


def _print(found: dict[str, Any]) -> None:
    print(
        f"\n{found['facts']:,} facts, {found['embedder']}: {found['facts_per_second']:,} facts/s, "
        f"{found['ms_per_fact']:.2f} ms a fact"
    )
    for name, value in found["stages_ms_per_fact"].items():
        print(f"    {name:26} {value:.3f} ms")
    for name, values in found["links_per_unit"].items():
        print(f"    {name + ' links a unit':26} " + ", ".join(f"{k} {v:g}" for k, v in values.items()))


if __name__ == "__main__":
    main()
