"""The Chroma backend beyond the contract: isolation, repair, files, threads and output."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders import make_mark
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from table import every_row
from vectors import unit_vectors

from hindsight_integrations.concurrency.gate import Gate
from hindsight_integrations.errors import EngineClosed, IndexOutOfStep
from hindsight_integrations.indexes.chroma import (
    ChromaVectorIndex,
    ChromaVectors,
    WatermarkFile,
    _Bound,
)

OpenStore = Callable[..., ChromaVectors]
"""Opens a store in the test's folder, or in memory for None."""

ENOUGH_TO_REACH_DISK = 1100  # more than Chroma's sync_threshold of 1000


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    """Open stores, and close them after the test."""
    made: list[ChromaVectors] = []

    def make(data: Path | None = tmp_path) -> ChromaVectors:
        made.append(ChromaVectors(data))
        return made[-1]

    yield make
    for store in made:
        store.close()


def fill(index: ChromaVectorIndex, count: int = 5, dimension: int = 8) -> np.ndarray:
    vectors = unit_vectors(count, dimension)
    index.upsert(np.arange(count), vectors)
    index.advance(make_mark(1))
    return vectors


def bound(index: ChromaVectorIndex) -> _Bound:
    """Return the index's current Chroma objects."""
    assert index.watermark is None or index._bound
    assert index._bound
    return index._bound


def segment_files(data: Path, name: str) -> list[Path]:
    return list((data / "chroma").glob(f"*/{name}"))


def damaged(data: Path, harm: Callable[[Path], None]) -> None:
    """A data directory whose bank `abc` was written to disk and then damaged by `harm`, called with its segment folder."""
    store = ChromaVectors(data)
    fill(store.open("abc"), ENOUGH_TO_REACH_DISK)
    store.close()
    [pickle] = segment_files(data, "index_metadata.pickle")
    harm(pickle.parent)


def truncate_pickle(segment: Path) -> None:
    os.truncate(segment / "index_metadata.pickle", 100)


def delete_pickle(segment: Path) -> None:
    (segment / "index_metadata.pickle").unlink()


def truncate_data(segment: Path) -> None:
    os.truncate(segment / "data_level0.bin", 1000)


def truncate_header(segment: Path) -> None:
    os.truncate(segment / "header.bin", 50)


def test_two_engines_in_memory_share_nothing(open_store: OpenStore) -> None:
    """Two :memory: engines with a bank of the same name do not see each other, and closing one does not affect the other."""
    first, second = open_store(None), open_store(None)
    vectors = fill(first.open("abc"))
    assert second.open("abc").count() == 0
    second.close()
    [hits] = first.open("abc").search(vectors[:1], 1)
    assert hits.ids.tolist() == [0]


def test_users_own_ephemeral_client_is_left_alone(open_store: OpenStore) -> None:
    """A program may use chromadb.EphemeralClient() next to an in-memory engine, in any order of opening."""
    ours = open_store(None)
    fill(ours.open("abc"))
    theirs = Client(settings=Settings())  # what chromadb.EphemeralClient() makes
    assert theirs.list_collections() == []
    fill(open_store(None).open("abc"))
    theirs.close()
    assert ours.open("abc").count() == 5


def test_banks_are_apart(open_store: OpenStore) -> None:
    """Each bank has its own collection and watermark."""
    store = open_store()
    fill(store.open("abc"))
    assert (store.open("xyz").count(), store.open("xyz").watermark) == (0, None)
    store.open("xyz").clear()
    assert (store.open("abc").count(), store.open("abc").watermark) == (5, make_mark(1))


