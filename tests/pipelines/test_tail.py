"""New memories are found by every channel before an index is written to disk, after a kill, and if the disk rejects writes."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from background import search_chroma_in_small_banks, wait_for_background

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.indexes import projection as bank_projection
from hindsight_integrations.indexes.chroma import ChromaVectorIndex
from hindsight_integrations.indexes.fts5 import Fts5Store
from hindsight_integrations.indexes.lucene import LuceneStore
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.testing.doubles import HashEmbedder

Opener = Callable[..., Hindsight]

MANY = [Message(f"Carol counted {n} plums.", "Carol", f"2024-04-{n:02}", id=f"p{n}") for n in range(1, 25)]
KAYAK = Message(
    "Yesterday Alice Chen bought a red kayak from Harbor Sports.", "Bob", "2024-05-03T10:00", id="m1"
)
QUESTION = "Which red kayak did Alice Chen buy from Harbor Sports on May 3, 2024?"
CHANNELS = {"semantic", "keyword", "temporal", "graph"}


@pytest.fixture(
    params=[KeywordBackend.LUCENE, pytest.param(KeywordBackend.FTS5, marks=pytest.mark.slow)],
    ids=lambda kind: f"chroma+{kind}",
)
def config(request: pytest.FixtureRequest) -> HindsightConfig:
    return HindsightConfig(storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=request.param))


@pytest.fixture(autouse=True)
def chroma_in_small_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    search_chroma_in_small_banks(monkeypatch)


@pytest.fixture
def engine(opener: Opener, tmp_path: Path, config: HindsightConfig) -> Hindsight:
    return opener(tmp_path / "data", config=config)


def projection_of(bank: MemoryBank) -> BankProjection:
    return bank.asynchronous._context.projection


def on_disk(bank: MemoryBank) -> tuple[int, int]:
    """The revisions of the vector index and the keyword index on disk."""
    indexes = projection_of(bank)._indexes
    marks = indexes.vectors.watermark, indexes.keywords.watermark
    return tuple(mark.revision if mark else 0 for mark in marks)  # type: ignore[return-value]


def first(bank: MemoryBank, query: str, **options: Any) -> Any:
    return bank.recall(query, **options).units[0]


def refusing(*_: Any, **__: Any) -> None:
    raise IndexOutOfStep("an index", "alice", "no space left on device")


@pytest.mark.promise("`retain` returns once its memories are on disk and every channel finds them.")
def test_every_channel_finds_what_no_index_has_on_disk(engine: Hindsight) -> None:
    """Right after a retain a memory is found by meaning, word, date and name, although only the ledger was written."""
    bank = engine.bank("alice")
    bank.retain(MANY)
    (kayak,) = bank.retain([KAYAK]).unit_ids
    assert on_disk(bank) == (0, 0)
    found = first(bank, QUESTION)
    assert (found.unit.id, set(found.channels)) == (kayak, CHANNELS)


@pytest.mark.parametrize("flushed", [True, False], ids=["on disk", "waiting"])
def test_corrections_and_closings_count_at_once(
    opener: Opener, tmp_path: Path, config: HindsightConfig, flushed: bool
) -> None:
    """An edited memory is found by its new wording only, and a closed one is history, even if the index on disk is older."""
    engine = opener(tmp_path / "data", config=config)
    bank = engine.bank("alice")
    (kayak,) = bank.retain([KAYAK], thread="t").unit_ids
    plums = bank.retain(MANY).unit_ids
    if flushed:
        engine.close()
        bank = opener(tmp_path / "data", config=config).bank("alice")
        assert min(on_disk(bank)) == 2
    bank.edit(plums[0], text="Carol juggled seventeen violet lanterns.")
    found = first(bank, "violet lanterns juggled")
    assert (found.unit.id, {"semantic", "keyword"} <= set(found.channels)) == (plums[0], True)
    assert all(i.unit.id != plums[0] for i in bank.recall("Carol counted 1 plums.").units[:5])

    edited = Message("Alice Chen changed her mind and hired a bicycle.", "Bob", "2024-05-04T10:00", id="m1")
    bank.retain([edited], thread="t")
    assert kayak not in [i.unit.id for i in bank.recall(QUESTION).units]
    assert kayak in [i.unit.id for i in bank.recall(QUESTION, as_of="2024-05-03T12:00").units]


def test_filters_hold_for_what_waits(engine: Hindsight) -> None:
    """Tags and `as_of` also filter memories that are in no index on disk."""
    bank = engine.bank("alice")
    bank.retain(MANY, tags=["fruit"])
    (kayak,) = bank.retain([KAYAK], tags=["boats"]).unit_ids
    assert on_disk(bank) == (0, 0)
    ids = [i.unit.id for i in bank.recall(QUESTION, tags=["boats"], tags_match="any_strict").units]
    assert ids == [kayak]
    assert kayak not in [
        i.unit.id for i in bank.recall(QUESTION, tags=["fruit"], tags_match="any_strict").units
    ]
    assert kayak not in [i.unit.id for i in bank.recall(QUESTION, as_of="2024-04-30").units]


def test_indexes_are_written_when_enough_waits(engine: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn that reaches the limit writes all waiting changes; those before and after do not."""
    monkeypatch.setattr(bank_projection, "TAIL_LIMIT", 3)
    monkeypatch.setattr(bank_projection, "COMMIT_AFTER", 3)
    bank = engine.bank("alice")
    stood = []
    for message in MANY[:7]:
        bank.retain([message])
        stood.append(on_disk(bank))
    assert stood == [(n, n) for n in (0, 0, 3, 3, 3, 6, 6)]
    assert projection_of(bank).view().vectors.tail.tolist() == [7]
    assert projection_of(bank)._indexes.vectors.count() == 6


