"""Chroma as the vector index: one client per engine, one collection per bank.

A kill or a full disk can leave a collection unreadable for good, so every failure here is healed by `clear` and a replay
(section 3).
"""

from __future__ import annotations

import ctypes
import logging
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.concurrency.gate import Gate
from hindsight_integrations.errors import EngineClosed, HindsightError, IndexBehind, IndexOutOfStep
from hindsight_integrations.model.arrays import Hits, IntArray, Matrix, Vector, no_hits, ranked
from hindsight_integrations.model.watermark import Watermark

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection
import json
import os
import sqlite3
import struct
from contextlib import closing

from hindsight_integrations.model.watermark import IndexMark


def chroma_marks(data: Path) -> list[IndexMark]:
    """The watermark of every bank's collection in a data directory."""
    files = sorted((data / "chroma" / "watermarks").glob("*.json"))
    return [IndexMark("vector", file.stem, _mark(file)) for file in files]


def _mark(file: Path) -> Watermark | None:
    try:
        return Watermark.parse(json.loads(file.read_text(encoding="utf-8"))["watermark"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


DATABASE = "chroma.sqlite3"
HEADER, ELEMENTS, LENGTHS = "header.bin", "data_level0.bin", "length.bin"

_HEADER = struct.Struct("<iQQQQ")
"""Start of hnswlib's header.bin: format, offset, capacity, elements, bytes per element (chromadb 1.5.9, measured)."""

_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Name of a folder in which Chroma keeps the vectors of one collection."""

_HEADER_BYTES = 100
_LENGTH_BYTES = 4  # of one element in length.bin
_HEADER_FORMAT = 1


class WatermarkFile:
    """The commit one bank's collection has reached, bound to that collection.

    A collection deleted and made anew has another uuid, so a watermark that outlived its vectors reads None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, collection: str) -> Watermark | None:
        """The commit recorded for this collection; None if none was, or for another collection, or unreadably."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return Watermark.parse(kept["watermark"]) if kept["collection"] == collection else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def exists(self) -> bool:
        """Whether any record was written, for this collection or another."""
        return self._path.is_file()

    def write(self, collection: str, mark: Watermark) -> None:
        """Replace the record; a kill or power cut leaves either the old one or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"collection": collection, "watermark": str(mark)}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        _sync_folder(self._path.parent)

    def drop(self) -> None:
        """Forget the record."""
        self._path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename in it last; only POSIX can open a folder, and only there it is needed."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def vacuum(folder: Path) -> None:
    """Rewrite Chroma's files, so that they keep nothing of what was deleted; Chroma may have them open, but rest.

    Free pages of the database go, and what a process killed right after a load left in a segment (see `SegmentFiles`).

    Raises:
        OSError: it cannot be rewritten now.
    """
    try:
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise OSError(f"{DATABASE} cannot be vacuumed: {error}") from error
    for header in folder.glob(f"*/{HEADER}"):
        _blank_unused(header.parent)


def database_damage(folder: Path) -> str | None:
    """What is wrong with Chroma's own database while Chroma does not have it open, or None; none at all is fine."""
    path = folder / DATABASE
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            [problem], *_ = database.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        # Anything else than these two is the disk's or its owner's refusal, which Chroma will meet and report.
        damaged = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if damaged else None
    return None if problem == "ok" else str(problem)[:200]


def remove_store(folder: Path) -> None:
    """Delete everything of Chroma's; our watermarks stay, and tell that collections are missing."""
    for path in folder.iterdir():
        if path.name.startswith(DATABASE):
            path.unlink(missing_ok=True)  # a journal goes by itself when the client that wrote it is closed
        elif (path / HEADER).exists() or _SEGMENT.fullmatch(path.name):
            shutil.rmtree(path)


def vector_segments(folder: Path, collection: str) -> tuple[Path, ...]:
    """Where the vectors of this collection lie or will lie; nothing if Chroma's own database cannot say."""
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    query = "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return tuple(folder / segment for (segment,) in database.execute(query, (collection,)))
    except sqlite3.Error:
        return ()


