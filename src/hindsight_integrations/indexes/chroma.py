"""Chroma as the vector index: one client per engine, one collection per bank.

A kill or a full disk can leave a collection permanently unreadable, so after every failure
it is cleared and replayed from the ledger.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import shutil
import sqlite3
import struct
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.concurrency.gate import Gate
from hindsight_integrations.errors import EngineClosed, HindsightError, IndexBehind, IndexOutOfStep
from hindsight_integrations.model.arrays import Hits, IntArray, Matrix, Vector, no_hits, ranked
from hindsight_integrations.model.watermark import IndexMark, Watermark

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection


logger = logging.getLogger("hindsight_integrations")

BATCH = 64  # vectors per call; Chroma holds the interpreter lock during a call, 12 s for 4,096 vectors

SAME = 1e-5  # tolerance per component, since Chroma normalises vectors once more when it stores them


class ChromaVectors:
    """The Chroma store of one engine: `<data>/chroma`, or in memory.

    Chroma is imported and started at the first `open`. Thread-safe. Only one object per folder may exist at a time,
    including those of read-only engines: two would lose or hide vectors without an error. The ledger's lock prevents
    this.
    """

    def __init__(self, data: Path | None) -> None:
        """Create the store without opening files; `data` is the engine's directory, None keeps everything in memory."""
        self._keeper = ClientKeeper(None if data is None else data / "chroma")
        self._lock = threading.Lock()
        self._indexes: weakref.WeakValueDictionary[str, ChromaVectorIndex] = weakref.WeakValueDictionary()
        self._closed = False

    def open(self, bank_key: str, *, bank: str | None = None) -> ChromaVectorIndex:
        """Return the index of one bank, the same object while it is referenced; `bank` is the name shown in errors.

        This succeeds for a broken collection or a full disk too; the index's methods then raise.

        Raises:
            EngineClosed: this store was closed.
        """
        with self._lock:
            if self._closed:
                raise EngineClosed
            index = self._indexes.get(bank_key)
            if index is None or index.discarded:
                index = self._indexes[bank_key] = ChromaVectorIndex(self._keeper, bank_key, bank or bank_key)
            return index

    def close(self) -> None:
        """Stop Chroma and release its files and threads; in-memory content is lost. Can be called more than once."""
        with self._lock:
            self._closed = True
            self._indexes.clear()
            self._keeper.close()