def test_closing_writes_what_waits(opener: Opener, tmp_path: Path, config: HindsightConfig) -> None:
    """After `close` and reopening, both indexes are at the ledger's revision."""
    engine = opener(tmp_path, config=config)
    engine.bank("alice").retain(MANY)
    engine.close()
    bank = opener(tmp_path, config=config).bank("alice")
    assert on_disk(bank) == (1, 1)
    assert projection_of(bank)._indexes.vectors.count() == len(MANY)


KILLED = """
import os, signal, sys
from hindsight_integrations import Hindsight, HindsightConfig, Message
from hindsight_integrations.config import StorageConfig
from hindsight_integrations.testing.doubles import HashEmbedder
storage = StorageConfig(vectors="chroma", keywords=sys.argv[2])
engine = Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None, config=HindsightConfig(storage=storage))
bank = engine.bank("alice")
for n in range(20):
    bank.retain([Message(f"Carol counted {n} plums.", "Carol", "2024-04-01", id=f"p{n}")])
bank.retain([Message(sys.argv[3], "Bob", "2024-05-03T10:00", id="m1")])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.directory
@pytest.mark.promise("`retain` returns once its memories are on disk and every channel finds them.")
def test_a_kill_costs_a_replay_and_nothing_else(
    opener: Opener, tmp_path: Path, config: HindsightConfig
) -> None:
    """After a kill with everything waiting, the next engine finds it by every channel; Chroma is not written at open."""
    kind = str(config.storage.keywords)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), kind, KAYAK.text], check=False)
    assert killed.returncode == -signal.SIGKILL
    engine = opener(tmp_path, config=config)
    bank = engine.bank("alice")
    assert on_disk(bank)[0] == 0
    assert (
        len(projection_of(bank).view().vectors.scorer.search(HashEmbedder().embed_documents(["x"]), 50)[0])
        == 21
    )
    assert set(first(bank, QUESTION).channels) == CHANNELS
    assert {"semantic", "keyword"} <= set(first(bank, "Carol counted 7 plums.").channels)
    assert engine.doctor().failures == {}


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "no space left on device")


@pytest.mark.promise(
    "An index that could not be written is named in `result.behind`, and recall answers without it."
)
@pytest.mark.parametrize(
    ("index", "broken", "failure"),
    [
        ("vector", [(ChromaVectorIndex, "upsert")], refusing),
        ("keyword", [(LuceneStore, "advance"), (Fts5Store, "advance")], full),
    ],
    ids=["vector", "keyword"],
)
def test_an_index_that_cannot_be_written_is_named_and_missed_by_nobody(
    engine: Hindsight,
    monkeypatch: pytest.MonkeyPatch,
    index: str,
    broken: list[tuple[type, str]],
    failure: Callable[..., None],
) -> None:
    """Retain names the index that is behind, recall is complete, and the next successful write repairs it."""
    monkeypatch.setattr(bank_projection, "TAIL_LIMIT", 2)
    monkeypatch.setattr(bank_projection, "COMMIT_AFTER", 2)
    bank = engine.bank("alice")
    assert bank.retain(MANY[:3]).behind == ()
    with monkeypatch.context() as patch:
        for what, method in broken:
            patch.setattr(what, method, failure)
        for place in range(3, 9, 2):
            assert bank.retain(MANY[place : place + 2]).behind == (index,)
        assert bank.retain([KAYAK]).behind == (index,)
        assert "no space left" in engine.doctor().failures["alice"]
        assert set(first(bank, QUESTION).channels) == CHANNELS
        for message in MANY[:9]:
            assert {"semantic", "keyword"} <= set(first(bank, message.text).channels)
        assert bank.retain(MANY[9:10]).behind == (index,)
    assert bank.retain(MANY[10:11]).behind == ()
    assert engine.doctor().failures == {}
    assert on_disk(bank)[0 if index == "vector" else 1] == 7
    assert set(first(bank, QUESTION).channels) == CHANNELS


def test_bulk_retains_name_what_is_behind_too(engine: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """`retain_many` names the index in each item's result and in its own."""
    from hindsight_integrations import RetainItem

    bank = engine.bank("alice")
    monkeypatch.setattr(bank_projection, "TAIL_LIMIT", 2)
    assert bank.retain_many([RetainItem(MANY[:2])]).behind == ()
    with monkeypatch.context() as patch:
        patch.setattr(ChromaVectorIndex, "upsert", refusing)
        done = bank.retain_many([RetainItem(MANY[2:4]), RetainItem(MANY[4:6])])
        assert done.behind == ("vector",)
        assert [item.result and item.result.behind for item in done.items] == [("vector",)] * 2
    assert bank.retain_many([]).behind == ()