class SegmentFiles:
    """What Chroma keeps of one collection's vectors outside its database. Nothing in memory.

    hnswlib writes whole buffers it never cleared: whatever the process had in that memory before, another bank's text
    included, is then on disk. It does so whenever a collection that never outgrew Chroma's queue is loaded: at its first
    write, at the first search after an open, and again once Chroma has unloaded it (chromadb 1.5.9, measured).
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._seen: list[tuple[int, int] | None] = []

    def rewritten(self) -> bool:
        """Whether Chroma wrote the files since they were last blanked; two system calls at most."""
        return self._state() != self._seen

    def blank(self) -> None:
        """Overwrite what no element uses yet; elements that come later overwrite it. Only while no call runs."""
        for folder in self._folders:
            _blank_unused(folder)
        self._seen = self._state()

    def damage(self) -> str | None:
        """What is wrong with the files while no call has used them yet, or None."""
        return next(filter(None, map(_damage, self._folders)), None)

    def erase(self) -> None:
        """Delete them: `delete_collection` leaves them, vectors and all (chromadb 1.5.9, measured)."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _state(self) -> list[tuple[int, int] | None]:
        return [_written(folder / LENGTHS) for folder in self._folders]


def _written(path: Path) -> tuple[int, int] | None:
    """Which file this is and when it was written last; None if it is not there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


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
    """Zeros from there to the end of the file; what is zero already is not written again."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.seek(used)
        rest = file.read()
        if rest.strip(b"\0"):
            file.seek(used)
            file.write(bytes(len(rest)))


def _damage(segment: Path) -> str | None:
    """What is wrong with the files of a segment, or None.

    Chroma reports a broken metadata pickle by itself, but a short data file kills the process with a segmentation
    fault at the first search, and a missing pickle silently hides the vectors (chromadb 1.5.9, measured for both).
    """
    header, data = segment / HEADER, segment / ELEMENTS
    if not (header.exists() and data.exists()):
        return None  # never written to disk, or so incomplete that Chroma itself says so
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


LOOK_SHARE = 128  # a look costs 3.3 us a vector, a write 300 to 430
STARTS = 3  # more places to look from where one of them misses something
_PAGE = 1000  # ids a call


# What a search in a collection's HNSW graph does not come to, and is scored beside it. A
# vector whose neighbours all have nearer ones keeps no link that leads to it: it is stored, counted and read
# by its id, and no search finds it. Of 1,000 versions of one sentence it happens to 200, of 1,000 sentences
# of a conversation to none.
@dataclass(frozen=True, slots=True)
class Beside:
    """Vectors that are scored exactly beside the graph.

    Attributes:
        ids: theirs, ascending.
        vectors: of the ids, (n, dimension), unit norm.
    """

    ids: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    vectors: Matrix = field(default_factory=lambda: np.empty((0, 0), np.float32))

    def joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """What the graph found and these, ranked as one list; none of them twice."""
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
        """All but these."""
        keep = ~np.isin(self.ids, ids)
        return Beside(self.ids[keep], self.vectors[keep])