def test_large_batches_are_split(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chroma holds the interpreter lock during a write, so it never gets many vectors at once; all are stored."""
    index = open_store(None).open("abc")
    sizes: list[int] = []

    def watched(write: Callable[..., object]) -> Callable[..., object]:
        def call(collection: Collection, **given: Any) -> object:
            sizes.append(len(given["ids"]))
            return write(collection, **given)

        return call

    for name in ("upsert", "delete"):
        monkeypatch.setattr(Collection, name, watched(getattr(Collection, name)))
    fill(index, 150)
    assert index.count() == 150
    index.remove(np.arange(1, 150))
    assert (index.count(), sizes) == (1, [64, 64, 22, 64, 64, 21])


@every_row("harm", [truncate_pickle, delete_pickle, truncate_data, truncate_header])
def test_damaged_collection_says_so_and_heals(
    open_store: OpenStore, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    """A collection broken by a kill raises a clear error instead of crashing or hiding units; clear() rebuilds it."""
    damaged(tmp_path, harm)
    store = open_store()
    index = store.open("abc", bank="diary")
    for call in (
        index.count,
        lambda: index.search(unit_vectors(1, 8), 3),
        lambda: index.upsert(np.arange(1), unit_vectors(1, 8)),
        lambda: index.remove(np.arange(1)),
    ):
        with pytest.raises(IndexOutOfStep, match="vector index of bank 'diary'"):
            call()
    index.clear()
    assert (index.count(), index.watermark) == (0, None)
    vectors = fill(index, ENOUGH_TO_REACH_DISK)
    store.close()
    healed = open_store().open("abc")
    assert (healed.count(), healed.watermark) == (ENOUGH_TO_REACH_DISK, make_mark(1))
    assert [hits.ids[0] for hits in healed.search(vectors[::100], 1)] == list(
        range(0, ENOUGH_TO_REACH_DISK, 100)
    )


def test_damage_stays_within_its_bank(open_store: OpenStore, tmp_path: Path) -> None:
    """Other banks of the same folder work while one is broken."""
    damaged(tmp_path, truncate_pickle)
    other = open_store().open("xyz")
    fill(other)
    assert other.count() == 5


def test_unreadable_database_is_made_again(
    open_store: OpenStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A Chroma directory that cannot be opened is replaced by an empty one, and the log says so."""
    (tmp_path / "chroma" / "watermarks").mkdir(parents=True)
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 500)
    index = open_store().open("abc")
    assert (index.count(), index.watermark) == (0, None)
    assert "will be rebuilt" in caplog.text


def test_clear_leaves_no_vectors_in_files(open_store: OpenStore, tmp_path: Path) -> None:
    """A cleared bank's index files are deleted; Chroma alone would leave them on disk."""
    store = open_store()
    index = store.open("abc")
    fill(index, ENOUGH_TO_REACH_DISK)
    [pickle] = segment_files(tmp_path, "index_metadata.pickle")
    index.clear()
    assert not pickle.parent.exists()


def test_rebuilds_beside_searches_break_nothing(open_store: OpenStore, tmp_path: Path) -> None:
    """Searches of one bank succeed while others are cleared, replayed and removed."""
    store = open_store()
    searched, rebuilt = store.open("abc"), store.open("xyz")
    vectors = fill(searched, 50)
    done = threading.Event()

    def search() -> set[int]:
        found = set()
        while not done.is_set():
            [hits] = searched.search(vectors[:1], 5)
            found.add(len(hits))
        return found

    with ThreadPoolExecutor(3) as threads:
        searches = [threads.submit(search) for _ in range(3)]
        try:
            for number in range(15):
                rebuilt.clear()
                fill(rebuilt, 50)
                fill(store.open(f"brief{number}"))
                store.open(f"brief{number}").discard()
        finally:
            done.set()
    assert [found.result() for found in searches] == [{5}] * 3
    store.close()
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_work_on_files_waits_for_calls_and_goes_before_later_ones() -> None:
    """Work on files starts after running calls, and later calls wait for it."""
    gate, order = Gate(), []
    working, finish = threading.Event(), threading.Event()

    def work() -> None:
        with gate.exclusive():
            order.append("work begins")
            working.set()
            finish.wait(10)
            order.append("work ends")

    def call() -> None:
        with gate.shared():
            order.append("later call")

    with ThreadPoolExecutor(2) as threads:
        with gate.shared(), gate.shared():  # calls do not wait for each other
            threads.submit(work)
            assert not working.wait(0.2)
            order.append("calls end")
        assert working.wait(10)
        later = threads.submit(call)
        assert wait([later], 0.2).not_done
        finish.set()
    assert order == ["calls end", "work begins", "work ends", "later call"]


