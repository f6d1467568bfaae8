"""Missing committed data is reported and rejected until the user accepts the loss; nothing else is."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig
from hindsight_integrations.errors import LedgerLost
from hindsight_integrations.indexes.chroma import chroma_marks
from hindsight_integrations.indexes.store_pool import keyword_marks

FTS5 = HindsightConfig(storage=StorageConfig(keywords=KeywordBackend.FTS5))
Opener = Callable[..., Hindsight]

RETAINING = """
import os, signal, sys
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig
from hindsight_integrations.testing.doubles import HashEmbedder

config = HindsightConfig(storage=StorageConfig(keywords=KeywordBackend.FTS5))
bank = Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None, config=config).bank("alice")
for fruit in ("plums", "figs", "pears", "quinces"):
    bank.retain(f"Alice likes {fruit}.")
os.kill(os.getpid(), signal.SIGKILL)
"""


def retained(path: Path) -> None:
    """Four commits of a process that is killed after the last: only the write-ahead log contains them."""
    done = subprocess.run([sys.executable, "-c", RETAINING, str(path)], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (path / "ledger.sqlite-wal").stat().st_size > 10_000


def delete(log: Path) -> None:
    """The write-ahead log is missing, as after copying ledger.sqlite alone."""
    log.unlink()


def truncate(log: Path) -> None:
    """Its end is missing."""
    os.truncate(log, log.stat().st_size * 3 // 4)


def flip(log: Path) -> None:
    """One bit of it was changed."""
    content = bytearray(log.read_bytes())
    content[len(content) * 3 // 4] ^= 0x10
    log.write_bytes(content)


def contents(path: Path) -> dict[str, bytes]:
    """The important files of a data directory."""
    kept = ("ledger.sqlite", "ledger.sqlite-wal", "ledger.mark", "chroma/*/*", "fts5/*.sqlite3")
    return {str(file): file.read_bytes() for name in kept for file in path.glob(name) if file.is_file()}


def texts(engine: Hindsight) -> set[str]:
    return {unit.text for unit in engine.bank("alice").units().units}


def refused(opener: Opener, path: Path) -> LedgerLost:
    """Opening it is rejected, for writing and for reading, and changes nothing."""
    before = contents(path)
    for read_only in (True, False, False):
        with pytest.raises(LedgerLost, match="accept_loss=True") as caught:
            opener(path, config=FTS5, read_only=read_only)
    assert contents(path).items() >= {name: data for name, data in before.items() if data}.items()
    return caught.value


@contextmanager
def accepted(opener: Opener, path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Hindsight]:
    """With accept_loss, it is logged, recorded in the ledger, and not required again."""
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        first = opener(path, config=FTS5, accept_loss=True)
    assert "continuing despite missing data" in caplog.text
    held = texts(first)
    first.close()
    with closing(sqlite3.connect(path / "ledger.sqlite")) as raw:
        assert raw.execute("SELECT count(*) FROM losses WHERE accepted_at > 0").fetchone()[0] >= 1
    second = opener(path, config=FTS5)
    assert texts(second) == held
    assert {item.unit.text for item in second.bank("alice").recall("Alice likes").units} == held
    assert second.doctor().failures == {}
    yield second
    second.close()


@pytest.mark.directory
@pytest.mark.promise(
    "A ledger that has lost committed data is refused until you open it with `Hindsight.open(path, "
    "accept_loss=True)`."
)
@pytest.mark.parametrize(
    "damage", [truncate, *(pytest.param(each, marks=pytest.mark.slow) for each in (delete, flip))]
)
def test_a_damaged_write_ahead_log_is_a_loss(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    """Acknowledged commits that are missing with the log are detected, whatever SQLite reads from the rest."""
    retained(tmp_path)
    damage(tmp_path / "ledger.sqlite-wal")
    loss = refused(opener, tmp_path)
    assert loss.transactions is not None
    assert loss.transactions > 0
    with accepted(opener, tmp_path, caplog) as engine:
        assert len(texts(engine)) < 4
        engine.bank("alice").retain("Alice likes apples.")
        assert "Alice likes apples." in texts(engine)
    with opener(tmp_path, config=FTS5) as again:
        assert "Alice likes apples." in texts(again)


@pytest.mark.directory
@pytest.mark.promise(
    "A ledger that has lost committed data is refused until you open it with `Hindsight.open(path, "
    "accept_loss=True)`."
)
def test_a_kill_alone_is_no_loss(opener: Opener, tmp_path: Path) -> None:
    """Everything acknowledged is in the log; a mark that is behind after a kill is normal."""
    retained(tmp_path)
    ring = tmp_path / "ledger.mark"
    whole = ring.read_bytes()
    newest = max(range(64), key=lambda slot: int.from_bytes(whole[64 * slot + 4 : 64 * slot + 12], "little"))
    for content in (
        whole[: 64 * newest] + b"\0" * 64 + whole[64 * (newest + 1) :],
        b"",
        bytes(4096),
        b"\xff" * 5000,
    ):
        ring.write_bytes(content)
        with opener(tmp_path, config=FTS5) as engine:
            assert len(texts(engine)) == 4


@pytest.mark.directory
@pytest.mark.promise(
    "A ledger that has lost committed data is refused until you open it with `Hindsight.open(path, "
    "accept_loss=True)`."
)
@pytest.mark.parametrize("remains", ["mark", "indexes"])
def test_a_deleted_ledger_is_a_loss(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture, remains: str
) -> None:
    """Full indexes or a mark next to an empty ledger prove the loss."""
    with opener(tmp_path, config=FTS5) as engine:
        engine.bank("alice").retain("Alice likes plums.")
    for gone in tmp_path.glob("ledger.sqlite*"):
        gone.unlink()
    if remains == "mark":
        for folder in ("chroma", "fts5"):
            shutil.rmtree(tmp_path / folder)
    else:
        (tmp_path / "ledger.mark").unlink()
    loss = refused(opener, tmp_path)
    assert not (tmp_path / "ledger.sqlite").exists()
    assert ("transactions" if remains == "mark" else "indexes of 1 bank") in loss.reason
    with accepted(opener, tmp_path, caplog) as engine:
        assert texts(engine) == set()


@pytest.mark.directory
def test_an_emptied_ledger_is_a_loss(opener: Opener, tmp_path: Path) -> None:
    """SQLite treats a file of zero bytes as a new database; here it is a lost ledger."""
    with opener(tmp_path, config=FTS5) as engine:
        engine.bank("alice").retain("Alice likes plums.")
    os.truncate(tmp_path / "ledger.sqlite", 0)
    refused(opener, tmp_path)


def with_lucene(opener: Opener, path: Path) -> None:
    with opener(path) as engine:
        engine.bank("alice").retain("Alice likes plums.")


@pytest.mark.directory
@pytest.mark.promise(
    "A ledger that has lost committed data is refused until you open it with `Hindsight.open(path, "
    "accept_loss=True)`."
)
@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("later", [("figs", "pears"), ("figs",)])
def test_a_ledger_put_back_beside_newer_indexes_is_a_loss(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture, later: tuple[str, ...], mark: bool
) -> None:
    """An older copy of the ledger alone is rejected, even if it has as many commits again; without a mark the indexes prove it."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    with opener(data, config=FTS5) as engine:
        engine.bank("alice").retain("Alice likes plums.")
    shutil.copytree(data, copy)
    with opener(data, config=FTS5) as engine:
        for fruit in later:
            engine.bank("alice").retain(f"Alice likes {fruit}.")
    with opener(copy, config=FTS5) as engine:
        engine.bank("alice").retain("Alice likes quinces.")
    shutil.copy(copy / "ledger.sqlite", data / "ledger.sqlite")
    if not mark:
        (data / "ledger.mark").unlink()
    loss = refused(opener, data)
    assert loss.banks == {"alice": len(later) - 1}
    with accepted(opener, data, caplog) as engine:
        assert texts(engine) == {"Alice likes plums.", "Alice likes quinces."}