class SearchReach:
    """How far searches get in one loaded graph. A graph that Chroma builds anew when it loads it has other gaps.

    Written while no other call runs, read beside others.

    Attributes:
        beside: what they would miss.
        held: vectors in the graph at the last look; None before the first.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._fresh: list[str] = []
        self.beside = Beside()
        self.held: int | None = None

    def wrote(self, names: list[str]) -> None:
        """These were stored: whether searches come to them is not known, and what they knew of them is old."""
        self._fresh += names
        self.removed(names)

    def removed(self, names: list[str]) -> None:
        """These are not to be found any more."""
        if len(self.beside.ids):
            self.beside = self.beside.without(np.array(names, np.int64))

    @property
    def due(self) -> bool:
        """Whether so much was written that the graph is to be looked through again.

        One that was not looked through yet is left to its first search: the process may close before that.
        """
        return bool(self._fresh) and self.held is not None and len(self._fresh) * LOOK_SHARE >= self.held

    def settle(self) -> None:
        """After writes: what is new is scored beside the graph, until a look is due."""
        if self.held is not None and self._fresh:
            known = [str(name) for name in self.beside.ids.tolist()]
            self.beside = _stored(self._collection, {*known, *self._fresh})

    def look(self, *starts: Vector) -> None:
        """Look through the whole graph from these vectors and from some of its own; what one of them misses is beside it."""
        self.held = self._collection.count()
        self.beside, self._fresh = _unreached(self._collection, self.held, starts), []


def _unreached(collection: Collection, held: int, starts: tuple[Vector, ...]) -> Beside:
    """What a search does not come to that asks for everything there is.

    Where it gets to depends on where it enters the graph, which hangs together from everywhere but for islands, of the
    same text stored hundreds of times: so what was missed is asked for its own way in.
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
    """What searches from all of these come to."""
    found = collection.query(query_embeddings=starts, n_results=held, include=[])["ids"]
    return set.intersection(*map(set, found))


def _stored(collection: Collection, names: set[str]) -> Beside:
    """These vectors as they are stored."""
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
    found = np.concatenate([page.ids for page in pages])
    order = np.argsort(found)
    return Beside(found[order], np.concatenate([page.vectors for page in pages])[order])


def give_back_memory() -> None:
    """Hand freed memory back to the system, where the C library is glibc; elsewhere nothing.

    glibc keeps what lies below a block still in use: after Chroma was closed 20 times, 330 MB.
    """
    if trim := _malloc_trim():
        trim(0)


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    with suppress(OSError, AttributeError, TypeError):
        return ctypes.CDLL(None).malloc_trim
    return None


logger = logging.getLogger("hindsight_integrations")

EF_SEARCH = 1000  # k=300 at ef=300 had recall 0.93; at 1000 it has 0.98 on random vectors
NEIGHBOURS = 32  # of a vector in its graph: Chroma's 16 lose three times as many of those alike
OPEN_COLLECTIONS = 64  # at 2.6 MB and four files each, then the client is opened anew
SHARDS = 64  # of Chroma's cache of loaded collections, each with its part of the size
PATIENCE_SECONDS = 60  # for a call that does not end; a vacuum may take that long
ROOM_BYTES = 8 << 20  # a journal, and the id table that Chroma rewrites whole

_SQLITE_CODE = re.compile(r"\(code: (\d+)\)")
_REFUSALS = {5, 6, 8, 10, 13, 14}
"""SQLite's busy, locked, read-only, I/O error, full and cannot open: the disk or its owner refuses, no file is damaged."""


# The Chroma client of one folder: one at a time, dropped at its first failure, opened anew at the next use.
# The only module that imports chromadb.
class ChromaClient:
    """A Chroma system of our own.

    `chromadb.PersistentClient` and `EphemeralClient` share systems through a table of the whole process: every
    in-memory client is the same store, and two with different settings refuse each other, so that an engine in
    memory would break a user's own `EphemeralClient()`. A system made here is in nobody's table.

    Attributes:
        used: names of the collections it may have loaded; it unloads none.
    """

    def __init__(self, folder: Path | None) -> None:
        from chromadb.api.rust import RustBindingsAPI
        from chromadb.config import Settings, System

        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        # model_construct: Chroma would otherwise read the environment, and the .env of the current folder.
        settings = Settings.model_construct(
            anonymized_telemetry=False,
            is_persistent=folder is not None,
            persist_directory="" if folder is None else str(folder),
        )
        self._folder = folder
        self._system = System(settings)
        self._api = self._system.instance(RustBindingsAPI)
        # Chroma itself must never unload: a collection that it never wrote out cannot be loaded again.
        self._api.hnsw_cache_size = OPEN_COLLECTIONS * SHARDS
        self._system.start()
        self.used: set[str] = set()

    def collection(self, name: str) -> Collection:
        """The collection of this name, made if need be."""
        self.used.add(name)
        from chromadb.api.models.Collection import Collection

        made = self._api.create_collection(  # one that is there keeps the configuration it was made with
            name,
            configuration={"hnsw": {"space": "cosine", "ef_search": EF_SEARCH, "max_neighbors": NEIGHBOURS}},
            get_or_create=True,
        )
        return Collection(client=self._api, model=made, embedding_function=None)

    def files(self, collection: Collection) -> SegmentFiles:
        """The files of a collection, there or not yet."""
        if self._folder is None:
            return SegmentFiles(())
        return SegmentFiles(vector_segments(self._folder, str(collection.id)))

    def drop(self, name: str, files: SegmentFiles) -> None:
        """Delete a collection, gone or broken as it may be, and the files it leaves."""
        from chromadb.errors import NotFoundError

        with suppress(NotFoundError):
            self._api.delete_collection(name)
        files.erase()

    def stop(self) -> None:
        """Let go of files, locks and threads; calls of other threads under way finish."""
        self._system.stop()


