"""Chroma as the vector index: one client per engine, one collection per bank.

A kill or a full disk can leave a collection unreadable for good, so every failure here is healed by `clear` and a replay
(section 3).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.backends.vector.chroma_client import ChromaClient, ClientKeeper
from hindsight_integrations.backends.vector.chroma_files import SegmentFiles
from hindsight_integrations.backends.vector.chroma_reach import Reach
from hindsight_integrations.errors import EngineClosed, IndexBehind, IndexOutOfStep
from hindsight_integrations.ports.arrays import Hits, IntArray, Matrix, Vector, no_hits, ranked
from hindsight_integrations.ports.watermark import Watermark

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

BATCH = 64  # vectors a call; Chroma holds the interpreter for all of it, 12 s for 4,096 [decision 093]

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
        bound = _Bound(client, collection, client.files(collection), Reach(collection))
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
    reach: Reach
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
