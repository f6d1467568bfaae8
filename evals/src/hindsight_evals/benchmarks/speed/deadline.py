"""Whether reranking keeps its deadline, with a reranker of known cost and with the real one.

A batch that would exceed the deadline is not started, so a reranker with constant cost ends within it (the
first batch is always scored). With the real one, whose batches vary, the last batch may end late.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hindsight_evals.benchmarks.speed.costs import TimedReranker
from hindsight_evals.benchmarks.speed.synthetic import END, SyntheticEmbedder, World
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, RecallConfig, StorageConfig, VectorBackend
from hindsight_integrations.model.arrays import FloatArray
from hindsight_integrations.model.requests import Budget
from hindsight_integrations.models.onnx import OnnxCrossEncoder
from hindsight_integrations.models.protocols import Reranker
from hindsight_integrations.recall.rerank import BATCH

FACTS, QUESTIONS = 500, 6
DEADLINES = (100.0, 300.0, 1000.0)  # milliseconds
COSTS = (2.0, 10.0, 20.0)  # milliseconds per pair, of the test reranker
LIGHT = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
Row = dict[str, float | str | bool]


class SleepingReranker:
    """Scores by the number of common words of question and text, and takes `cost` milliseconds per pair."""

    name = "sleeping-reranker"

    def __init__(self, cost: float) -> None:
        self._cost = cost

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return scores (n,), float32."""
        time.sleep(self._cost * len(texts) / 1000)
        wanted = set(query.casefold().split())
        return np.array([len(wanted & set(text.casefold().split())) for text in texts], np.float32)


def measured() -> list[Row]:
    """Return the slowest of a few recalls with the highest effort (60 candidates), for each reranker and deadline."""
    real = OnnxCrossEncoder()
    real.score("warm", ["up"])
    sleeping: dict[str, Reranker] = {f"{cost:g} ms a pair": SleepingReranker(cost) for cost in COSTS}
    with TemporaryDirectory(prefix="deadline-") as folder:
        questions = _fill(Path(folder))
        return [
            _worst(Path(folder), questions, name, reranker, deadline)
            for name, reranker in {**sleeping, real.name: real}.items()
            for deadline in DEADLINES
        ]


def _fill(folder: Path) -> list[str]:
    world = World(FACTS)
    config = HindsightConfig(storage=LIGHT)
    with Hindsight.open(folder, embeddings=SyntheticEmbedder(), reranker=None, config=config) as hindsight:
        for batch in world.batches(FACTS):
            hindsight.bank("deadline").retain(batch.messages, facts=batch.facts, thread="speed")
    return [text for _, text in world.questions(QUESTIONS)]


def _worst(folder: Path, questions: list[str], name: str, reranker: Reranker, deadline: float) -> Row:
    """Return the slowest rerank stage with its batches, and whether it kept the deadline."""
    timed = TimedReranker(reranker)
    config = HindsightConfig(storage=LIGHT, recall=RecallConfig(rerank_deadline_ms=deadline))
    rows: list[Row] = []
    with Hindsight.open(folder, embeddings=SyntheticEmbedder(), reranker=timed, config=config) as hindsight:
        bank = hindsight.bank("deadline")
        for text in questions:
            timed.batches.clear()
            found = bank.recall(text, query_timestamp=END, budget=Budget.HIGH)
            (stage,) = (stage for stage in found.trace.stages if stage.name == "rerank")
            rows.append(
                _row(name, deadline, stage.milliseconds, timed.batches, int(stage.detail["candidates"]))
            )
    return max(rows, key=lambda row: row["elapsed_ms"])


def _row(name: str, deadline: float, elapsed: float, batches: list[float], candidates: int) -> Row:
    """Return the row of one recall; it may exceed the deadline by one batch."""
    return {
        "reranker": name,
        "deadline_ms": deadline,
        "elapsed_ms": round(elapsed, 1),
        "batches": len(batches),
        "of_batches": ceil(candidates / BATCH),
        "slowest_batch_ms": round(max(batches), 1),
        "kept": elapsed <= deadline,
        "within_one_batch": elapsed <= deadline + max(batches),
    }


def show(rows: list[Row]) -> None:
    """Print the rows as a table."""
    print("\nrerank deadline, the slowest of", QUESTIONS, "recalls each, ms")
    print(f"  {'reranker':42}{'deadline':>9}{'elapsed':>9}{'batches':>9}{'slowest':>9}  ")
    for row in rows:
        kept = "kept" if row["kept"] else "overran by less than a batch"
        if not row["within_one_batch"]:
            kept = "OVERRAN BY MORE THAN A BATCH"
        done = f"{row['batches']}/{row['of_batches']}"
        numbers = f"{row['deadline_ms']:9.0f}{row['elapsed_ms']:9.0f}{done:>9}{row['slowest_batch_ms']:9.0f}"
        print(f"  {row['reranker']:42}{numbers}  {kept}")