class ChromaVectorIndex:
    """A VectorIndex over one collection. Only row ids, as text, are stored with the vectors.

    Every method but `watermark` raises IndexOutOfStep if the collection is broken or missing or has another
    dimension, IndexBehind if the disk is full or not writable, and EngineClosed after `ChromaVectors.close`.
    """

    def __init__(self, keeper: ClientKeeper, bank_key: str, bank: str) -> None:
        self._keeper = keeper
        self._name = f"bank-{bank_key}"
        self._bank = bank
        self._mark = keeper.watermark_file(bank_key)
        self._bound: _Bound | None = None
        self._known = ""  # id of the collection to which the watermark belongs
        self._watermark: Watermark | None = None
        self._damage: str | None = None
        self.discarded = False

    @property
    def watermark(self) -> Watermark | None:
        """The commit this collection has reached; None if the collection is new, unavailable or replaced."""
        if not (self._bound and self._keeper.current(self._bound.client)):
            with suppress(IndexOutOfStep, EngineClosed), self._keeper.alone(self._bank, self._name) as client:
                self._bind(client)
        return self._watermark

    @property
    def recorded(self) -> Watermark | None:
        """The commit that the watermark file names; the collection may be another one. Chroma is not opened."""
        return self._mark.read() if self._mark else self._watermark

    @property
    def keeps_removed(self) -> bool:
        """True on disk, because Chroma leaves deleted vectors in its files (1.5.9, measured)."""
        return self._mark is not None

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors under ids, replacing existing ones; for a repeated id the last vector counts."""
        rows = {str(name): row for row, name in enumerate(ids.tolist())}
        names, picked = list(rows), vectors[list(rows.values())]
        self._keeper.check_room(self._bank, picked.nbytes)
        for start in range(0, len(names), BATCH):
            batch = slice(start, start + BATCH)
            with self._writing() as bound:
                new = _new_rows(bound.collection, names[batch], picked[batch])
                if len(new):
                    fresh = [names[start + row] for row in new]
                    bound.collection.upsert(ids=fresh, embeddings=picked[batch][new])
                    bound.reach.wrote(fresh)

    def remove(self, ids: IntArray) -> None:
        """Remove ids; unknown ids are ignored."""
        names = [str(name) for name in np.unique(ids).tolist()]
        for start in range(0, len(names), BATCH):
            with self._writing() as bound:
                bound.collection.delete(ids=names[start : start + BATCH])
                bound.reach.removed(names[start : start + BATCH])

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied."""
        with self._alone() as bound:
            if bound.reach.due:
                self._scan(bound)
            bound.reach.settle()
            if self._mark:
                self._mark.write(self._known, mark)
        self._watermark = mark

    def load(self) -> None:
        """Load the graph and scan it for vectors that searches do not reach. Any thread."""
        with self._reading():
            pass

    def count(self) -> int:
        """Return the number of vectors."""
        with self._alone() as bound:
            return bound.collection.count()

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with their cosine; one call to Chroma."""
        if limit <= 0 or len(vectors) == 0:
            return [no_hits() for _ in range(len(vectors))]
        with self._reading() as bound:
            results = _searched(bound, vectors, limit)
        missing = [row for row, hits in enumerate(results) if len(hits) < min(limit, bound.reach.held or 0)]
        if missing:
            with self._alone() as bound:
                self._scan(bound, *vectors[missing])
                results = _searched(bound, vectors, limit)
        return results

    def clear(self) -> None:
        """Drop the collection (even a broken one), its files and its watermark, and create an empty one.

        If Chroma cannot do this, its database is damaged, and is replaced by an empty one for all banks.
        """
        try:
            self._empty()
        except IndexBehind:
            raise
        except IndexOutOfStep as error:
            self._keeper.recreate(self._bank, error.reason)
            self._empty()

    def discard(self) -> None:
        """Drop the collection permanently, with its files, its watermark and its deleted rows in Chroma's database."""
        with self._keeper.alone(self._bank, self._name) as client:
            self.discarded = True
            self._drop(client)
            self._keeper.vacuum()
            if self._mark:
                self._mark.drop()

    def close(self) -> None:
        """Release the collection; a later call to a method binds it again."""
        self._bound = None

    def _empty(self) -> None:
        with self._keeper.alone(self._bank, self._name) as client:
            if self._mark:
                self._mark.write("", None)  # so that `_bind` vacuums after a kill at this point
            self._watermark, self._damage = None, "emptying it was interrupted"
            self._drop(client)
            self._bind(client)
            self._damage = None

    def _drop(self, client: ChromaClient) -> None:
        if self._bound:
            self._bound.files.erase()
        client.drop(self._name, client.files(client.collection(self._name)))
        self._bound = None

    def _bind(self, client: ChromaClient) -> None:
        """Bind the collection in this client; a missing one is created empty, and counts as damaged until `clear`."""
        if self._bound and self._bound.client is client:
            return
        if self.discarded:
            raise IndexOutOfStep("vector", self._bank, "it was discarded")
        collection = client.collection(self._name)
        known, current = self._known, str(collection.id)
        bound = _Bound(client, collection, client.files(collection), SearchReach(collection))
        lost = ""
        if known != current:
            self._watermark = self._mark.read(current) if self._mark else None
            if self._mark and self._mark.is_of_another(current):
                # A collection was dropped. Free pages of the database still contain its vectors.
                lost = self._keeper.remade
                self._keeper.vacuum()
                self._mark.write(current, None)
        if known not in ("", current):
            lost = lost or "its collection was lost"
        self._damage = self._damage or lost or bound.files.damage()
        self._bound, self._known = bound, current

    @contextmanager
    def _alone(self) -> Iterator[_Bound]:
        """Yield the collection while no other call runs; then zero the old memory contents that loading wrote to its files."""
        with self._keeper.alone(self._bank, self._name) as client:
            self._bind(client)
            bound = self._bound
            if bound is None or self._damage:
                raise IndexOutOfStep("vector", self._bank, self._damage or "it was closed during a call")
            try:
                yield bound
                bound.loaded = True
            finally:
                if bound.files.rewritten():
                    bound.files.blank()

    @contextmanager
    def _writing(self) -> Iterator[_Bound]:
        """Like `_alone`, for writes. A failed write may be incomplete, so the collection must be cleared after it."""
        with self._alone() as bound:
            self._damage = "a write to it failed"  # reset on success
            yield bound
            self._damage = None

    def _scan(self, bound: _Bound, *starts: Vector) -> None:
        """Scan the graph. If a vector is missing, this fails, and the collection must be cleared."""
        self._damage = "one of its vectors is missing"  # reset on success
        bound.reach.scan(*starts)
        self._damage = None

    @contextmanager
    def _reading(self) -> Iterator[_Bound]:
        """Yield the collection to concurrent readers, or exclusively if this client has not loaded it.

        Loading writes files, and builds a new graph for a small collection; that graph must be scanned before use.
        """
        bound = self._bound
        with self._keeper.beside(self._bank) as client:
            ready = bound is not None and bound.ready and bound.client is client and not self._damage
            if ready and bound is not None:
                yield bound
        if not ready:
            with self._alone() as alone:
                self._scan(alone)
                yield alone


