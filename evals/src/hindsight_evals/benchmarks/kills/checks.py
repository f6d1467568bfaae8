"""Checks after a kill: the state is explained by commits, every channel finds every memory, and no file contains erased text."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from hindsight_evals.benchmarks.kills.operations import GUILD, MAIN, TOKEN
from hindsight_integrations import Channel, EmbedderMismatch, Hindsight, MemoryBank
from hindsight_integrations.indexes.spreading_activation import HUB_UNITS
from hindsight_integrations.model.units import MemoryUnit

SAMPLE, ELSEWHERE = (
    6,
    2,
    # number of memories searched for in a round, in addition to newly acknowledged ones: in the main bank, in
    # others
)


def index_problems(hindsight: Hindsight, fresh: set[str], rng: random.Random) -> list[str]:
    """Return memories that a channel does not find, and problems that `doctor` reports.

    Args:
        hindsight: the engine, just opened.
        fresh: texts acknowledged in this round; all of them are searched for.
        rng: selects the other memories.
    """
    found = []
    for name in hindsight.banks():
        bank = hindsight.bank(name)
        try:
            units = list(bank.iterate_units())
        except EmbedderMismatch:
            continue  # killed before its reindex; it works only with its previous embedder
        new = [unit for unit in units if unit.text in fresh]
        others = rng.sample(units, min(SAMPLE if name == MAIN else ELSEWHERE, len(units)))
        for unit in {unit.id: unit for unit in new[:SAMPLE] + others}.values():
            found += [f"{name}: {problem}" for problem in unit_problems(bank, unit)]
    health = hindsight.doctor(deep=True)
    found += [f"doctor: {bank}: {why}" for bank, why in health.failures.items()]
    found += [f"doctor: {bank}: damaged: {', '.join(units)}" for bank, units in health.damaged.items()]
    return found + [f"doctor: ledger: {problem}" for problem in health.ledger]


def unit_problems(bank: MemoryBank, unit: MemoryUnit) -> list[str]:
    """Return the channels that do not find a memory by its own words, names or time."""
    window = (unit.occurred.start, unit.occurred.end) if unit.occurred else None
    answer = bank.recall(unit.text, window=window, k=10)
    best = next((item for item in answer.units if item.unit.id == unit.id), None)
    ranks = {channel: hit.rank for channel, hit in best.channels.items()} if best else {}
    problems = []
    if ranks.get(Channel.SEMANTIC) != 1 or ranks.get(Channel.KEYWORD) != 1:
        problems.append(f"{unit.text}: ranks {ranks}")
    if unit.occurred and Channel.TEMPORAL not in ranks:
        problems.append(f"{unit.text}: not found by time")
    for who in set(best.entities) - {GUILD} if best else ():
        if len(bank.units(entity=who, include_invalidated=True).units) > HUB_UNITS:
            # kills between a merge and its undoing can leave such names; hubs transmit no activation
            continue
        named = bank.recall(f"What did {who} visit?", k=200, max_tokens=100_000).units
        if not any(item.unit.id == unit.id and Channel.GRAPH in item.channels for item in named):
            problems.append(f"{unit.text}: not found through {who}")
    return problems


def file_problems(folder: Path, words: Iterable[str]) -> list[str]:
    """Return erased words that a file still contains."""
    wanted = {word: word.encode() for word in words}
    found = []
    for path in folder.rglob("*") if wanted else ():
        if path.is_file():
            content = path.read_bytes()
            found += [
                f"{word} is still in {path.relative_to(folder)}"
                for word, raw in wanted.items()
                if raw in content
            ]
    return found


def tokens(texts: Iterable[str]) -> set[str]:
    """Return the unique tokens in texts."""
    return {token for text in texts for token in TOKEN.findall(text)}