@pytest.mark.directory
def test_indexes_ahead_of_a_ledger_put_back_with_its_mark_are_left_alone(
    opener: Opener, tmp_path: Path
) -> None:
    """If ledger and mark agree, the bank's indexes prove the loss; they are rebuilt only when the user accepts it."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    with_lucene(opener, data)
    shutil.copytree(data, copy)
    with opener(data) as engine:
        engine.bank("alice").retain("Alice likes figs.")
    for name in ("ledger.sqlite", "ledger.mark"):
        shutil.copy(copy / name, data / name)
    with opener(data) as engine:
        for _ in range(2):
            with pytest.raises(LedgerLost, match="'alice'"):
                engine.bank("alice")
    with opener(data, accept_loss=True) as engine:
        assert texts(engine) == {"Alice likes plums."}
    with opener(data) as engine:
        found = engine.bank("alice").recall("Alice likes figs").units
        assert [item.unit.text for item in found] == ["Alice likes plums."]


@pytest.mark.directory
def test_a_directory_put_back_as_a_whole_is_no_loss(opener: Opener, tmp_path: Path) -> None:
    """A copy of the whole directory, made while no process ran, opens normally."""
    data, copy = tmp_path / "data", tmp_path / "copy"
    with_lucene(opener, data)
    shutil.copytree(data, copy)
    with opener(data) as engine:
        engine.bank("alice").retain("Alice likes figs.")
    shutil.rmtree(data)
    shutil.copytree(copy, data)
    with opener(data) as engine:
        assert texts(engine) == {"Alice likes plums."}
        engine.bank("alice").retain("Alice likes pears.")
    with opener(data, read_only=True) as engine:
        assert len(texts(engine)) == 2


@pytest.mark.directory
def test_a_bank_forgotten_and_made_again_is_no_loss(opener: Opener, tmp_path: Path) -> None:
    """Erased data is not missing, even if the erased bank's indexes come back."""
    with_lucene(opener, tmp_path)
    shutil.copytree(tmp_path / "lucene", tmp_path.parent / "lucene-before")
    with opener(tmp_path) as engine:
        engine.forget_bank("alice")
    with opener(tmp_path) as engine:
        engine.bank("alice").retain("Alice likes figs.")
    shutil.rmtree(tmp_path / "lucene")
    shutil.copytree(tmp_path.parent / "lucene-before", tmp_path / "lucene")
    with opener(tmp_path) as engine:
        found = engine.bank("alice").recall("Alice likes plums").units
        assert [item.unit.text for item in found] == ["Alice likes figs."]


