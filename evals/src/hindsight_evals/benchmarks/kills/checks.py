"""What must hold after a kill: the state is explained, every channel finds every memory, what was erased is in no file."""

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
)  # memories asked for in a round beside as many just acknowledged: of the main bank, of others


def index_problems(hindsight: Hindsight, fresh: set[str], rng: random.Random) -> list[str]:
    """Memories that some channel does not find, and what `doctor` complains of.

    Args:
        hindsight: the engine, just opened.
        fresh: texts that were acknowledged in this round; all of them are asked for.
        rng: draws the others.
    """
    found = []
    for name in hindsight.banks():
        bank = hindsight.bank(name)
        try:
            units = list(bank.iterate_units())
        except EmbedderMismatch:
            continue  # killed before a reindex came to it; asked under its own embedder
        new = [unit for unit in units if unit.text in fresh]
        others = rng.sample(units, min(SAMPLE if name == MAIN else ELSEWHERE, len(units)))
        for unit in {unit.id: unit for unit in new[:SAMPLE] + others}.values():
            found += [f"{name}: {problem}" for problem in unit_problems(bank, unit)]
    health = hindsight.doctor(deep=True)
    found += [f"doctor: {bank}: {why}" for bank, why in health.failures.items()]
    found += [f"doctor: {bank}: damaged: {', '.join(units)}" for bank, units in health.damaged.items()]
    return found + [f"doctor: ledger: {problem}" for problem in health.ledger]


def unit_problems(bank: MemoryBank, unit: MemoryUnit) -> list[str]:
    """Channels that do not find a memory by its own words, names or time."""
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
            continue  # after kills between a merge and its undoing; hubs transmit nothing
        named = bank.recall(f"What did {who} visit?", k=200, max_tokens=100_000).units
        if not any(item.unit.id == unit.id and Channel.GRAPH in item.channels for item in named):
            problems.append(f"{unit.text}: not found through {who}")
    return problems


def file_problems(folder: Path, words: Iterable[str]) -> list[str]:
    """Erased words that some file still holds."""
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
    """The rare tokens in texts."""
    return {token for text in texts for token in TOKEN.findall(text)}
