"""The Chroma client of one folder: one at a time, dropped at its first failure, opened anew at the next use.

The only module that imports chromadb.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from hindsight_integrations.backends.gate import Gate
from hindsight_integrations.backends.memory import give_back_memory
from hindsight_integrations.backends.vector.chroma_files import (
    SegmentFiles,
    WatermarkFile,
    database_damage,
    remove_store,
    vacuum,
    vector_segments,
)
from hindsight_integrations.errors import EngineClosed, HindsightError, IndexBehind, IndexOutOfStep

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

logger = logging.getLogger("hindsight_integrations")

EF_SEARCH = 1000  # k=300 at ef=300 had recall 0.93; at 1000 it has 0.98 on random vectors [decision 084]
NEIGHBOURS = (
    32  # of a vector in its graph: Chroma's 16 lose three times as many of those alike [decision 128]
)
OPEN_COLLECTIONS = 64  # at 2.6 MB and four files each, then the client is opened anew [decision 093]
SHARDS = 64  # of Chroma's cache of loaded collections, each with its part of the size [decision 093]
PATIENCE_SECONDS = 60  # for a call that does not end; a vacuum may take that long [decision 093]
ROOM_BYTES = 8 << 20  # a journal, and the id table that Chroma rewrites whole [decision 093]

_SQLITE_CODE = re.compile(r"\(code: (\d+)\)")
_REFUSALS = {5, 6, 8, 10, 13, 14}
"""SQLite's busy, locked, read-only, I/O error, full and cannot open: the disk or its owner refuses, no file is damaged."""


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
        # Chroma itself must never unload: a collection that it never wrote out cannot be loaded again (decision 093).
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
        # file locks, which are the process's (decision 084): work on Chroma's files happens alone too.
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