def test_accepting_where_nothing_is_missing_changes_nothing(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The option may stay in a program: it does not rebuild indexes or record anything."""
    with_lucene(opener, tmp_path)
    before = chroma_marks(tmp_path), keyword_marks(tmp_path)
    with opener(tmp_path, accept_loss=True) as engine:
        assert texts(engine) == {"Alice likes plums."}
    assert (chroma_marks(tmp_path), keyword_marks(tmp_path)) == before
    assert caplog.text == ""


@pytest.mark.directory
def test_marks_are_read_from_the_files_of_every_index(opener: Opener, tmp_path: Path) -> None:
    """Chroma's, Lucene's and FTS5's files contain watermarks, and garbage in them is ignored."""
    with_lucene(opener, tmp_path)
    with opener(tmp_path, config=FTS5) as engine:
        engine.bank("alice")
    found = [*chroma_marks(tmp_path), *keyword_marks(tmp_path)]
    assert [mark.index for mark in found] == ["vector", "keyword", "keyword"]
    assert len({str(mark.mark) for mark in found} - {"None"}) == len({mark.bank_key for mark in found}) == 1
    for file in (
        *tmp_path.glob("chroma/watermarks/*"),
        *tmp_path.glob("lucene/*/segments_*"),
        *tmp_path.glob("fts5/*"),
    ):
        file.write_bytes(b"watermark\xff\xfe" * 50)
    assert {mark.mark for mark in (*chroma_marks(tmp_path), *keyword_marks(tmp_path))} == {None}
