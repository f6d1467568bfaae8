"""Measurements: duration of stages, percentiles, memory."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import ParamSpec, TypeVar
from unittest.mock import patch

P = ParamSpec("P")
R = TypeVar("R")

RETAIN = "hindsight_integrations.retain"
MODELS = "hindsight_integrations.models"
INDEXES = "hindsight_integrations.indexes"
STAGES = {
    "draft": f"{RETAIN}.prepare.draft_facts",
    "count tokens": f"{MODELS}.tokens.TiktokenCounter.count",
    "decide": f"{RETAIN}.commit.decide",
    "- resolve entities": f"{RETAIN}.commit.resolve",
    "- temporal links": f"{RETAIN}.linking.temporal_links",
    "- semantic links": f"{RETAIN}.linking.semantic_links",
    "- neighbours, exact": f"{INDEXES}.exact.ExactVectorIndex.search",
    "- neighbours, Chroma": f"{INDEXES}.chroma.ChromaVectorIndex.search",
    "commit": "hindsight_integrations.ledger.ledger.Transaction.commit",
    "project": "hindsight_integrations.indexes.projection.BankProjection.catch_up",
    "- into Chroma": f"{INDEXES}.chroma.ChromaVectorIndex.upsert",
    "- into Lucene": f"{INDEXES}.store_pool.BankKeywords.upsert",
    "- publish in Lucene": f"{INDEXES}.lucene.LuceneStore._show",
    "- Lucene to disk": f"{INDEXES}.store_pool.BankKeywords.advance",
    "- into the graph": f"{INDEXES}.graph.RustworkxMemoryGraph.add",
    "- into the columns": "hindsight_integrations.indexes.projection.ColumnFollower.follow",
}
"""The functions of each step of retain; an indented step is part of the one above it."""


@contextmanager
def retain_stages() -> Iterator[dict[str, float]]:
    """Yield seconds spent in each step of retain within the block, updated as it runs."""
    seconds = dict.fromkeys(STAGES, 0.0)
    with ExitStack() as stack:
        for name, target in STAGES.items():
            stack.enter_context(patch(target, _timed(resolve_name(target), name, seconds)))
        yield seconds


def _timed(function: Callable[P, R], name: str, seconds: dict[str, float]) -> Callable[P, R]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - started

    return call


def milliseconds(work: Callable[[], object], times: int, *, warm: int = 2) -> list[float]:
    """Return the milliseconds of each call of `work`."""
    found = []
    for turn in range(warm + times):
        started = time.perf_counter()
        work()
        if turn >= warm:
            found.append((time.perf_counter() - started) * 1000)
    return found


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return p50 and p95, rounded to a hundredth."""
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return {"p50": round(statistics.median(values), 2), "p95": round(cuts[18], 2)}


def memory_megabytes() -> dict[str, int]:
    """Return this process's memory: resident, and its anonymous part, which is not backed by files.

    On systems other than Linux, both are the maximum resident memory.
    """
    rollup = Path("/proc/self/smaps_rollup")
    if rollup.exists():
        lines = dict(line.split(":", 1) for line in rollup.read_text().splitlines()[1:])
        return {
            name.lower(): int(lines[key].split()[0]) // 1024
            for name, key in (("resident", "Rss"), ("anonymous", "Anonymous"))
        }
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"resident": most, "anonymous": most}


def timed(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[float, R]:
    """Return the milliseconds of one call, and its result."""
    started = time.perf_counter()
    found = work(*args, **kwargs)
    return (time.perf_counter() - started) * 1000, found