class ClientKeeper:
    """Opens the client of one folder (None: of memory), lends it, and drops it when a call to it fails.

    A failed write can leave a lock behind in Chroma's pool of connections, in which the next write waits for 17 minutes
    while it holds the interpreter (measured on a full disk). So nothing calls a client that has failed, a client is opened
    or written to only while no other call runs, and nobody waits for the gate without end.

    Attributes:
        remade: why the store was replaced by an empty one; empty if it was not.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.remade = ""
        # Beside each other's calls, Chroma brings a SQLite of its own beside Python's, and neither sees the other's
        # file locks, which are the process's: work on Chroma's files happens alone too.
        self._gate = Gate()
        self._lock = threading.Lock()
        self._client: ChromaClient | None = None
        self._doubtful = True  # whether the database is to be looked at before Chroma opens it
        self._closed = False

    @contextmanager
    def alone(self, bank: str, name: str) -> Iterator[ChromaClient]:
        """The client while no other call runs, for whatever may load or write the collection of this name.

        It is opened if need be, and opened anew where it has loaded enough collections.

        Raises:
            IndexBehind: the disk refuses, or a call before this one does not end.
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
        """The client beside other readers, for searches of collections that are loaded; None if none is open.

        Raises:
            IndexBehind, IndexOutOfStep, EngineClosed: as for `alone`.
        """
        with self._converting(bank), self._gate.shared(timeout=PATIENCE_SECONDS):
            self._check_open()
            with self._dropping(self._client):
                yield self._client

    def current(self, client: ChromaClient | None) -> bool:
        """Whether this is the client in use."""
        return client is not None and client is self._client

    def check_room(self, bank: str, size: int) -> None:
        """Refuse a write of so many bytes of vectors that would not fit, before Chroma fails half-way.

        Raises:
            IndexBehind: the disk is full.
        """
        free, needed = self._room(), ROOM_BYTES + 3 * size
        if free < needed:
            raise IndexBehind("vector", bank, f"the disk has {free:,} bytes left, {needed:,} are needed")

    def watermark_file(self, bank_key: str) -> WatermarkFile | None:
        """Where a bank's watermark is kept; None in memory."""
        return WatermarkFile(self.folder / "watermarks" / f"{bank_key}.json") if self.folder else None

    def vacuum(self) -> None:
        """Overwrite what was deleted from Chroma's own database; only inside `alone`."""
        if self.folder:
            vacuum(self.folder)

    def make_anew(self, bank: str, reason: str) -> None:
        """Replace the store of all banks by an empty one, since the ledger has it all. Watermarks stay, as evidence."""
        with self._converting(bank), self._gate.exclusive(timeout=PATIENCE_SECONDS):
            self._check_open()
            self._drop(self._client)
            self._remove(reason)

    def close(self) -> None:
        """Stop Chroma; what was in memory is gone. Idempotent."""
        self._closed = True
        with suppress(TimeoutError), self._gate.exclusive(timeout=PATIENCE_SECONDS):
            self._drop(self._client)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed

    def _started(self) -> ChromaClient:
        """Chroma over the folder; a damaged database is set aside first."""
        if self.folder and self._doubtful and (damage := database_damage(self.folder)):
            self._remove(damage)
        self._doubtful = False
        with ExitStack[bool]() as stack:
            stack.push(lambda _kind, error, _trace: self._replaced(error))
            return ChromaClient(self.folder)
        return ChromaClient(self.folder)

    def _replaced(self, error: BaseException | None) -> bool:
        """Whether the store that Chroma could not open was damaged and is gone now."""
        if error is None or self.folder is None or not _from_chroma(error) or self._refused(error):
            return False
        self._remove(str(error))
        return True

    def _remove(self, reason: str) -> None:
        if self.folder:
            logger.warning(
                "the Chroma store %s is damaged and is made anew from the ledger: %s", self.folder, reason
            )
            remove_store(self.folder)
        self.remade = f"the Chroma store was damaged ({reason}) and made anew"

    @contextmanager
    def _dropping(self, client: ChromaClient | None) -> Iterator[None]:
        """Drop the client if a call to it fails, before anybody else can call it."""
        with ExitStack() as stack:
            stack.push(lambda _kind, error, _trace: self._look(client, error))
            yield

    def _look(self, client: ChromaClient | None, error: BaseException | None) -> None:
        if isinstance(error, AttributeError) and not self.current(client):
            # Dropped by another reader meanwhile.
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
        """Chroma's errors as this package's, in one place.

        No except clause could name them all, because a panic in Chroma's Rust code derives from BaseException.
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
        """Whether the disk refuses (full, read-only, held by others) rather than holds something damaged."""
        codes = {int(code) & 0xFF for code in _SQLITE_CODE.findall(str(error))}
        return isinstance(error, OSError) or bool(codes & _REFUSALS) or self._room() < ROOM_BYTES

    def _room(self) -> float:
        """Free bytes on the disk; without end in memory."""
        return shutil.disk_usage(self.folder).free if self.folder and self.folder.exists() else inf


def _from_chroma(error: BaseException) -> bool:
    """Whether this is Chroma failing (its errors, its panics, the disk beneath it) rather than a mistake of ours."""
    from chromadb.errors import ChromaError

    # PyO3 makes its PanicException at run time, in no module that could be imported.
    return isinstance(error, ChromaError | OSError) or type(error).__name__ == "PanicException"


def _declined(error: BaseException) -> bool:
    """Whether Chroma turned a call down before it did anything."""
    from chromadb.errors import InvalidArgumentError, InvalidDimensionException, NotFoundError

    return isinstance(error, InvalidArgumentError | InvalidDimensionException | NotFoundError)


BATCH = 64  # vectors a call; Chroma holds the interpreter for all of it, 12 s for 4,096

SAME = 1e-5  # of one component; Chroma normalises what it stores once more


class ChromaVectors:
    """The Chroma store of one engine: `<data>/chroma`, or memory that no other engine or Chroma client shares.

    Chroma is imported and started at the first `open`. Safe from many threads. At most one object per folder at a
    time, read-only engines included: two would lose or hide vectors silently. The ledger's lock sees to that.
    """

    def __init__(self, data: Path | None) -> None:
        """`data` is the engine's data directory; None keeps everything in memory."""
        self._keeper = ClientKeeper(None if data is None else data / "chroma")
        self._lock = threading.Lock()
        self._indexes: weakref.WeakValueDictionary[str, ChromaVectorIndex] = weakref.WeakValueDictionary()
        self._closed = False

    def open(self, bank_key: str, *, bank: str | None = None) -> ChromaVectorIndex:
        """The index of one bank, the same object for as long as somebody has it; `bank` is the name that errors use.

        A broken collection opens too, and so does one whose disk is full: calls then raise until that is mended.

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
        """Stop Chroma and let go of its files and threads; what was in memory is gone. Idempotent."""
        with self._lock:
            self._closed = True
            self._indexes.clear()
            self._keeper.close()


class ChromaVectorIndex:
    """A VectorIndex over one collection. Ids are row ids as text; nothing else is stored with a vector.

    Every call but `watermark` raises IndexOutOfStep where the collection is broken or gone or its vectors have another
    dimension, IndexBehind where the disk refuses, and EngineClosed after `ChromaVectors.close`.
    """

    def __init__(self, keeper: ClientKeeper, bank_key: str, bank: str) -> None:
        self._keeper = keeper
        self._name = f"bank-{bank_key}"
        self._bank = bank
        self._mark = keeper.watermark_file(bank_key)
        self._bound: _Bound | None = None
        self._known = ""  # id of the collection that the watermark is of
        self._watermark: Watermark | None = None
        self._damage: str | None = None
        self._unclean = False
        self.discarded = False

    @property
    def watermark(self) -> Watermark | None:
        """The commit this collection has reached; None when new, out of reach, or made anew behind its back."""
        if not (self._bound and self._keeper.current(self._bound.client)):
            with suppress(IndexOutOfStep, EngineClosed), self._keeper.alone(self._bank, self._name) as client:
                self._bind(client)
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """On disk, yes: Chroma leaves deleted vectors in its files (1.5.9, measured)."""
        return self._mark is not None

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors under ids; an id already there is replaced, the last of a double one stays."""
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
        """Forget ids; unknown ids are ignored."""
        names = [str(name) for name in np.unique(ids).tolist()]
        for start in range(0, len(names), BATCH):
            with self._writing() as bound:
                bound.collection.delete(ids=names[start : start + BATCH])
                bound.reach.removed(names[start : start + BATCH])

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied.

        After a `clear` the database is vacuumed first: a dropped collection's vectors stay in its free pages.
        """
        with self._alone() as bound:
            if bound.reach.due:
                self._look(bound)
            bound.reach.settle()
            if self._unclean:
                self._keeper.vacuum()
                self._unclean = False
            if self._mark:
                self._mark.write(self._known, mark)
        self._watermark = mark

    def count(self) -> int:
        """How many vectors it holds."""
        with self._alone() as bound:
            return bound.collection.count()

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]; one call to Chroma."""
        if limit <= 0 or len(vectors) == 0:
            return [no_hits() for _ in range(len(vectors))]
        with self._reading() as bound:
            found = _searched(bound, vectors, limit)
        missing = [row for row, hits in enumerate(found) if len(hits) < min(limit, bound.reach.held or 0)]
        if missing:
            with self._alone() as bound:
                self._look(bound, *vectors[missing])
                found = _searched(bound, vectors, limit)
        return found

    def clear(self) -> None:
        """Drop the collection, its files and its watermark, and start an empty one. Works on a broken one too.

        Where not even that works, Chroma's database is damaged and made anew, for all banks.
        """
        try:
            self._empty()
        except IndexBehind:
            raise
        except IndexOutOfStep as error:
            self._keeper.make_anew(self._bank, error.reason)
            self._empty()

    def discard(self) -> None:
        """Drop the collection for good, with its files, its watermark and its traces in Chroma's database."""
        with self._keeper.alone(self._bank, self._name) as client:
            self.discarded = True
            self._drop(client)
            self._keeper.vacuum()
            if self._mark:
                self._mark.drop()

    def close(self) -> None:
        """Let go of the collection; a later call binds it again."""
        self._bound = None

    def _empty(self) -> None:
        with self._keeper.alone(self._bank, self._name) as client:
            # The mark stays: bound to the old collection it reads None, and tells that a vacuum is due.
            self._watermark, self._damage = None, "emptying it did not end"
            self._drop(client)
            self._bind(client)
            self._damage = None

    def _drop(self, client: ChromaClient) -> None:
        if self._bound:
            self._bound.files.erase()
        client.drop(self._name, client.files(client.collection(self._name)))
        self._bound = None

    def _bind(self, client: ChromaClient) -> None:
        """Find the collection in this client; a lost one is made, empty, and its loss remembered until `clear`."""
        if self._bound and self._bound.client is client:
            return
        collection = client.collection(self._name)
        known, found = self._known, str(collection.id)
        bound = _Bound(client, collection, client.files(collection), SearchReach(collection))
        if known != found:
            self._watermark = self._mark.read(found) if self._mark else None
            # A mark of another collection: killed after that one was dropped and before its pages were overwritten.
            self._unclean = self._mark is not None and not self._watermark and self._mark.exists()
        lost = self._keeper.remade if self._unclean else ""
        if known not in ("", found):
            lost = lost or "its collection was lost"
        self._damage = self._damage or lost or bound.files.damage()
        self._bound, self._known = bound, found

    @contextmanager
    def _alone(self) -> Iterator[_Bound]:
        """The collection while no other call runs. Its files are cleared of heap memory after whatever loaded it."""
        with self._keeper.alone(self._bank, self._name) as client:
            self._bind(client)
            bound = self._bound
            if bound is None or self._damage:
                raise IndexOutOfStep("vector", self._bank, self._damage or "it was closed meanwhile")
            try:
                yield bound
                bound.loaded = True
            finally:
                if bound.files.rewritten():
                    bound.files.blank()

    @contextmanager
    def _writing(self) -> Iterator[_Bound]:
        """As `_alone`; a write that failed may have done half of it, so that the collection must be cleared."""
        with self._alone() as bound:
            self._damage = "a write to it failed"  # until this one has not
            yield bound
            self._damage = None

    def _look(self, bound: _Bound, *starts: Vector) -> None:
        """Look through the graph; a vector that is counted and not in it fails this, and the collection must be cleared."""
        self._damage = "it lacks a vector that it counts"  # until it was looked through
        bound.reach.look(*starts)
        self._damage = None

    @contextmanager
    def _reading(self) -> Iterator[_Bound]:
        """The collection beside other readers; alone where this client has not loaded it, as that writes files.

        Then it is looked through first: Chroma builds the graph of a small collection anew.
        """
        bound = self._bound
        with self._keeper.beside(self._bank) as client:
            ready = bound is not None and bound.ready and bound.client is client and not self._damage
            if ready and bound is not None:
                yield bound
        if not ready:
            with self._alone() as alone:
                self._look(alone)
                yield alone