def test_a_failed_call_or_piece_of_work_leaves_the_gate_open() -> None:
    """An exception does not block later calls."""
    gate = Gate()
    for way in (gate.shared, gate.exclusive) * 2:
        with pytest.raises(ValueError, match="inside"), way():
            raise ValueError("inside")


def test_watermark_of_a_deleted_collection_reads_none(open_store: OpenStore, tmp_path: Path) -> None:
    """If the collection was deleted externally, the bank is replayed from the start."""
    store = open_store()
    fill(store.open("abc"))
    store.close()
    foreign = Client(settings=Settings(is_persistent=True, persist_directory=str(tmp_path / "chroma")))
    for collection in foreign.list_collections():
        foreign.delete_collection(collection.name)
    foreign.close()
    index = open_store().open("abc")
    assert (index.count(), index.watermark) == (0, None)


def test_collection_deleted_while_open_is_out_of_step(open_store: OpenStore) -> None:
    """A collection that disappears under an open index raises our error, and clear() creates a new one."""
    index = open_store(None).open("abc")
    fill(index)
    bound(index).client._api.delete_collection("bank-abc")
    with pytest.raises(IndexOutOfStep, match="does not exist"):
        index.count()
    index.clear()
    fill(index)
    assert index.count() == 5


@every_row(
    "content",
    [
        "",
        "{",
        "[]",
        '{"collection": "c"}',
        '{"collection": "c", "watermark": "x"}',
        '{"collection": "c", "revision": 5}',
    ],
)
def test_unreadable_watermark_reads_none(tmp_path: Path, content: str) -> None:
    """An unreadable watermark causes a replay, not a crash."""
    path = tmp_path / "abc.json"
    path.write_text(content)
    assert WatermarkFile(path).read("c") is None


def test_watermark_that_cannot_be_written_is_our_error(open_store: OpenStore, tmp_path: Path) -> None:
    """If the disk is full or read-only, the watermark file raises a storage error and stays unchanged."""
    index = open_store().open("abc")
    assert index.watermark is None
    (tmp_path / "chroma" / "watermarks").write_text("in the way")
    with pytest.raises(IndexOutOfStep):
        index.advance(make_mark(3))
    assert index.watermark is None


def test_another_dimension_is_out_of_step(open_store: OpenStore) -> None:
    """Vectors of another embedder raise our error until the index is cleared."""
    index = open_store(None).open("abc")
    fill(index)
    with pytest.raises(IndexOutOfStep, match="dimension"):
        index.upsert(np.arange(1), unit_vectors(1, 16))


