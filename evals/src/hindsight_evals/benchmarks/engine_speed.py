"""Latency of recall and retain without model calls, with 1,000 to 100,000 synthetic facts.

    hindsight-evals bench engine_speed [--sizes 1000,10000,100000] [--queries 60] [--banks 500] [--deadline]
        [--batch 250] [--keep FOLDER] [--out FILE] [--profile]

Facts (about 42 words, Zipf vocabulary, names, dates) and vectors (384 dimensions, clustered) are seeded, so
all runs use the same. For each size, in one bank on Chroma, Lucene, rustworkx and SQLite:

- recall without a reranker and without the embedding of the query, in total and by stage;
- retain per fact, without embedding;
- alternating with the recalls, one real query embedding and one plain Chroma query (k = 100) on the same
  collection, which is the cost of a vector store alone. The ratio compares the whole recall, with embedding,
  with these two;
- in a new process, the time from opening to the first answer, cold, and with imports, model and JVM warm;
  resident and anonymous memory after 200 questions; and disk space;
- in a copy of the bank, turns of two facts, without embedding (`turn_speed` shows their stages).

A last table has one row per size, as in docs/benchmarks.md.

`--keep` keeps the banks, and measures existing ones without filling them again; `--batch 5000` fills a
million facts faster. `--banks` repeats the measurement with this many banks open; `--deadline` measures how
closely reranking keeps its deadline.

Targets on 2 cores: recall without embedding under 25 ms (p50) with 10,000 facts and under 60 ms with 100,000;
the whole recall at most 2 (p50) and 3 (p95) times the plain embedding and query with 10,000 facts, 2 and 3.5
times with 100,000; first answer within a second of opening, warm, with 100,000.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import platform
import pstats
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from hindsight_evals.benchmarks.speed import deadline, opening
from hindsight_evals.benchmarks.speed.clocks import milliseconds, percentiles, retain_stages, timed
from hindsight_evals.benchmarks.speed.costs import RealQueryCost
from hindsight_evals.benchmarks.speed.synthetic import END, SyntheticEmbedder, World
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.models.onnx import OnnxEmbedder

P = ParamSpec("P")
R = TypeVar("R")

WARM_UP, WARM_UP_SEED = 200, 99  # number and seed of the questions before the measured ones
BANK = "speed"
EMBEDDING = "embed query"  # the stage that is not counted
QUESTION = "What did Alice Example say about moving the weekly meeting to Lisbon in May 2024?"


FACTS_A_TURN, WARM_TURNS = 2, 20  # WARM_TURNS are not measured
SMALL = 5  # number of facts in a small bank


def beside_others(
    hindsight: Hindsight, bank: MemoryBank, questions: list[tuple[str, str]], banks: int
) -> dict[str, object]:
    """Return milliseconds of recalls of `bank`, alone, and with `banks - 1` small banks open that were queried once."""
    alone = _recalled(bank, questions)
    for number in range(1, banks):
        small = hindsight.bank(f"small-{number}")
        (batch,) = World(SMALL, seed=number).batches(SMALL)
        small.retain(batch.messages, facts=batch.facts, thread="speed")
        small.recall(questions[number % len(questions)][1], query_timestamp=END)
        print(f"\r{number + 1} banks open", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {"banks": banks, "one_ms": alone, "many_ms": _recalled(bank, questions)}


def _recalled(bank: MemoryBank, questions: list[tuple[str, str]]) -> dict[str, float]:
    return percentiles([timed(bank.recall, text, query_timestamp=END)[0] for _, text in questions])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all sizes; print the tables and write the figures."""
    options = _parser().parse_args(argv)
    embedder = OnnxEmbedder()
    embedding = percentiles(milliseconds(lambda: embedder.embed_query(QUESTION), 30))
    print(f"one real query embedding ({embedder.identity.name}): {_spell(embedding)}")
    sizes = [_apart(size, options) for size in options.sizes]
    _print_costs(sizes)
    deadlines = deadline.measured() if options.deadline else []
    if deadlines:
        deadline.show(deadlines)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {
            "benchmark": "engine_speed",
            "python": platform.python_version(),
            "machine": platform.platform(),
            "query_embedding_ms": embedding,
            "sizes": sizes,
            "rerank_deadlines": deadlines,
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="facts in the bank, comma-separated")
    add("--queries", type=int, default=60, help="recalls measured at each size")
    add("--batch", type=int, default=250, help="facts a retain")
    add("--keep", type=Path, help="folder in which the banks are kept, a folder a size")
    add("--banks", type=int, default=1, help="also measure with so many banks open, the others small")
    add("--deadline", action="store_true", help="also show how reranking keeps its deadline")
    add("--out", type=Path, help="write the numbers here as JSON")
    add("--profile", action="store_true", help="also print where recall spends its time")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _apart(size: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fill and query a bank, then open it, each in its own process, so that memory figures are those of one bank."""
    with TemporaryDirectory(prefix="speed-", ignore_cleanup_errors=True) as temporary:
        folder = str(options.keep / str(size) if options.keep else temporary)
        found: dict[str, Any] = {}
        for work in (measure, reopen, turns):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found |= pool.submit(work, size, folder, options).result()
    _print(found)
    return found


def reopen(size: int, folder: str, _: argparse.Namespace) -> dict[str, Any]:
    """Measure the opening of a filled bank in a new process."""
    return {"open": opening.opened(folder, BANK, World(size).questions(opening.QUESTIONS))}


def turns(size: int, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure turns in a copy of the bank, so that a kept bank stays as it is."""
    embedder, first = SyntheticEmbedder(), size + FACTS_A_TURN * WARM_TURNS
    end = first + FACTS_A_TURN * options.queries
    spent = []
    with TemporaryDirectory(prefix="speed-turns-", ignore_cleanup_errors=True) as temporary:
        copy = Path(temporary) / "bank"
        shutil.copytree(folder, copy)
        with Hindsight.open(copy, embeddings=embedder, reranker=None, config=HindsightConfig()) as hindsight:
            bank = hindsight.bank(BANK)
            for batch in World(end).batches(FACTS_A_TURN, begin=size, end=end):
                embedding = embedder.seconds
                took, _ = timed(bank.retain, batch.messages, facts=batch.facts, thread="turns")
                spent.append(took - 1000 * (embedder.seconds - embedding))
    return {"turn_ms": percentiles(spent[WARM_TURNS:])}


def measure(size: int, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fill one bank with `size` facts, unless it was kept, and query it."""
    real = OnnxEmbedder()
    real.embed_query(QUESTION)
    world, embedder = World(size), RealQueryCost(real)
    found: dict[str, Any] = {"facts": size}
    with Hindsight.open(folder, embeddings=embedder, reranker=None, config=HindsightConfig()) as hindsight:
        bank = hindsight.bank(BANK)
        if bank.count() < size:
            found["retain"] = _retain(bank, world, embedder, size, options.batch)
        questions = world.questions(options.queries)
        found |= _recalls(bank, questions, real)
        if options.banks > 1:
            found["banks"] = beside_others(hindsight, bank, questions, options.banks)
        if options.profile:
            _profile(hindsight, questions)
    return found


def _retain(
    bank: MemoryBank, world: World, embedder: SyntheticEmbedder, size: int, at_once: int
) -> dict[str, Any]:
    """Return milliseconds per fact without embedding: the mean, the mean of the last tenth, and by stage."""
    own: list[float] = []
    began = time.perf_counter()
    with retain_stages() as seconds:
        for batch in world.batches(at_once):
            started, embedding = time.perf_counter(), embedder.seconds
            bank.retain(batch.messages, facts=batch.facts, thread="speed")
            spent = time.perf_counter() - started - (embedder.seconds - embedding)
            own.append(1000 * spent / len(batch.facts))
            print(f"\r{size} facts: batch {len(own)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    kept = bank.count()
    assert kept == size, f"{kept} of {size} facts were kept"
    last = own[-max(1, len(own) // 10) :]
    return {
        "batch": at_once,
        "seconds": round(time.perf_counter() - began),
        "ms_per_fact": round(sum(own) / len(own), 3),
        "ms_per_fact_last_tenth": round(sum(last) / len(last), 3),
        "stages_ms_per_fact": {name: round(1000 * spent / size, 3) for name, spent in seconds.items()},
    }


def _recalls(bank: MemoryBank, questions: list[tuple[str, str]], real: OnnxEmbedder) -> dict[str, Any]:
    """Measure recalls and plain queries alternately, in milliseconds.

    Percentiles of recall without the query's embedding: all questions, each kind of question, each stage.
    Warm-up questions come first, because the first hundred take three times as long, until Java has compiled
    the code of searches.
    """
    for _, text in World(bank.count(), seed=WARM_UP_SEED).questions(WARM_UP):
        bank.recall(text, query_timestamp=END)
    bare = _bare_query(bank, real)
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    whole, bares = defaultdict(list), defaultdict(list)
    chroma, returned = [], []
    for turn, (kind, text) in enumerate(questions):
        spent, found = timed(bank.recall, text, query_timestamp=END)
        returned.append(len(found.units))
        total = {"total": spent - found.trace.milliseconds(EMBEDDING)}
        for name, value in {**total, **_stages(found)}.items():
            times[name]["all"].append(value)
            times[name][kind].append(value)
        # a repeated question would be cached
        other = questions[(turn + len(questions) // 2) % len(questions)][1]
        bare_spent, of_chroma = timed(bare, other)
        chroma.append(of_chroma)
        for group in ("all", kind):
            whole[group].append(spent)
            bares[group].append(bare_spent)
    kept = {
        name: {kind: percentiles(values) for kind, values in kinds.items()} for name, kinds in times.items()
    }
    return {
        "recall": {**kept, "units_returned": round(sum(returned) / len(returned), 1)},
        "bare_chroma_query_ms": percentiles(chroma),
        "ratios": {kind: _ratio(percentiles(whole[kind]), percentiles(bares["all"])) for kind in whole},
    }


def _bare_query(bank: MemoryBank, real: OnnxEmbedder) -> Callable[[str], float]:
    """Return a function that embeds a text and queries the bank's collection for the nearest 100, as without this library.

    It returns the milliseconds spent in Chroma. The query vector is the synthetic one, as in the recalls.
    """
    index: Any = bank.asynchronous._context.projection._indexes.vectors  # noqa: SLF001
    index.count()  # opens the collection
    collection = index._bound.collection  # noqa: SLF001
    ask = partial(collection.query, n_results=100, include=["distances"])
    synthetic = SyntheticEmbedder()
    for text in (QUESTION, QUESTION[::-1]):
        ask(query_embeddings=synthetic.embed_documents([text]))

    def query(text: str) -> float:
        real.embed_query(text)
        return timed(ask, query_embeddings=synthetic.embed_documents([text]))[0]

    return query


def _ratio(whole: dict[str, float], bare: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return the whole recall, the plain query and their ratio, by percentile."""
    return {
        "whole_recall_ms": whole,
        "embedding_and_chroma_ms": bare,
        "times_bare": {name: round(whole[name] / bare[name], 2) for name in whole},
    }


def _stages(found: RecallResult) -> dict[str, float]:
    names = dict.fromkeys(stage.name for stage in found.trace.stages)
    return {str(name): found.trace.milliseconds(name) for name in names if name != EMBEDDING}


async def _inline(_: Workers, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


def _profile(hindsight: Hindsight, questions: list[tuple[str, str]]) -> None:
    """Profile recall with its parts run sequentially in one thread (Java still uses its own)."""

    async def ask() -> None:
        bank = await hindsight.asynchronous.bank(BANK)
        for _, text in questions:
            await bank.recall(text, query_timestamp=END)

    with patch.object(Workers, "read", _inline), cProfile.Profile() as profile:
        asyncio.run(ask())
    print(f"profile of {len(questions)} recalls")
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)


def _spell(values: dict[str, float]) -> str:
    return f"p50 {values['p50']:.1f} ms, p95 {values['p95']:.1f} ms"


def _print(found: dict[str, Any]) -> None:
    recalled = dict(found["recall"])
    returned = recalled.pop("units_returned")
    print(f"\n{found['facts']:,} facts; recall without embedding the query ({returned} units returned), ms")
    kinds = list(recalled["total"])
    print(" " * 22 + "".join(f"{kind + ' p50':>11}{'p95':>7}" for kind in kinds))
    for name, by_kind in recalled.items():
        cells = (f"{by_kind[kind]['p50']:11.1f}{by_kind[kind]['p95']:7.1f}" for kind in kinds)
        print(f"  {name:20}" + "".join(cells))
    print(f"  bare Chroma query, k = 100     {_spell(found['bare_chroma_query_ms'])}")
    print(f"  embedding and Chroma query     {_spell(found['ratios']['all']['embedding_and_chroma_ms'])}")
    for kind, ratio in found["ratios"].items():
        times = ratio["times_bare"]
        print(f"  whole recall, {kind:8}         {_spell(ratio['whole_recall_ms'])}; ", end="")
        print(f"over bare p50 {times['p50']:.2f}, p95 {times['p95']:.2f}")
    if banks := found.get("banks"):
        print(f"  whole recall, 1 bank open      {_spell(banks['one_ms'])}")
        print(f"  whole recall, {banks['banks']} banks open    {_spell(banks['many_ms'])}")
    if retained := found.get("retain"):
        print(
            f"  retain without embedding: {retained['ms_per_fact']:.2f} ms a fact, "
            f"{retained['ms_per_fact_last_tenth']:.2f} over the last tenth; filled in {retained['seconds']} s"
        )
        for name, value in retained["stages_ms_per_fact"].items():
            print(f"    {name:26} {value:.2f} ms a fact")
    opening.show(found["open"])
    print(f"  turn of {FACTS_A_TURN} facts              {_spell(found['turn_ms'])}")


def _print_costs(sizes: Sequence[dict[str, Any]]) -> None:
    """Print one row per size, in Markdown."""
    print(
        "\n| memories | disk | memory after 200 questions | start, cold / warm | question, p50 / p95 | turn, p50 / p95 |"
    )
    print("|---|---|---|---|---|---|")
    for found in sizes:
        opening_, recall, turn = found["open"], found["recall"]["total"]["all"], found["turn_ms"]
        print(
            f"| {found['facts']:,} | {sum(opening_['disk_mb'].values()):,} MB "
            f"| {opening_['memory_mb']['after_questions']['resident']:,} MB "
            f"| {opening_['cold_s']} / {opening_['warm_s']} s | {recall['p50']:.1f} / {recall['p95']:.1f} ms "
            f"| {turn['p50']:.1f} / {turn['p95']:.1f} ms |"
        )


if __name__ == "__main__":
    main()