def test_a_vector_index_that_cannot_be_asked_is_done_without(
    engine: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recall scores exactly if Chroma fails, `doctor` reports it, and Chroma is used again after a successful write."""
    bank = engine.bank("alice")
    monkeypatch.setattr(bank_projection, "TAIL_LIMIT", 2)
    bank.retain([*MANY, KAYAK])
    expected = [i.unit.id for i in bank.recall(QUESTION).units]
    with monkeypatch.context() as patch:
        patch.setattr(ChromaVectorIndex, "search", refusing)
        for _ in range(2):
            assert [i.unit.id for i in bank.recall(QUESTION).units] == expected
        assert "no space left" in engine.doctor().failures["alice"]
    bank.retain([Message("Dan went home.", "Dan", "2024-05-05", id="d")])
    assert engine.doctor().failures == {}
    assert projection_of(bank).view().vectors.index is not None
    assert projection_of(bank).view().vectors.tail.tolist() == [len(MANY) + 2]


@pytest.mark.directory
def test_a_replaced_wording_leaves_the_files_at_once(
    opener: Opener, tmp_path: Path, config: HindsightConfig
) -> None:
    """When `edit` returns, no file of the keyword index contains the old word."""
    engine = opener(tmp_path, config=config)
    (kayak,) = engine.bank("alice").retain([Message("Alice hid the zyxquorl.", "Bob", id="m1")]).unit_ids
    engine.close()
    folder = tmp_path / ("lucene" if config.storage.keywords is KeywordBackend.LUCENE else "fts5")
    bank = opener(tmp_path, config=config).bank("alice")
    assert files_with(folder, b"zyxquorl")
    bank.edit(kayak, text="Alice hid something.")
    assert files_with(folder, b"zyxquorl") == set()


def files_with(folder: Path, needle: bytes) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()}


def test_closing_goes_on_where_nothing_can_be_written(
    opener: Opener, tmp_path: Path, config: HindsightConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`close` works on a full disk, and the next open has everything."""
    engine = opener(tmp_path, config=config)
    engine.bank("alice").retain([*MANY, KAYAK])
    with monkeypatch.context() as patch:
        patch.setattr(ChromaVectorIndex, "upsert", refusing)
        for store in (LuceneStore, Fts5Store):
            patch.setattr(store, "advance", full)
        engine.close()
    engine = opener(tmp_path, config=config)
    assert set(first(engine.bank("alice"), QUESTION).channels) == CHANNELS
    assert engine.doctor().failures == {}


def test_a_large_bank_answers_while_its_vector_index_is_loaded(
    opener: Opener, tmp_path: Path, config: HindsightConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer of a reopened bank does not wait for Chroma, and is the same as with it."""
    engine = opener(tmp_path / "data", config=config)
    engine.bank("alice").retain([*MANY, KAYAK])
    engine.close()
    load, may_load = ChromaVectorIndex.load, threading.Event()
    monkeypatch.setattr(ChromaVectorIndex, "load", lambda index: may_load.wait(60) and load(index))
    engine = opener(tmp_path / "data", config=config)
    bank = engine.bank("alice")
    before = [item.unit.id for item in bank.recall(QUESTION).units]
    assert projection_of(bank).view().vectors.index is None
    may_load.set()
    wait_for_background(engine, bank)
    assert projection_of(bank).view().vectors.index is not None
    assert [item.unit.id for item in bank.recall(QUESTION).units] == before


def test_many_vectors_are_written_in_the_background(
    engine: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large retain is found at once and written to Chroma afterwards, without memories forgotten meanwhile."""
    monkeypatch.setattr(bank_projection, "WRITE_AT_ONCE", 5)
    monkeypatch.setattr(bank_projection, "TAIL_LIMIT", 4)
    bank, may_write = engine.bank("alice"), threading.Event()
    bank.retain([KAYAK])
    monkeypatch.setattr(BankProjection, "load", lambda _: may_write.wait(60))
    plums = bank.retain(MANY).unit_ids
    index = projection_of(bank)._indexes.vectors
    assert first(bank, "Carol counted 7 plums.").unit.id == plums[6]
    bank.forget(unit=plums[3])
    assert index.count() == 5
    may_write.set()
    wait_for_background(engine, bank)
    assert index.count() == len(MANY)
    assert plums[3] not in [item.unit.id for item in bank.recall("Carol counted 4 plums.").units]
