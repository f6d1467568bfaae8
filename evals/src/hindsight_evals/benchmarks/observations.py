"""Observations of entities on a LoCoMo conversation: coverage, staleness, cost, and remains after forgetting.

    hindsight-evals bench observations --data LOCOMO --facts FACTS [--conversations conv-26] [--show 40] [--out FILE]

The extracted facts of a conversation are retained by session. After each session the observations of every
stale entity are updated: without a model (facts are selected), and with a stand-in for a strong model that
copies sentences of the facts it is shown (its wording is not evaluated; calls, tokens and rejections are
counted). Every fact of an entity must belong to an observation or be listed as left out. Then the newest fact
of the most mentioned entity is forgotten, and its text is searched for in observations, tasks, prompts and
files. Seconds are those of `tasks.settle`, with the default embedder.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hindsight_evals.benchmarks.locomo.dataset import Conversation, load_conversation
from hindsight_evals.benchmarks.locomo.run import Facts
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.runner.disk_cache import CachedEmbedder, DiskCache
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import ObservationConfig, StorageConfig
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.models.onnx import OnnxEmbedder
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

_LINE = re.compile(r"^\[(\d+)\] \(.*?\) (.*)$", re.MULTILINE)
COPIED = 7  # number of sentences that the copying model returns


@dataclass
class Copying:
    """A model that answers with the first sentences of the newest facts it is shown."""

    prompts: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Any]) -> dict[str, Any]:
        """Return one answer."""
        self.prompts.append("\n".join(str(message.content) for message in messages))
        facts = _LINE.findall(str(messages[1].content))[-COPIED:]
        first = (
            (int(number), re.split(r"(?<=[.!?]) | \| ", text)[0].strip()[:300]) for number, text in facts
        )
        return {"observations": [{"text": text, "facts": [number]} for number, text in first]}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure with and without a model; print the tables and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add("--facts", type=Path, required=True, help="folder of conv-*.jsonl")
    add("--conversations", default="conv-26", help="comma-separated")
    add("--cache", type=Path, help="keeps vectors between runs; then seconds are without embedding")
    add(
        "--embedder",
        choices=("default", "hash"),
        default="default",
        help="hash is a bag of words on exact vectors and FTS5, for a quick try",
    )
    add("--show", type=int, default=0, help="print so many observations of the most mentioned entities")
    add("--out", type=Path)
    options = parser.parse_args(argv)
    embedder: Embedder = OnnxEmbedder() if options.embedder == "default" else HashEmbedder()
    rows = []
    for name in options.conversations.split(","):
        conversation = load_conversation(options.data / f"{name}.json")
        facts = load_facts(options.facts / f"{name}.jsonl")
        for copying in (None, Copying()):
            if options.cache is None:
                rows.append(measured(conversation, facts, embedder, copying, options.show))
                continue
            with closing(DiskCache(options.cache / "observations.sqlite")) as cache:
                kept = CachedEmbedder(embedder, cache)
                rows.append(measured(conversation, facts, kept, copying, options.show))
    print(rendered(rows))
    if options.out:
        options.out.write_text(json.dumps({"benchmark": "observations", "rows": rows}, indent=1) + "\n")


def measured(
    conversation: Conversation, facts: Facts, embedder: Embedder, copying: Copying | None, show: int
) -> dict[str, Any]:
    """Measure one conversation, with or without a model."""
    quick = isinstance(embedder, HashEmbedder)
    config = HindsightConfig(
        storage=StorageConfig("exact", "fts5") if quick else StorageConfig(),
        observations=ObservationConfig(delay_s=3600),
    )
    model = ScriptedModel(copying) if copying else None
    with (
        TemporaryDirectory(prefix="observations-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(folder, embeddings=embedder, reranker=None, model=model, config=config) as hindsight,
    ):
        bank = hindsight.bank(conversation.name)
        row: dict[str, Any] = {
            "conversation": conversation.name,
            "by": "copying model" if copying else "choice",
        }
        row |= sessions(bank, conversation, facts, Path(folder))
        prompts = copying.prompts if copying else []
        row |= {"calls": len(prompts), "prompt tokens": sum(default_token_counter().count(prompts))}
        row |= coverage(bank, Path(folder))
        if show and not copying:
            shown(bank, Path(folder), show)
        row |= forgetting(bank, Path(folder), copying)
    return row


def sessions(bank: MemoryBank, conversation: Conversation, facts: Facts, folder: Path) -> dict[str, Any]:
    """Retain each session and update the observations; return seconds, refreshes, and the stale entities before and after."""
    found: Counter[str] = Counter()
    seconds = 0.0
    for session in conversation.sessions:
        given = facts.get(session.number, ())
        found["facts"] += bank.retain(session.messages, thread=conversation.name, facts=given).created
        named = {entity.text.casefold() for fact in given for entity in fact.entities}
        found["named"] += len(named)
        found["stale before"] += stale(bank, folder)
        started = time.perf_counter()
        settled = bank.tasks.settle()
        seconds += time.perf_counter() - started
        found["refreshes"] += settled.observed
        found["failed"] += len(settled.failed)
        found["stale after"] += stale(bank, folder)
    return {**found, "seconds": round(seconds, 2)}


def stale(bank: MemoryBank, folder: Path) -> int:
    """Return the number of entities whose facts changed since their observations were made."""
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        entities = [entity.id for entity in ledger.entities.listed(bank.name, "", 100_000)]
        return sum(one.stale for one in ledger.observations.get(bank.name, entities).values())


def coverage(bank: MemoryBank, folder: Path) -> dict[str, int]:
    """Return the numbers of (fact, entity) pairs that are in an observation, listed as left out, and neither (must be 0)."""
    found: Counter[str] = Counter()
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        entities = ledger.entities.listed(bank.name, "", 100_000)
        made = ledger.observations.get(bank.name, [entity.id for entity in entities])
        for entity in entities:
            rows = ledger.observations.entity_facts(bank.name, entity.id)
            facts = set(ledger.units.unit_ids(bank.name, rows).values())
            own = np.array(sorted(ledger.units.row_ids(bank.name, made[entity.id].units).values()), np.int64)
            grounds = ledger.observations.grounds_of(bank.name, own)
            under = {fact for stands_on in grounds.values() for fact in stands_on}
            left = set(made[entity.id].left_out)
            found["entities"] += 1
            found["observations"] += len(own)
            found["pairs"] += len(facts)
            found["under one"] += len(under & facts)
            found["left out"] += len(left & facts)
            found["neither"] += len(facts - under - left)
    return dict(found)


def forgetting(bank: MemoryBank, folder: Path, copying: Copying | None) -> dict[str, int]:
    """Forget the newest fact of the most mentioned entity; return how often its text is found afterwards, and what is stale."""
    (entity, *_) = bank.entities.list(limit=1)
    fact = bank.units(entity=entity.id, types=["world", "experience"], limit=10_000).units[-1]
    piece = fact.text[:60]
    if copying:
        copying.prompts.clear()
    bank.forget(unit=fact.id)
    waiting = stale(bank, folder)
    at_once = sum(piece in unit.text for unit in bank.iterate_units(types=["observation"]))
    bank.tasks.settle()
    observed = sum(piece in unit.text for unit in bank.iterate_units(types=["observation"]))
    tasks = sum(piece in task.payload + task.reason for task in bank.tasks.list())
    prompts = sum(piece in prompt for prompt in (copying.prompts if copying else ()))
    needle = piece.encode()
    files = sum(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return {
        "forgotten, found at once": at_once,
        "found later": observed + tasks + prompts,
        "files": files,
        "stale by it": waiting,
    }


def shown(bank: MemoryBank, folder: Path, count: int) -> None:
    """Print observations of the most mentioned entities, with the number of facts of each."""
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        for entity in bank.entities.list(limit=1000):
            (made,) = ledger.observations.get(bank.name, [entity.id]).values()
            rows = ledger.units.row_ids(bank.name, made.units)
            stands_on = ledger.observations.grounds_of(bank.name, np.array(sorted(rows.values()), np.int64))
            print(f"\n{entity.name}: {entity.mentions} facts, {len(made.left_out)} left out")
            for unit_id in made.units:
                print(f"  ({len(stands_on[rows[unit_id]])}) {bank.get(unit_id).text}")
                count -= 1
            if count <= 0:
                break


COLUMNS = (
    "by", "facts", "entities", "observations", "pairs", "under one", "left out", "neither", "stale before", "refreshes",
    "stale after", "failed", "calls", "prompt tokens", "seconds", "forgotten, found at once", "found later", "files",
)  # fmt: skip


def rendered(rows: Sequence[dict[str, Any]]) -> str:
    """Render a table with a line for each measure, including the cost of 1,000 facts."""
    lines = [
        f"| | {' | '.join(row['conversation'] for row in rows)} |",
        "|---|" + "---|" * len(rows),
        *(f"| {name} | {' | '.join(str(row.get(name, 0)) for row in rows)} |" for name in COLUMNS),
    ]
    for name in ("refreshes", "calls", "prompt tokens", "seconds"):
        shares = (f"{1000 * row.get(name, 0) / row['facts']:,.0f}" for row in rows)
        lines.append(f"| {name}, per 1,000 facts | {' | '.join(shares)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