@dataclass(slots=True)
class _Bound:
    """A collection as bound to one client.

    Attributes:
        reach: tracks the vectors that searches do not reach.
        loaded: whether a call has succeeded; searches write files only before that.
    """

    client: ChromaClient
    collection: Collection
    files: SegmentFiles
    reach: SearchReach
    loaded: bool = False

    @property
    def ready(self) -> bool:
        """Whether searches are complete and no longer write files."""
        return self.loaded and self.reach.held is not None


def _new_rows(collection: Collection, names: list[str], vectors: Matrix) -> list[int]:
    """Return the rows of the vectors that are not stored yet.

    A replay repeats stored vectors, and replacing vectors by equal ones damages the HNSW graph: afterwards 8 of
    101 were not found (chromadb 1.5.9, measured).
    """
    held = collection.get(ids=names, include=["embeddings"])
    stored = held["embeddings"]
    if stored is None or not len(held["ids"]) or len(stored[0]) != vectors.shape[1]:
        return list(range(len(names)))
    row_of = {name: row for row, name in enumerate(names)}
    rows = [row_of[name] for name in held["ids"]]
    same = np.abs(np.asarray(stored, np.float32) - vectors[rows]).max(axis=1) < SAME
    known = {row for row, equal in zip(rows, same.tolist(), strict=True) if equal}
    return [row for row in range(len(names)) if row not in known]


def _searched(bound: _Bound, vectors: Matrix, limit: int) -> list[Hits]:
    """Search the graph, and score the vectors that it does not reach."""
    answer = bound.collection.query(query_embeddings=vectors, n_results=limit, include=["distances"])
    distances, beside = answer["distances"] or [], bound.reach.beside
    return [
        beside.joined(query, _hits(names, row, limit), limit)
        for query, names, row in zip(vectors, answer["ids"], distances, strict=True)
    ]


def _hits(names: list[str], distances: list[float], limit: int) -> Hits:
    """Convert Chroma's cosine distance (1 - cosine), which rounding may put outside [-1, 1]."""
    ids = np.array([int(name) for name in names], np.int64)
    cosines = np.clip(1.0 - np.array(distances, np.float32), -1.0, 1.0).astype(np.float32)
    return ranked(ids, cosines, limit)


EF_SEARCH = 1000  # recall at k=300 on random vectors: 0.93 with ef=300, 0.98 with 1000
NEIGHBOURS = 32
"""Links per vector; with Chroma's default of 16, three times as many similar vectors are missed."""
OPEN_COLLECTIONS = 64  # with more loaded collections (2.6 MB and four files each), the client is reopened
SHARDS = 64  # shards of Chroma's cache of loaded collections; its maximum size applies to each shard
PATIENCE_SECONDS = 60  # seconds to wait for a running call, which may be a vacuum
# bytes to keep free for a journal and for the id table, which Chroma rewrites as a whole
ROOM_BYTES = 8 << 20

