"""Vectors and reranker scores cached on disk between runs, because embedding takes most of a run's time."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hindsight_integrations.model.arrays import FloatArray, Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.models.protocols import Embedder, Reranker

AT_ONCE = 256  # number of texts computed before they are saved, so that a stopped run keeps most of its work


class DiskCache:
    """Float32 rows by a hash of their input, in one SQLite file. Thread-safe."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._file.execute("CREATE TABLE IF NOT EXISTS rows (name TEXT PRIMARY KEY, row BLOB NOT NULL)")

    def rows(self, keys: Sequence[str], work: Callable[[list[int]], FloatArray]) -> list[FloatArray]:
        """Return a row for each key; `work` computes those for the missing positions, (n, any)."""
        names = [hashlib.sha256(key.encode("utf-8", "replace")).hexdigest() for key in keys]
        with self._lock:
            known = {name: row for name in names if (row := self._read(name)) is not None}
            places = {name: place for place, name in enumerate(names) if name not in known}
            missing = list(places.values())
            for start in range(0, len(missing), AT_ONCE):
                batch = missing[start : start + AT_ONCE]
                known |= self._saved([names[place] for place in batch], work(batch))
        return [known[name] for name in names]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self, name: str) -> FloatArray | None:
        found = self._file.execute("SELECT row FROM rows WHERE name = ?", (name,)).fetchone()
        return None if found is None else np.frombuffer(found[0], "<f4")

    def _saved(self, names: list[str], rows: FloatArray) -> dict[str, FloatArray]:
        made = dict(zip(names, rows, strict=True))
        self._file.execute("BEGIN")
        blobs = ((name, row.astype("<f4").tobytes()) for name, row in made.items())
        self._file.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", blobs)
        self._file.execute("COMMIT")
        return made


class CachedEmbedder:
    """An embedder that calls another one only for texts that are not cached, by text and weights."""

    def __init__(self, inner: Embedder, cache: DiskCache) -> None:
        self._inner, self._cache = inner, cache

    @property
    def identity(self) -> EmbedderIdentity:
        """The wrapped embedder's identity."""
        return self._inner.identity

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Return vectors of passages, (n, dimension)."""
        keys = [self._key("document", text) for text in texts]
        rows = self._cache.rows(keys, lambda places: self._inner.embed_documents([texts[i] for i in places]))
        return np.stack(rows) if rows else np.empty((0, self.identity.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question, (dimension,)."""
        key = self._key("query", text)
        return self._cache.rows([key], lambda _: self._inner.embed_query(text).reshape(1, -1))[0]

    def _key(self, kind: str, text: str) -> str:
        made_by = self.identity
        return "\x1f".join((kind, made_by.name, str(made_by.dimension), made_by.weights, text))


class CachedReranker:
    """A reranker that scores each (query, text) pair once."""

    def __init__(self, inner: Reranker, cache: DiskCache) -> None:
        self._inner, self._cache = inner, cache

    @property
    def name(self) -> str:
        """The wrapped reranker's name."""
        return self._inner.name

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), in the order of the texts."""
        keys = ["\x1f".join(("pair", self.name, query, text)) for text in texts]

        def missing(places: list[int]) -> FloatArray:
            return self._inner.score(query, [texts[i] for i in places]).reshape(-1, 1)

        rows = self._cache.rows(keys, missing)
        return np.concatenate(rows) if rows else np.empty(0, np.float32)
