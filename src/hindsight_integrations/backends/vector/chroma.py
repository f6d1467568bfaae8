"""Chroma as the vector index: one client per engine, one collection per bank. The only module that imports chromadb.

A kill can leave a collection unreadable for good, so every failure here is healed by `clear` and a replay (section 3).
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.backends.gate import Gate
from hindsight_integrations.backends.vector.chroma_files import (
    SegmentFiles,
    WatermarkFile,
    vacuum,
    vector_segments,
)
from hindsight_integrations.errors import EngineClosed, HindsightError, IndexOutOfStep
from hindsight_integrations.ports.arrays import Hits, IntArray, Matrix, no_hits, ranked
from hindsight_integrations.ports.watermark import Watermark

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

logger = logging.getLogger("hindsight_integrations")

EF_SEARCH = 1000  # k=300 at ef=300 had recall 0.93; at 1000 it has 0.98 on random vectors [decision 084]


class ChromaVectors:
    """The Chroma store of one engine: `<data>/chroma`, or memory that no other engine or Chroma client shares.

    Chroma is imported and started at the first `open`. Safe from many threads. At most one object per folder at a
    time, read-only engines included: two would lose or hide vectors silently. The ledger's lock sees to that.
    """

    def __init__(self, data: Path | None) -> None:
        """`data` is the engine's data directory; None keeps everything in memory."""
        self._folder = None if data is None else data / "chroma"
        self._lock = threading.Lock()
        self._client: _Client | None = None
        self._indexes: dict[str, ChromaVectorIndex] = {}
        self._closed = False

    def open(self, bank_key: str, *, bank: str | None = None) -> ChromaVectorIndex:
        """The index of one bank, the same object every time; `bank` is the name that errors use.

        A broken collection opens too: its calls then raise until it is cleared.

        Raises:
            IndexOutOfStep: the Chroma folder cannot be opened at all.
            EngineClosed: this store was closed.
        """
        with self._lock:
            if self._closed:
                raise EngineClosed
            if bank_key not in self._indexes or self._indexes[bank_key].discarded:
                self._indexes[bank_key] = self._opened(bank_key, bank or bank_key)
            return self._indexes[bank_key]

    def _opened(self, bank_key: str, bank: str) -> ChromaVectorIndex:
        with _Converting(bank):
            if self._client is None:
                self._client = self._started()
            return ChromaVectorIndex(self._client, bank_key, bank)

    def _started(self) -> _Client:
        """Chroma over the folder; one whose database cannot be read is set aside, since the ledger has it all."""
        from chromadb.errors import ChromaError

        try:
            return _Client(self._folder)
        except ChromaError as error:
            if self._folder is None:
                raise
            logger.warning("the Chroma store %s cannot be opened and is made anew: %s", self._folder, error)
            shutil.rmtree(self._folder)
            return _Client(self._folder)

    def close(self) -> None:
        """Stop Chroma and let go of its files and threads; what was in memory is gone. Idempotent."""
        with self._lock:
            self._closed = True
            self._indexes.clear()
            if self._client is not None:
                self._client.stop()
                self._client = None


class ChromaVectorIndex:
    """A VectorIndex over one collection. Ids are row ids as text; nothing else is stored with a vector.

    Every call but `watermark` raises IndexOutOfStep where the collection is broken or gone, its files cannot be
    written or its vectors have another dimension, and EngineClosed after `ChromaVectors.close`.
    """

    def __init__(self, client: _Client, bank_key: str, bank: str) -> None:
        self._client = client
        self._name = f"bank-{bank_key}"
        self._bank = bank
        self._mark = client.watermark_file(bank_key)
        self._collection = client.collection(self._name)
        self._files = client.files(self._collection)
        self.discarded = False
        self._damage = self._files.damage()
        self._watermark = self._mark.read(str(self._collection.id)) if self._mark else None
        # A mark of another collection: killed after that one was dropped and before its pages were overwritten.
        self._unclean = self._mark is not None and not self._watermark and self._mark.exists()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this collection has reached; None when new, or made anew behind the watermark's back."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """On disk, yes: Chroma leaves deleted vectors in its files (1.5.9, measured)."""
        return self._mark is not None

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors under ids; an id already there is replaced, the last of a double one stays."""
        rows = {str(name): row for row, name in enumerate(ids.tolist())}
        names, picked = list(rows), vectors[list(rows.values())]
        with self._calling():
            for start in range(0, len(names), self._client.max_batch):
                batch = slice(start, start + self._client.max_batch)
                self._collection.upsert(ids=names[batch], embeddings=picked[batch])

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        names = [str(name) for name in np.unique(ids).tolist()]
        with self._calling():
            for start in range(0, len(names), self._client.max_batch):
                self._collection.delete(ids=names[start : start + self._client.max_batch])

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied.

        After a `clear` the database is vacuumed first: a dropped collection's vectors stay in its free pages.
        """
        with self._converting():
            if self._unclean:
                self._client.vacuum()
                self._unclean = False
            if self._mark:
                self._mark.write(str(self._collection.id), mark)
        self._watermark = mark

    def count(self) -> int:
        """How many vectors it holds."""
        with self._calling():
            return self._collection.count()

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]; one call to Chroma."""
        if limit <= 0 or len(vectors) == 0:
            return [no_hits() for _ in range(len(vectors))]
        with self._calling():
            found = self._collection.query(query_embeddings=vectors, n_results=limit, include=["distances"])
        distances = found["distances"] or []
        return [_hits(names, row, limit) for names, row in zip(found["ids"], distances, strict=True)]

    def clear(self) -> None:
        """Drop the collection, its files and its watermark, and start an empty one. Works on a broken one too."""
        with _Converting(self._bank, self._client):
            # The mark stays: bound to the old collection it reads None, and tells that a vacuum is due.
            self._watermark = None
            self._unclean = self._mark is not None
            self._client.drop(self._name, self._files)
            self._collection = self._client.collection(self._name)
            self._files = self._client.files(self._collection)
            self._damage = None

    def discard(self) -> None:
        """Drop the collection for good, with its files, its watermark and its traces in Chroma's database."""
        with _Converting(self._bank, self._client):
            self.discarded = True
            self._client.drop(self._name, self._files)
            self._client.vacuum()
            if self._mark:
                self._mark.drop()

    def close(self) -> None:
        """Nothing to release here: the client belongs to `ChromaVectors`, and Chroma cannot unload one collection."""

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """A call to Chroma: its failures converted, its files left alone meanwhile and then cleared of heap memory.

        Any call may be the one at which Chroma loads the collection, and so writes its files anew.
        """
        with self._converting():
            try:
                with self._client.gate.shared():
                    yield
            finally:
                if self._files.rewritten():
                    with self._client.gate.exclusive():
                        self._files.blank()

    def _converting(self) -> _Converting:
        if self._damage:
            raise IndexOutOfStep("vector", self._bank, self._damage)
        return _Converting(self._bank, self._client)


