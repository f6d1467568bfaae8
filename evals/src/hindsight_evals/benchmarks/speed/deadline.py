"""Whether reranking keeps its deadline: with a reranker of known cost, and with the real one.

A batch that would overrun is not begun, so a reranker of even cost ends within the deadline (the first batch is always
scored); the real one, whose batches vary, may overrun by part of one batch.
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
COSTS = (2.0, 10.0, 20.0)  # milliseconds a pair, of the double
LIGHT = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
Row = dict[str, float | str | bool]


class SleepingReranker:
    """Counts the words that question and text share, and takes `cost` milliseconds a pair for it."""

    name = "sleeping-reranker"

    def __init__(self, cost: float) -> None:
        self._cost = cost

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Scores (n,), float32."""
        time.sleep(self._cost * len(texts) / 1000)
        wanted = set(query.casefold().split())
        return np.array([len(wanted & set(text.casefold().split())) for text in texts], np.float32)


def measured() -> list[Row]:
    """For each reranker and deadline the worst of a few recalls with the highest budget (60 candidates)."""
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
    """The slowest rerank stage, with the batches it scored and whether it kept its promise."""
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
    """One recall; it may take one batch longer than the deadline at most."""
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
    """The rows as a table."""
    print("\nrerank deadline, the slowest of", QUESTIONS, "recalls each, ms")
    print(f"  {'reranker':42}{'deadline':>9}{'elapsed':>9}{'batches':>9}{'slowest':>9}  ")
    for row in rows:
        kept = "kept" if row["kept"] else "overran by less than a batch"
        if not row["within_one_batch"]:
            kept = "OVERRAN BY MORE THAN A BATCH"
        done = f"{row['batches']}/{row['of_batches']}"
        numbers = f"{row['deadline_ms']:9.0f}{row['elapsed_ms']:9.0f}{done:>9}{row['slowest_batch_ms']:9.0f}"
        print(f"  {row['reranker']:42}{numbers}  {kept}")
