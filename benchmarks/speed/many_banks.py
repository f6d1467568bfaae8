"""What many other open banks cost the recalls of one."""

from __future__ import annotations

import sys

from hindsight_integrations import Hindsight, MemoryBank
from speed.clocks import percentiles, timed
from speed.synthetic import END, World

FACTS = 5  # of a small bank


def beside_others(
    hindsight: Hindsight, bank: MemoryBank, questions: list[tuple[str, str]], banks: int
) -> dict[str, object]:
    """Whole recalls of `bank` in milliseconds, alone and with `banks - 1` small banks open that were each asked once."""
    alone = _asked(bank, questions)
    for number in range(1, banks):
        small = hindsight.bank(f"small-{number}")
        (batch,) = World(FACTS, seed=number).batches(FACTS)
        small.retain(batch.messages, facts=batch.facts, thread="speed")
        small.recall(questions[number % len(questions)][1], query_timestamp=END)
        print(f"\r{number + 1} banks open", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {"banks": banks, "one_ms": alone, "many_ms": _asked(bank, questions)}


def _asked(bank: MemoryBank, questions: list[tuple[str, str]]) -> dict[str, float]:
    return percentiles([timed(bank.recall, text, query_timestamp=END)[0] for _, text in questions])
