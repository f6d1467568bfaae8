"""Open a filled bank in its own process: seconds to the first answer, cold and warm, and memory after 200 questions."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from hindsight_evals.benchmarks.speed.clocks import memory_megabytes, timed
from hindsight_evals.benchmarks.speed.costs import RealQueryCost
from hindsight_evals.benchmarks.speed.synthetic import END
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.models.onnx import OnnxEmbedder

QUESTIONS = 200  # number of questions before memory is measured
OTHER = "What did Anna buy in Lisbon in May 2024?"


def opened(folder: str, bank: str, questions: list[tuple[str, str]]) -> dict[str, object]:
    """Measure the seconds and megabytes of opening a bank in this process, which must be a new one.

    Cold includes the imports and the loading of the embedding model and the JVM; the files are in the
    system's cache. Warm: another bank has used them. Neither includes the graph, unless the first question
    uses it; it is timed with the first question that names a person.

    Args:
        folder: the data directory with the bank.
        bank: its id.
        questions: (kind, text); the first one is the first question.
    """
    cold = _first_answer(folder, bank, questions[0][1], None)
    embedder = RealQueryCost(OnnxEmbedder())
    with TemporaryDirectory(prefix="speed-warm-") as other, _engine(other, embedder) as hindsight:
        hindsight.bank("warm").retain(OTHER, document_id="warm")
        hindsight.bank("warm").recall(OTHER, query_timestamp=END)
        gc.collect()
        before = memory_megabytes()
        warm = [_first_answer(folder, bank, questions[0][1], embedder) for _ in range(3)]
        gc.collect()
    with _engine(folder, embedder) as hindsight:
        opened_bank = hindsight.bank(bank)
        named = next((text for kind, text in questions if kind == "name"), questions[0][1])
        first_walk, _ = timed(opened_bank.recall, named, query_timestamp=END)
        for _, text in questions[:QUESTIONS]:
            opened_bank.recall(text, query_timestamp=END)
        after = memory_megabytes()
    gc.collect()
    return {
        "cold_s": round(cold, 2),
        "warm_s": round(sorted(warm)[1], 2),
        "first_walk_s": round(first_walk / 1000, 2),
        "memory_mb": {"before": before, "after_questions": after, "closed": memory_megabytes()},
        "disk_mb": {part.name: round(_size(part)) for part in sorted(Path(folder).iterdir())},
    }


def _first_answer(folder: str, bank: str, question: str, embedder: RealQueryCost | None) -> float:
    """Return the seconds from opening to the first answer."""
    started = time.perf_counter()
    with _engine(folder, embedder or RealQueryCost(OnnxEmbedder())) as hindsight:
        hindsight.bank(bank).recall(question, query_timestamp=END)
        return time.perf_counter() - started


def _engine(folder: str, embedder: RealQueryCost) -> Hindsight:
    return Hindsight.open(folder, embeddings=embedder, reranker=None, config=HindsightConfig())


def _size(part: Path) -> float:
    """Return the megabytes of a file, or of all files in a folder."""
    files = part.rglob("*") if part.is_dir() else [part]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def show(found: dict[str, object]) -> None:
    """Print the figures."""
    print(
        f"  opened to first answer: {found['warm_s']} s warm, {found['cold_s']} s cold; "
        f"first question that walks the graph {found['first_walk_s']} s"
    )
    for moment, memory in dict(found["memory_mb"]).items():  # type: ignore[call-overload]
        print(f"  memory {moment:16} {memory['resident']} MB resident, {memory['anonymous']} MB anonymous")
    print(f"  disk, MB: {found['disk_mb']}")