_SQLITE_CODE = re.compile(r"\(code: (\d+)\)")
_REFUSALS = {5, 6, 8, 10, 13, 14}
"""SQLite's codes for busy, locked, read-only, I/O error, full and cannot open: none of them means a damaged file."""


class ClientKeeper:
    """Opens the client of one folder (None: in memory), lends it to callers, and drops it when a call fails.

    A failed write can leave a lock in Chroma's connection pool, on which the next write waits for 17 minutes
    while holding the interpreter lock (measured on a full disk). Therefore a failed client is never used
    again; a client is opened or written to only while no other call runs; and waiting for other calls has a
    time limit.

    Attributes:
        remade: the reason why the store was replaced by an empty one; empty if it was not.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.remade = ""
        # Chroma's own copy of SQLite does not see the file locks of Python's copy, so a gate is needed too.
        self._gate = Gate()
        self._lock = threading.Lock()
        self._client: ChromaClient | None = None
        self._doubtful = True  # whether the database must be checked before Chroma opens it
        self._closed = False

    @contextmanager
    def alone(self, bank: str, name: str) -> Iterator[ChromaClient]:
        """Yield the client while no other call runs, for calls that may load or write this collection.

        The client is opened if needed, and reopened if it has loaded too many collections.

        Raises:
            IndexBehind: the disk is full or not writable, or a running call does not end.
            IndexOutOfStep: Chroma failed; the client is dropped.
            EngineClosed: after `close`.
        """
        with self._converting(bank), self._gate.exclusive(timeout=PATIENCE_SECONDS):
            self._check_open()
            if self._client and self.folder and len(self._client.used - {name}) >= OPEN_COLLECTIONS:
                self._drop(self._client)
            if self._client is None:
                self._client = self._started()
            with self._dropping(self._client):
                yield self._client

    @contextmanager
    def beside(self, bank: str) -> Iterator[ChromaClient | None]:
        """Yield the client to concurrent readers, for searches of loaded collections; None if no client is open.

        Raises:
            IndexBehind, IndexOutOfStep, EngineClosed: as for `alone`.
        """
        with self._converting(bank), self._gate.shared(timeout=PATIENCE_SECONDS):
            self._check_open()
            with self._dropping(self._client):
                yield self._client

    def current(self, client: ChromaClient | None) -> bool:
        """Return whether this is the client in use."""
        return client is not None and client is self._client

    def check_room(self, bank: str, size: int) -> None:
        """Reject a write of `size` bytes of vectors if it would not fit, before Chroma fails half-way.

        Raises:
            IndexBehind: the disk is full.
        """
        free, needed = self._room(), ROOM_BYTES + 3 * size
        if free < needed:
            raise IndexBehind("vector", bank, f"the disk has {free:,} bytes left, {needed:,} are needed")

    def watermark_file(self, bank_key: str) -> WatermarkFile | None:
        """Return the file of a bank's watermark; None in memory."""
        return WatermarkFile(self.folder / "watermarks" / f"{bank_key}.json") if self.folder else None

    def vacuum(self) -> None:
        """Overwrite deleted data in Chroma's files; only inside `alone`."""
        if self.folder:
            vacuum(self.folder)

    def recreate(self, bank: str, reason: str) -> None:
        """Replace the store of all banks by an empty one; watermarks stay, to show which collections must be replayed."""
        with self._converting(bank), self._gate.exclusive(timeout=PATIENCE_SECONDS):
            self._check_open()
            self._drop(self._client)
            self._remove(reason)

    def close(self) -> None:
        """Stop Chroma; in-memory content is lost. Can be called more than once."""
        self._closed = True
        with suppress(TimeoutError), self._gate.exclusive(timeout=PATIENCE_SECONDS):
            self._drop(self._client)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed

    def _started(self) -> ChromaClient:
        """Start Chroma on the folder, after removing a damaged database."""
        if self.folder and self._doubtful and (damage := database_damage(self.folder)):
            self._remove(damage)
        self._doubtful = False
        with ExitStack[bool]() as stack:
            stack.push(lambda _kind, error, _trace: self._replaced(error))
            return ChromaClient(self.folder)
        return ChromaClient(self.folder)

    def _replaced(self, error: BaseException | None) -> bool:
        """Remove the store if Chroma could not open it because of damage; return whether it did."""
        if error is None or self.folder is None or not _from_chroma(error) or self._refused(error):
            return False
        self._remove(str(error))
        return True

    def _remove(self, reason: str) -> None:
        if self.folder:
            logger.warning(
                "the Chroma store %s is damaged and will be rebuilt from the ledger: %s", self.folder, reason
            )
            remove_store(self.folder)
        self.remade = f"the Chroma store was damaged ({reason}) and rebuilt"

    @contextmanager
    def _dropping(self, client: ChromaClient | None) -> Iterator[None]:
        """Drop the client if a call fails, before another call can use it."""
        with ExitStack() as stack:
            stack.push(lambda _kind, error, _trace: self._scan(client, error))
            yield

    def _scan(self, client: ChromaClient | None, error: BaseException | None) -> None:
        if isinstance(error, AttributeError) and not self.current(client):
            # Another reader dropped the client in the meantime.
            raise OSError("another call to Chroma failed at the same time") from error
        if error is not None and _from_chroma(error) and not _declined(error):
            self._doubtful = True
            self._drop(client)

    def _drop(self, client: ChromaClient | None) -> None:
        with self._lock:
            if not self.current(client):
                return
            self._client = None
        if client is not None:
            client.stop()
            give_back_memory()

    @contextmanager
    def _converting(self, bank: str) -> Iterator[None]:
        """Convert Chroma's errors to this package's.

        `except Exception` would not catch all of them, because a panic in Chroma's Rust code derives from
        BaseException.
        """
        with ExitStack() as stack:
            stack.push(lambda _kind, error, _trace: self._convert(bank, error))
            yield

    def _convert(self, bank: str, error: BaseException | None) -> None:
        if error is None or isinstance(error, HindsightError) or not _from_chroma(error):
            return
        reason = f"{type(error).__name__}: {error}"[:300]
        kind = IndexBehind if self._refused(error) else IndexOutOfStep
        raise kind("vector", bank, reason) from error

    def _refused(self, error: BaseException) -> bool:
        """Return whether the disk is full, read-only or locked, as opposed to containing damaged data."""
        codes = {int(code) & 0xFF for code in _SQLITE_CODE.findall(str(error))}
        return isinstance(error, OSError) or bool(codes & _REFUSALS) or self._room() < ROOM_BYTES

    def _room(self) -> float:
        """Return the free bytes on the disk; infinity in memory."""
        return shutil.disk_usage(self.folder).free if self.folder and self.folder.exists() else inf