def test_panic_in_chroma_is_our_error(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A panic in Chroma's Rust code, which no `except Exception` catches, is a storage error and not an exit."""
    index = open_store(None).open("abc")
    panic = type("PanicException", (BaseException,), {})  # as PyO3 makes it

    def panics() -> int:
        raise panic("index out of bounds")

    monkeypatch.setattr(bound(index), "collection", SimpleNamespace(count=panics))
    with pytest.raises(IndexOutOfStep, match="PanicException: index out of bounds"):
        index.count()


def test_interrupt_is_not_swallowed(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during a search reaches the program unchanged."""
    index = open_store(None).open("abc")

    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(bound(index), "collection", SimpleNamespace(count=interrupted))
    with pytest.raises(KeyboardInterrupt):
        index.count()


def test_closed_store_refuses_calls(open_store: OpenStore, tmp_path: Path) -> None:
    """After close every call says that the engine was closed, and closing again is allowed."""
    store = open_store()
    index = store.open("abc")
    store.close()
    store.close()
    for call in (index.count, index.clear, lambda: store.open("abc")):
        with pytest.raises(EngineClosed):
            call()


def test_closed_folder_can_be_deleted_and_used_again(open_store: OpenStore, tmp_path: Path) -> None:
    """Close releases the files: the folder can be deleted and the bank rebuilt in the same process."""
    store = open_store()
    fill(store.open("abc"))
    store.close()
    shutil.rmtree(tmp_path / "chroma")
    index = open_store().open("abc")
    assert (index.count(), index.watermark) == (0, None)
    fill(index)
    assert index.count() == 5


def test_open_and_close_leak_nothing(tmp_path: Path) -> None:
    """Short-lived engines, in memory and on disk, leave neither threads nor open files behind."""
    tasks, files = Path("/proc/self/task"), Path("/proc/self/fd")

    def cycle(data: Path | None) -> None:
        store = ChromaVectors(data)
        fill(store.open("abc"))
        store.close()

    cycle(None)
    before = len(list(tasks.iterdir())), len(list(files.iterdir()))
    for number in range(20):
        cycle(tmp_path if number % 2 else None)
    # An engine has at least four threads and eight files; those of the last ones may still be ending.
    assert len(list(tasks.iterdir())) < before[0] + 20
    assert len(list(files.iterdir())) < before[1] + 20


def test_nothing_is_sent_anywhere(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Storing and searching opens no connection and looks up no name: no telemetry, no model download."""

    def refused(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    index = open_store().open("abc")
    [hits] = index.search(fill(index)[:1], 1)
    assert hits.ids.tolist() == [0]
    assert bound(index).client._system.settings.anonymized_telemetry is False


def test_environment_does_not_steer_chroma(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chroma settings in the environment or in a .env file do not change where memory is stored."""
    (tmp_path / ".env").write_text("CHROMA_API_IMPL=chromadb.api.fastapi.FastAPI\nMIGRATIONS=none\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHROMA_SERVER_HOST", "example.invalid")
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "true")
    index = open_store().open("abc")
    fill(index)
    settings = bound(index).client._system.settings
    assert (settings.chroma_server_host, settings.anonymized_telemetry) == (None, False)


def test_importing_the_module_does_not_import_chromadb() -> None:
    """Importing the module does not import chromadb."""
    code = "import sys, hindsight_integrations.indexes.chroma as c; c.ChromaVectors(None); print('chromadb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


LOADS = """
import sys
from pathlib import Path

from hindsight_integrations.indexes.chroma import ChromaVectors
from vector_index_contract import row_ids
from vectors import unit_vectors

data, vectors = Path(sys.argv[1]), unit_vectors(3, 8)
calls = {
    "upsert": lambda index: index.upsert(row_ids(0, 1, 2), vectors),
    "search": lambda index: index.search(vectors, 1),
    "remove": lambda index: index.remove(row_ids(2)),
    "count": lambda index: index.count(),
    "wrong dimension": lambda index: index.search(unit_vectors(1, 16), 1),
}
for name in ("upsert", "search", "remove", "count", "wrong dimension", "search"):
    store = ChromaVectors(data)
    try:
        calls[name](store.open("abc"))
    except Exception as error:
        print(name, "failed", type(error).__name__)
    store.close()
    for path in (data / "chroma").rglob("*"):
        if path.name in ("data_level0.bin", "length.bin") and any(path.read_bytes()):
            print(name, "left memory in", path.name)
"""


def test_loading_a_collection_leaves_no_memory_of_the_process_in_its_files(tmp_path: Path) -> None:
    """hnswlib writes uninitialised heap memory at every load; whichever call caused it, nothing of it stays on disk.

    Here glibc fills freed memory with a pattern, so that uninitialised memory is never zero by chance.
    """
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MALLOC_PERTURB_": "90"},
    )
    assert segment_files(tmp_path, "data_level0.bin")
    assert done.stdout.splitlines() == ["wrong dimension failed IndexOutOfStep"]


def test_memory_left_by_a_kill_goes_with_the_next_erasure(open_store: OpenStore, tmp_path: Path) -> None:
    """A process killed between Chroma's load and our blanking left heap memory in another bank's file; a vacuum removes it."""
    store = open_store()
    fill(store.open("abc"))
    store.close()
    (lengths,) = segment_files(tmp_path, "length.bin")
    lengths.write_bytes(b"a secret".ljust(lengths.stat().st_size, b"."))
    store = open_store()
    store.open("xyz").discard()
    assert not any(lengths.read_bytes())
