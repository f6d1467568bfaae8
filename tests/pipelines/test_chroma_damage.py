"""Damage to Chroma's files: every bank is rebuilt from the ledger at open, and the log reports it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from background import search_chroma_in_small_banks, wait_for_background
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend

CHROMA = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.FTS5))
TEXTS = {
    bank: [f"{bank} keeps {thing} in box {number}." for number, thing in enumerate(("plums", "figs", "nuts"))]
    for bank in ("anna", "bela")
}


@pytest.fixture(autouse=True)
def chroma_in_small_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    search_chroma_in_small_banks(monkeypatch)


Damage = Callable[[Path, random.Random], None]


def truncated(database: Path, rng: random.Random) -> None:
    with database.open("r+b") as file:
        file.truncate(rng.randrange(1, database.stat().st_size))


def zeroed(database: Path, rng: random.Random) -> None:
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(rng.randrange(size // 2))
        file.write(bytes(size // 3))


def scribbled(database: Path, rng: random.Random) -> None:
    with database.open("r+b") as file:
        for _ in range(200):
            file.seek(rng.randrange(database.stat().st_size))
            file.write(rng.randbytes(40))


def emptied(database: Path, _: random.Random) -> None:
    database.write_bytes(b"")


def deleted(database: Path, _: random.Random) -> None:
    database.unlink()


def statement(*commands: str) -> Damage:
    def run(database: Path, _: random.Random) -> None:
        with closing(sqlite3.connect(database)) as connection:
            for command in commands:
                connection.execute(command)
            connection.commit()

    return run


def segments(database: Path, _: random.Random) -> None:
    for segment in database.parent.glob("*-*-*-*-*"):
        shutil.rmtree(segment)


def pickles(database: Path, rng: random.Random) -> None:
    for segment in database.parent.glob("*-*-*-*-*"):
        (segment / "index_metadata.pickle").write_bytes(rng.randbytes(60))


DAMAGES = {
    "truncated": truncated,
    "zeroed": zeroed,
    "scribbled": scribbled,
    "emptied": emptied,
    "deleted": deleted,
    "no configuration": statement("UPDATE collections SET config_json_str = 'x', schema_str = 'x'"),
    "no identity": statement("UPDATE collections SET id = 'x' || rowid"),
    "no dimension": statement("UPDATE collections SET dimension = -5"),
    "no table": statement("DROP TABLE embeddings_queue"),
    "no segments": statement("DELETE FROM segments"),
    "no collections": statement("DELETE FROM collections"),
    "no queue": statement("DELETE FROM embeddings_queue"),
    "no migrations": statement("DELETE FROM migrations"),
    "no tenant": statement("DELETE FROM databases", "DELETE FROM tenants"),
    "segment folders": segments,
    "pickles": pickles,
}


@pytest.mark.directory
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@every_row("kind", DAMAGES)
def test_damaged_chroma_is_rebuilt_from_the_ledger(
    opener: Callable[..., Hindsight], tmp_path: Path, kind: str, seed: int
) -> None:
    """After any damage to Chroma's files, every memory is found by meaning after the next open, and nothing fails."""
    with opener(tmp_path, config=CHROMA) as engine:
        for bank, texts in TEXTS.items():
            for text in texts:
                engine.bank(bank).retain(text)
    DAMAGES[kind](tmp_path / "chroma" / "chroma.sqlite3", random.Random(seed))
    for _ in range(2):
        with opener(tmp_path, config=CHROMA) as engine:
            for bank, texts in TEXTS.items():
                wait_for_background(engine, engine.bank(bank))
                for text in texts:
                    best = engine.bank(bank).recall(text).units[0]
                    assert (best.unit.text, "semantic" in best.channels) == (text, True)
            assert engine.doctor().failures == {}


@pytest.mark.directory
def test_an_open_that_rebuilds_says_so(
    opener: Callable[..., Hindsight], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the damaged store and each rebuilt bank; doctor shows what was rebuilt and why."""
    with opener(tmp_path, config=CHROMA) as engine:
        engine.bank("anna").retain(TEXTS["anna"][0])
    DAMAGES["truncated"](tmp_path / "chroma" / "chroma.sqlite3", random.Random(1))
    with opener(tmp_path, config=CHROMA) as engine:
        wait_for_background(engine, engine.bank("anna"))
        assert "rebuilt from the ledger" in caplog.text
        assert "bank 'anna': the vector index failed and is rebuilt" in caplog.text
        assert "damaged" in engine.doctor().rebuilt["anna"]
    with opener(tmp_path, config=CHROMA) as engine:
        wait_for_background(engine, engine.bank("anna"))
        assert engine.doctor().rebuilt == {}