class ChromaClient:
    """A Chroma client that shares no store with other clients of the process.

    `chromadb.PersistentClient` and `EphemeralClient` share stores through a process-wide table: all in-memory
    clients use the same store, and two with different settings fail, so an in-memory engine would break a
    user's own `EphemeralClient()`. This client is not registered in that table.

    Attributes:
        used: names of the collections that the client may have loaded; it never unloads one.
    """

    def __init__(self, folder: Path | None) -> None:
        from chromadb.api.rust import RustBindingsAPI
        from chromadb.config import Settings, System

        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        # model_construct: otherwise Chroma would read the environment, and the .env of the current folder.
        settings = Settings.model_construct(
            anonymized_telemetry=False,
            is_persistent=folder is not None,
            persist_directory="" if folder is None else str(folder),
        )
        self._folder = folder
        self._system = System(settings)
        self._api = self._system.instance(RustBindingsAPI)
        # Chroma must not unload collections, because a collection that it never wrote to disk cannot be loaded again.
        self._api.hnsw_cache_size = OPEN_COLLECTIONS * SHARDS
        self._system.start()
        self.used: set[str] = set()

    def collection(self, name: str) -> Collection:
        """Return the collection of this name, creating it if needed."""
        self.used.add(name)
        from chromadb.api.models.Collection import Collection

        model = self._api.create_collection(  # an existing collection keeps its configuration
            name,
            configuration={"hnsw": {"space": "cosine", "ef_search": EF_SEARCH, "max_neighbors": NEIGHBOURS}},
            get_or_create=True,
        )
        return Collection(client=self._api, model=model, embedding_function=None)

    def files(self, collection: Collection) -> SegmentFiles:
        """Return the files of a collection, which may not exist yet."""
        if self._folder is None:
            return SegmentFiles(())
        return SegmentFiles(vector_segments(self._folder, str(collection.id)))

    def drop(self, name: str, files: SegmentFiles) -> None:
        """Delete a collection and its files; the collection may be missing or broken."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._api.delete_collection(name)
        files.erase()

    def stop(self) -> None:
        """Release files, locks and threads; running calls of other threads finish."""
        self._system.stop()


def _from_chroma(error: BaseException) -> bool:
    """Return whether an error comes from Chroma or the disk, as opposed to our code."""
    from chromadb.errors import ChromaError

    # PyO3 creates its PanicException at run time; it cannot be imported.
    return isinstance(error, ChromaError | OSError) or type(error).__name__ == "PanicException"


def _declined(error: BaseException) -> bool:
    """Return whether Chroma rejected a call without changing anything."""
    from chromadb.errors import InvalidArgumentError, InvalidDimensionException, NotFoundError

    return isinstance(error, InvalidArgumentError | InvalidDimensionException | NotFoundError)


DATABASE = "chroma.sqlite3"
HEADER, ELEMENTS, LENGTHS = "header.bin", "data_level0.bin", "length.bin"

_HEADER = struct.Struct("<iQQQQ")
"""Start of hnswlib's header.bin: format, offset, capacity, elements, bytes per element (chromadb 1.5.9, measured)."""

