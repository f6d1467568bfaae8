"""Memories that say nearly the same are all found by meaning, after a restart too (decision 128)."""

from __future__ import annotations

from pathlib import Path

from hindsight_integrations import Hindsight, HindsightConfig, RetainItem
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

COUNT = 300
SENTENCE = "The weekly report of the greenhouse says that the tomatoes, cucumbers, peppers and beans were watered in the morning"


def memory(number: int) -> str:
    """The sentence and up to fourteen words of its own."""
    return " ".join([SENTENCE, *(f"row{number}bed{place}" for place in range(number % 15))]) + f" {number}."


def not_found(bank: MemoryBank) -> list[int]:
    """Which of the memories the semantic channel does not give for their own text."""
    missed = []
    for number in range(COUNT):
        found = {item.unit.text: item.channels for item in bank.recall(memory(number)).units}
        if Channel.SEMANTIC not in found.get(memory(number), ()):
            missed.append(number)
    return missed


def test_memories_that_are_much_alike_are_all_found(tmp_path: Path) -> None:
    """Each of 300 versions of one sentence is found by meaning, before the bank is closed and after it was opened again."""
    settings = HindsightConfig(
        storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.FTS5)
    )
    for _ in range(2):
        with Hindsight.open(tmp_path, embeddings=HashEmbedder(384), reranker=None, config=settings) as engine:
            bank = engine.bank("greenhouse")
            bank.retain_many([RetainItem(memory(number)) for number in range(COUNT)])
            assert not_found(bank) == []