def _hits(names: list[str], distances: list[float], limit: int) -> Hits:
    """Chroma's cosine distance is 1 - cosine; it rounds to just outside [-1, 1]."""
    ids = np.array([int(name) for name in names], np.int64)
    cosines = np.clip(1.0 - np.array(distances, np.float32), -1.0, 1.0).astype(np.float32)
    return ranked(ids, cosines, limit)


class _Client:
    """A Chroma system of our own.

    `chromadb.PersistentClient` and `EphemeralClient` share systems through a table of the whole process: every
    in-memory client is the same store, and two with different settings refuse each other, so that an engine in
    memory would break a user's own `EphemeralClient()`. A system made here is in nobody's table.

    Attributes:
        gate: every use of the API goes through it; work on Chroma's files happens alone. Chroma brings a SQLite of its own
            beside Python's, and neither sees the other's file locks, which are the process's (decision 084).
        stopped: whether `stop` was called.
        max_batch: the most vectors that Chroma takes in one call.
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
        self.gate = Gate()
        self._folder = folder
        self._system = System(settings)
        self._api = self._system.instance(RustBindingsAPI)
        self._system.start()
        self.stopped = False
        self.max_batch = self._api.get_max_batch_size()

    def watermark_file(self, bank_key: str) -> WatermarkFile | None:
        """Where a bank's watermark is kept; None in memory."""
        return WatermarkFile(self._folder / "watermarks" / f"{bank_key}.json") if self._folder else None

    def collection(self, name: str) -> Collection:
        """The collection of this name, made if need be."""
        from chromadb.api.models.Collection import Collection

        with self.gate.shared():
            made = self._api.create_collection(
                name, configuration={"hnsw": {"space": "cosine", "ef_search": EF_SEARCH}}, get_or_create=True
            )
        return Collection(client=self._api, model=made, embedding_function=None)

    def files(self, collection: Collection) -> SegmentFiles:
        """The files of a collection, there or not yet."""
        if self._folder is None:
            return SegmentFiles(())
        with self.gate.exclusive():
            return SegmentFiles(vector_segments(self._folder, str(collection.id)))

    def drop(self, name: str, files: SegmentFiles) -> None:
        """Delete a collection, gone or broken as it may be, and the files it leaves."""
        from chromadb.errors import NotFoundError

        with self.gate.exclusive():
            with suppress(NotFoundError):
                self._api.delete_collection(name)
            files.erase()

    def vacuum(self) -> None:
        """Overwrite what was deleted from Chroma's own database."""
        if self._folder:
            with self.gate.exclusive():
                vacuum(self._folder)

    def stop(self) -> None:
        """Let go of files and threads; calls under way finish."""
        self.stopped = True
        self._system.stop()


class _Converting:
    """Turns what Chroma raises into this package's errors, in one place.

    A context manager and not an except clause, because a panic in Chroma's Rust code derives from BaseException.
    """

    def __init__(self, bank: str, client: _Client | None = None) -> None:
        self._bank = bank
        self._client = client

    def __enter__(self) -> None:
        if self._client and self._client.stopped:
            raise EngineClosed

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, HindsightError):
            return
        if self._client and self._client.stopped and isinstance(error, AttributeError):
            raise EngineClosed from error  # closed in another thread between our check and the call
        if _from_chroma(error):
            reason = f"{type(error).__name__}: {error}"[:300]
            raise IndexOutOfStep("vector", self._bank, reason) from error


def _from_chroma(error: BaseException) -> bool:
    """Whether this is Chroma failing (its errors, its panics, the disk beneath it) rather than a mistake of ours."""
    from chromadb.errors import ChromaError

    # PyO3 makes its PanicException at run time, in no module that could be imported.
    return isinstance(error, ChromaError | OSError) or type(error).__name__ == "PanicException"