_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Name of a folder in which Chroma stores the vectors of one collection."""

_HEADER_BYTES = 100
_LENGTH_BYTES = 4  # bytes per element of length.bin
_HEADER_FORMAT = 1


class WatermarkFile:
    """The file with the watermark of one bank's collection.

    It contains the collection's uuid, so that a collection that was deleted and created again has no watermark.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, collection: str | None = None) -> Watermark | None:
        """Return the watermark recorded for this collection, or for any; None if missing or unreadable."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            named = collection is None or kept["collection"] == collection
            return Watermark.parse(kept["watermark"]) if named else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def is_of_another(self, collection: str) -> bool:
        """Return whether the file exists and does not name this collection."""
        try:
            return bool(json.loads(self._path.read_text(encoding="utf-8"))["collection"] != collection)
        except FileNotFoundError:
            return False
        except (ValueError, KeyError, TypeError):
            return True

    def write(self, collection: str, mark: Watermark | None) -> None:
        """Replace the watermark, None for a new collection; a kill or power cut leaves either the old or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"collection": collection, "watermark": str(mark) if mark else None}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        _sync_folder(self._path.parent)

    def drop(self) -> None:
        """Delete the watermark."""
        self._path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable, on POSIX; other systems neither offer nor need this."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def vacuum(folder: Path) -> None:
    """Rewrite Chroma's files to remove deleted data. Chroma may have them open, but must be idle.

    This frees pages of the database, and blanks the segments left by a process that was killed right after a load (see
    `SegmentFiles`).

    Raises:
        OSError: the files cannot be rewritten now.
    """
    try:
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise OSError(f"{DATABASE} cannot be vacuumed: {error}") from error
    for header in folder.glob(f"*/{HEADER}"):
        _blank_unused(header.parent)


def database_damage(folder: Path) -> str | None:
    """Check Chroma's database while Chroma does not have it open; return the damage, or None if sound or missing."""
    path = folder / DATABASE
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            [problem], *_ = database.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        # Other errors come from the disk or the permissions; Chroma will report them.
        damaged = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if damaged else None
    return None if problem == "ok" else str(problem)[:200]


def remove_store(folder: Path) -> None:
    """Delete all of Chroma's files; our watermarks stay, to show that collections are missing."""
    for path in folder.iterdir():
        if path.name.startswith(DATABASE):
            path.unlink(missing_ok=True)  # closing a client may have removed its journal already
        elif (path / HEADER).exists() or _SEGMENT.fullmatch(path.name):
            shutil.rmtree(path)


def vector_segments(folder: Path, collection: str) -> tuple[Path, ...]:
    """Return the folders of a collection's vectors, existing or not; empty if Chroma's database cannot be read."""
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    query = "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return tuple(folder / segment for (segment,) in database.execute(query, (collection,)))
    except sqlite3.Error:
        return ()