@dataclass(slots=True)
class _Bound:
    """A collection as one client knows it.

    Attributes:
        reach: how far searches in it get.
        loaded: whether a call to it has succeeded, so that a search has nothing left to write.
    """

    client: ChromaClient
    collection: Collection
    files: SegmentFiles
    reach: SearchReach
    loaded: bool = False

    @property
    def ready(self) -> bool:
        """Whether a search finds everything and writes nothing."""
        return self.loaded and self.reach.held is not None


def _new_rows(collection: Collection, names: list[str], vectors: Matrix) -> list[int]:
    """Rows that the collection does not hold as they are.

    A replay brings what is there already, and HNSW loses its way to vectors replaced by the same ones: 8 of 101 were not
    found any more (chromadb 1.5.9, measured).
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
    """What Chroma finds, and what no search of its graph would."""
    found = bound.collection.query(query_embeddings=vectors, n_results=limit, include=["distances"])
    distances, beside = found["distances"] or [], bound.reach.beside
    return [
        beside.joined(query, _hits(names, row, limit), limit)
        for query, names, row in zip(vectors, found["ids"], distances, strict=True)
    ]


def _hits(names: list[str], distances: list[float], limit: int) -> Hits:
    """Chroma's cosine distance is 1 - cosine; it rounds to just outside [-1, 1]."""
    ids = np.array([int(name) for name in names], np.int64)
    cosines = np.clip(1.0 - np.array(distances, np.float32), -1.0, 1.0).astype(np.float32)
    return ranked(ids, cosines, limit)
