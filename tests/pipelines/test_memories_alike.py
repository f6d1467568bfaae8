"""Nearly equal memories are all found by meaning, after a restart too, and so are vectors that Chroma lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from background import search_chroma_in_small_banks, wait_for_background

from hindsight_integrations import Hindsight, HindsightConfig, RetainItem
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

COUNT = 150
SENTENCE = "The weekly report of the greenhouse says that the tomatoes, cucumbers, peppers and beans were watered in the morning"


def memory(number: int) -> str:
    """The sentence and up to fourteen other words."""
    return " ".join([SENTENCE, *(f"row{number}bed{place}" for place in range(number % 15))]) + f" {number}."


SETTINGS = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.FTS5))


def opened(folder: Path) -> Hindsight:
    """The engine on this folder."""
    return Hindsight.open(folder, embeddings=HashEmbedder(384), reranker=None, config=SETTINGS)


def not_found(bank: MemoryBank, count: int = COUNT) -> list[int]:
    """The memories that the semantic channel does not return for their own text."""
    missed = []
    for number in range(count):
        found = {item.unit.text: item.channels for item in bank.recall(memory(number)).units}
        if Channel.SEMANTIC not in found.get(memory(number), ()):
            missed.append(number)
    return missed


@pytest.mark.slow
@pytest.mark.promise("`retain` returns once its memories are on disk and every channel finds them.")
def test_memories_that_are_much_alike_are_all_found(tmp_path: Path) -> None:
    """Each of 150 versions of one sentence is found by meaning, before the bank is closed and after it is opened again."""
    for _ in range(2):
        with opened(tmp_path) as engine:
            bank = engine.bank("greenhouse")
            bank.retain_many([RetainItem(memory(number)) for number in range(COUNT)])
            assert not_found(bank) == []


def test_a_vector_that_chroma_lost_is_found_and_brought_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is missing from Chroma's log, which its count does not show: the vector is found at once, and the index is rebuilt."""
    search_chroma_in_small_banks(monkeypatch)
    with opened(tmp_path) as engine:
        engine.bank("greenhouse").retain_many([RetainItem(memory(number)) for number in range(40)])
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3")) as database, database:
        assert database.execute("DELETE FROM embeddings_queue WHERE id = '25'").rowcount == 1
    with opened(tmp_path) as engine:
        bank = engine.bank("greenhouse")
        wait_for_background(engine, bank)
        assert not_found(bank, 40) == []
        bank.retain(memory(40))
        assert engine.doctor().failures == {}
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM embeddings_queue").fetchall() == [(41,)]
    with opened(tmp_path) as engine:
        assert not_found(engine.bank("greenhouse"), 41) == []
