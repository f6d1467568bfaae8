"""What keeping the text of messages costs: a bank's size on disk, and milliseconds of a retain, with and without it.

    python benchmarks/source_turns.py --data CONVERSATION.json --facts FACTS.jsonl [--repeats 3] [--out FILE]

A LoCoMo conversation is retained with the facts extracted from it, a call for every few turns as an agent would, once
with `source_turns` and once without, in turns; and word for word, where a turn is a memory and has no second copy.
Real Chroma, Lucene and SQLite; vectors by feature hashing, so that embedding does not count. Sizes after close.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from locomo.dataset import Conversation, load_conversation, load_facts

from hindsight_integrations import Hindsight, HindsightConfig, Message
from hindsight_integrations.config import RetainConfig
from hindsight_integrations.testing.doubles import HashEmbedder

TURNS_A_CALL = 4
DIMENSION = 384  # of the default embedder's vectors
BANK = "locomo"

Call = tuple[tuple[Message, ...], list[dict[str, Any]] | None]


def main(arguments: list[str] | None = None) -> None:
    """Measure all four, print a table, write the numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a LoCoMo conversation")
    parser.add_argument("--facts", type=Path, required=True, help="the facts extracted from it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    conversation = load_conversation(options.data)
    facts = load_facts(options.facts)
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(options.repeats):
        for kind, given in (("facts", facts), ("word for word", None)):
            for kept in (False, True):
                label = f"{kind}, {'with' if kept else 'without'} turns"
                found.setdefault(label, []).append(measured(conversation, given, kept=kept))
    table = {
        label: {name: median(run[name] for run in runs) for name in runs[0]} for label, runs in found.items()
    }
    print(rendered(table))
    if options.out:
        report = {"benchmark": "source_turns", "conversation": conversation.name, "table": table}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def calls(conversation: Conversation, facts: dict[int, list[dict[str, Any]]] | None) -> Iterator[Call]:
    """What is retained together: a few turns, and the facts whose last source is among them."""
    for session in conversation.sessions:
        place = {message.id: number for number, message in enumerate(session.messages)}
        for first in range(0, len(session.messages), TURNS_A_CALL):
            some = session.messages[first : first + TURNS_A_CALL]
            if facts is None:
                yield some, None
                continue
            ends = range(first, first + TURNS_A_CALL)
            own = [
                fact
                for fact in facts.get(session.number, [])
                if max((place.get(source, 0) for source in fact["sources"]), default=0) in ends
            ]
            yield session.messages[max(0, first - TURNS_A_CALL) : first + TURNS_A_CALL], own


def measured(
    conversation: Conversation, facts: dict[int, list[dict[str, Any]]] | None, *, kept: bool
) -> dict[str, float]:
    """Kilobytes by folder and milliseconds a turn of one bank."""
    config = HindsightConfig(retain=RetainConfig(source_turns=kept))
    with TemporaryDirectory() as folder:
        engine = Hindsight.open(folder, embeddings=HashEmbedder(DIMENSION), reranker=None, config=config)
        bank = engine.bank(BANK)
        spent, turns = [], set[str | None]()
        for messages, given in calls(conversation, facts):
            turns |= {message.id for message in messages}
            started = time.perf_counter()
            bank.retain(messages, facts=given)
            spent.append((time.perf_counter() - started) * 1000)
        memories = bank.count()
        engine.close()
        sizes = {name: _kilobytes(Path(folder), name) for name in ("ledger.sqlite", "chroma", "lucene", "")}
    return {
        "turns": len(turns),
        "memories": memories,
        "ms a call, p50": median(spent),
        "ms a turn": sum(spent) / len(turns),
        **{f"{name or 'all'} kB": size for name, size in sizes.items()},
    }


def rendered(table: dict[str, dict[str, float]]) -> str:
    """The measurements as a Markdown table."""
    names = list(next(iter(table.values())))
    rows = [["", *names], ["---"] * (len(names) + 1)]
    rows += [[label, *(f"{row[name]:.1f}" for name in names)] for label, row in table.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _kilobytes(folder: Path, name: str) -> float:
    path = folder / name
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files) / 1000


if __name__ == "__main__":
    main()