class SegmentFiles:
    """The files in which Chroma stores a collection's vectors outside its database; none for in-memory collections.

    hnswlib writes uninitialised buffers to disk, with old memory contents that may include another bank's text.
    This happens whenever a collection that still fits into Chroma's queue is loaded: at its first write, at the
    first search after an open, and after Chroma has unloaded it (chromadb 1.5.9, measured).
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._seen: list[tuple[int, int] | None] = []

    def rewritten(self) -> bool:
        """Return whether Chroma wrote the files since they were last blanked; takes at most two system calls."""
        return self._state() != self._seen

    def blank(self) -> None:
        """Zero the unused space of the files; later elements overwrite it. Only while no call runs."""
        for folder in self._folders:
            _blank_unused(folder)
        self._seen = self._state()

    def damage(self) -> str | None:
        """Describe any damage to the files, or return None; only before the first call uses them."""
        return next(filter(None, map(_damage, self._folders)), None)

    def erase(self) -> None:
        """Delete the files; Chroma's `delete_collection` leaves them in place (chromadb 1.5.9, measured)."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _state(self) -> list[tuple[int, int] | None]:
        return [_written(folder / LENGTHS) for folder in self._folders]


def _written(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _blank_unused(segment: Path) -> None:
    header = segment / HEADER
    start = header.read_bytes() if header.exists() else b""
    if len(start) != _HEADER_BYTES:
        return
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT:
        _blank_from(segment / ELEMENTS, elements * width)
        _blank_from(segment / LENGTHS, elements * _LENGTH_BYTES)


def _blank_from(path: Path, used: int) -> None:
    """Overwrite a file with zeros from an offset on, unless it contains only zeros there."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.seek(used)
        rest = file.read()
        if rest.strip(b"\0"):
            file.seek(used)
            file.write(bytes(len(rest)))


def _damage(segment: Path) -> str | None:
    """Describe any damage to a segment's files, or return None.

    Chroma itself reports a broken metadata pickle, but a truncated data file crashes the process with a
    segmentation fault at the first search, and a missing pickle silently hides the vectors (chromadb 1.5.9,
    measured for both).
    """
    header, data = segment / HEADER, segment / ELEMENTS
    if not (header.exists() and data.exists()):
        return None  # never written to disk, or files are missing, which Chroma itself reports
    start = header.read_bytes()
    if len(start) != _HEADER_BYTES:
        return f"{HEADER} has {len(start)} bytes instead of {_HEADER_BYTES}"
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT and data.stat().st_size < elements * width:
        return f"{ELEMENTS} has {data.stat().st_size} bytes instead of {elements * width}"
    links = segment / "link_lists.bin"
    if links.exists() and links.stat().st_size and not (segment / "index_metadata.pickle").exists():
        return "index_metadata.pickle is missing"
    return None


# number of vectors scanned per vector written: a scan takes 3.3 us per vector, a write 300 to 430 us
SCAN_SHARE = 128
STARTS = 3  # maximum number of further start points if a scan misses vectors
_PAGE = 1000  # ids per call to Chroma


# Scores separately the vectors that no search of the HNSW graph reaches, as happens to near duplicates.
@dataclass(frozen=True, slots=True)
class Beside:
    """Vectors that are scored exactly in addition to the graph.

    Attributes:
        ids: ids of the vectors, ascending.
        vectors: the vectors, (n, dimension), unit norm.
    """

    ids: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    vectors: Matrix = field(default_factory=lambda: np.empty((0, 0), np.float32))

    def joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """Join the graph's hits with these vectors in one ranked list, without duplicates."""
        if not len(self.ids):
            return hits
        outside = ~np.isin(hits.ids, self.ids)
        cosines = np.clip(self.vectors @ query, -1.0, 1.0).astype(np.float32)
        return ranked(
            np.concatenate([hits.ids[outside], self.ids]),
            np.concatenate([hits.scores[outside], cosines]),
            limit,
        )

    def without(self, ids: IntArray) -> Beside:
        """Return the vectors without these ids."""
        keep = ~np.isin(self.ids, ids)
        return Beside(self.ids[keep], self.vectors[keep])


class SearchReach:
    """Tracks the vectors of one loaded graph that searches do not reach; after each load, these are other ones.

    A vector is unreachable if no other vector links to it, because all its neighbours have nearer neighbours:
    200 of 1,000 versions of one sentence, but none of 1,000 sentences of a conversation. Methods that change
    the object run only while no other call does; reads are concurrent.

    Attributes:
        beside: the vectors that searches do not reach.
        held: number of vectors in the graph at the last scan; None before the first.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._fresh: list[str] = []
        self.beside = Beside()
        self.held: int | None = None

    def wrote(self, names: list[str]) -> None:
        """Record that vectors were written: searches may not reach them, and separately scored older values are outdated."""
        self._fresh += names
        self.removed(names)

    def removed(self, names: list[str]) -> None:
        """Stop scoring these vectors separately: they were removed or overwritten."""
        if len(self.beside.ids):
            self.beside = self.beside.without(np.array(names, np.int64))

    @property
    def due(self) -> bool:
        """Whether enough vectors were written since the last scan.

        A new graph is not scanned before its first search, because the process may end without one.
        """
        return bool(self._fresh) and self.held is not None and len(self._fresh) * SCAN_SHARE >= self.held

    def settle(self) -> None:
        """After writes, score new vectors separately until a scan is due."""
        if self.held is not None and self._fresh:
            known = [str(name) for name in self.beside.ids.tolist()]
            self.beside = _stored(self._collection, {*known, *self._fresh})

    def scan(self, *starts: Vector) -> None:
        """Scan the whole graph from these vectors and some of its own.

        Vectors that one of these searches does not reach are scored separately.
        """
        self.held = self._collection.count()
        self.beside, self._fresh = _unreached(self._collection, self.held, starts), []


def _unreached(collection: Collection, held: int, starts: tuple[Vector, ...]) -> Beside:
    """Return the vectors that a search for all `held` vectors does not reach.

    The result depends on the search's entry point. The graph is connected except for clusters of one text
    stored hundreds of times, so missed vectors are used as further start points.
    """
    if not held:
        return Beside()
    first: Matrix = collection.get(limit=1, include=["embeddings"])["embeddings"]  # type: ignore[assignment]
    reached = _reached(collection, np.stack([*first, *starts]), held)
    if len(reached) == held:
        return Beside()
    names = set(collection.get(include=[])["ids"])
    missed = _stored(collection, names - reached)
    if not len(missed.ids):
        return missed
    picked = np.linspace(0, len(missed.ids) - 1, STARTS).astype(np.int64)
    return _stored(collection, names - (reached & _reached(collection, missed.vectors[picked], held)))


def _reached(collection: Collection, starts: Matrix, held: int) -> set[str]:
    """Return the ids that a search from any start point reaches."""
    reached = collection.query(query_embeddings=starts, n_results=held, include=[])["ids"]
    return set.intersection(*map(set, reached))


def _stored(collection: Collection, names: set[str]) -> Beside:
    """Return the stored vectors with these ids."""
    ids = np.sort(np.array([int(name) for name in names], np.int64))
    pages = []
    for start in range(0, len(ids), _PAGE):
        page = collection.get(ids=[str(name) for name in ids[start : start + _PAGE]], include=["embeddings"])
        pages.append(
            Beside(
                np.array([int(name) for name in page["ids"]], np.int64),
                np.asarray(page["embeddings"], np.float32),
            )
        )
    if not pages:
        return Beside()
    stored = np.concatenate([page.ids for page in pages])
    order = np.argsort(stored)
    return Beside(stored[order], np.concatenate([page.vectors for page in pages])[order])


def give_back_memory() -> None:
    """Return freed memory to the operating system if the C library is glibc.

    glibc keeps freed memory below a block that is still in use: 330 MB after closing Chroma 20 times.
    """
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None


def chroma_marks(data: Path) -> list[IndexMark]:
    """Return the watermark of every bank's collection in a data directory."""
    files = sorted((data / "chroma" / "watermarks").glob("*.json"))
    return [IndexMark("vector", file.stem, _mark(file)) for file in files]


def _mark(file: Path) -> Watermark | None:
    try:
        return Watermark.parse(json.loads(file.read_text(encoding="utf-8"))["watermark"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
