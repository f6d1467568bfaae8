"""How many pairs the default cross-encoder reads a second, and how many before the deadline, alone and beside busy processes.

    python benchmarks/reranker_speed.py --data DIR [--facts DIR] [--busy 0,2] [--runs 5] [--deadline-ms 1000]

Sixty candidates of a LoCoMo conversation (facts, or turns without --facts) are read for ten of its questions, in groups of
1, 2, 4, 8 and all between looks at the clock. The groups take turns within each run. Printed are medians over questions and
runs: pairs a second of wall time and of processor time, and the pairs read before the deadline with that group.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from locomo.dataset import load_conversation, load_facts

from hindsight_integrations.backends.local_models.onnx import OnnxCrossEncoder
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.tempr.recall import rerank
from hindsight_integrations.testing.builders import make_unit

NAME = "conv-26"
QUESTIONS, CANDIDATES = 10, 60
GROUPS = (1, 2, 4, 8, CANDIDATES)
BUSY = "while True: pass"


def main() -> None:
    """Print a table for each number of busy processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of conv-*.json")
    parser.add_argument("--facts", type=Path, help="folder of conv-*.jsonl")
    parser.add_argument("--busy", default="0,2", help="busy processes beside it, comma-separated")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--deadline-ms", type=float, default=1000.0)
    options = parser.parse_args()
    conversation = load_conversation(options.data / f"{NAME}.json")
    if options.facts:
        facts = load_facts(options.facts / f"{NAME}.jsonl")
        texts = [str(fact["what"]) for session in facts.values() for fact in session]
    else:
        texts = [message.text for session in conversation.sessions for message in session.messages]
    units = [make_unit(f"u{at}", text=text) for at, text in enumerate(texts)]
    questions = [question.text for question in conversation.questions]
    asked = questions[:: len(questions) // QUESTIONS][:QUESTIONS]
    model = OnnxCrossEncoder()
    model.score("warm", ["up"])
    for busy in map(int, options.busy.split(",")):
        with _busy(busy):
            print(
                f"{busy} busy processes   pairs/s   pairs/s of processor time   read in {options.deadline_ms:.0f} ms"
            )
            _measure(model, asked, units, runs=options.runs, deadline_ms=options.deadline_ms)


def _measure(
    model: OnnxCrossEncoder,
    questions: Sequence[str],
    units: Sequence[MemoryUnit],
    *,
    runs: int,
    deadline_ms: float,
) -> None:
    walls: dict[int, list[float]] = {group: [] for group in GROUPS}
    processors: dict[int, list[float]] = {group: [] for group in GROUPS}
    read: dict[int, list[int]] = {group: [] for group in GROUPS}
    for run in range(runs):
        for at, question in enumerate(questions):
            candidates = [units[(at * 37 + step * 7 + run) % len(units)] for step in range(CANDIDATES)]
            for group in GROUPS:
                rerank.BATCH = group
                wall, processor = time.perf_counter(), time.process_time()
                rerank.score_until(model, question, candidates, float("inf"))
                walls[group].append(CANDIDATES / (time.perf_counter() - wall))
                processors[group].append(CANDIDATES / (time.process_time() - processor))
                read[group].append(len(rerank.score_until(model, question, candidates, deadline_ms)))
    for group in GROUPS:
        rate, own, pairs = median(walls[group]), median(processors[group]), median(read[group])
        print(f"  groups of {group:<8} {rate:8.0f} {own:27.0f} {pairs:17.0f}")


@contextmanager
def _busy(processes: int) -> Iterator[None]:
    """So many processes that do nothing but compute, for the length of a block."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
