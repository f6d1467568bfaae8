"""The pool of open stores that the Lucene and FTS5 keyword indexes share: one per bank, one call at a time.

A store is one bank's open files. The pool keeps the most recently used ones open and reopens others when
needed, so an engine may have any number of banks. A backend provides the store, serialisation of calls, and
deletion of a bank's files.
"""

from __future__ import annotations

import functools
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from hindsight_integrations.errors import EngineClosed, IndexOutOfStep
from hindsight_integrations.model.arrays import Hits, IntArray, no_hits
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.watermark import IndexMark, Watermark

T = TypeVar("T")

MEMORY = ":memory:"
"""Passed instead of a data directory to keep indexes in memory."""

OPEN_STORES = 64
"""Number of banks whose files stay open; an open Lucene writer takes about 1.4 MB."""

MAX_QUERY_TERMS = 1024
"""Distinct words of one query that are searched: Lucene's clause limit. Later words are ignored."""


_LETTER_OR_DIGIT = re.compile(
    r"[^\W_]"
)  # only these are indexed by FTS5; Lucene would also search for a single emoji


class KeywordStore(Protocol):
    """One bank's open index. Never called by two threads at once."""

    watermark: Watermark | None
    """The watermark of the last `advance`; None when new."""
    dirty: bool
    """Whether the index was changed since the last `advance`."""
    holds_removed: bool
    """Whether a text was removed or replaced since the last `advance`."""

    def upsert(self, ids: list[int], texts: list[str], told: list[str]) -> None:
        """Index distinct ids, replacing existing ones; non-empty `told` texts are indexed separately.

        Searches see the texts at once, with scores as if replaced texts had never existed.
        """
        ...

    def remove(self, ids: list[int]) -> None:
        """Remove ids from searches and scores at once; the next `advance` erases their words from the files."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Commit everything with this watermark, and make it visible to searches."""
        ...

    def count(self) -> int:
        """Return the number of texts."""
        ...

    def search(self, text: str, limit: int, among: IntArray | None, *, told: bool) -> Hits:
        """Search as in `KeywordIndex.search`, with limit > 0 and a cleaned text."""
        ...

    def close(self) -> None:
        """Keep changes without moving the watermark, and release all resources."""
        ...

    def abandon(self) -> None:
        """Release all resources after a failure; changes since the last `advance` may be lost."""
        ...


class KeywordStores(ABC):
    """The keyword indexes of one engine."""

    index_name: str
    folder_name: str

    def __init__(self, data: Path | str, *, open_stores: int = OPEN_STORES) -> None:
        """Create the pool without opening an index; `data` is the engine's data directory, or ":memory:".

        At most `open_stores` banks are open at once; others are reopened on next use.
        """
        self._folder = None if str(data) == MEMORY else Path(data) / self.folder_name
        # in-memory stores are lost when closed
        self._capacity = None if self._folder is None else open_stores
        self._stores: dict[str, KeywordStore] = {}  # least recently used first
        self._lost: set[str] = set()
        self._left_at: dict[str, int] = {}  # revision at which each closed store was left
        self._closed = False

    def open(self, bank_key: str) -> BankKeywords:
        """Return the index of one bank, whose key is safe as a file name; its files are opened on first use."""
        self._forget(bank_key)
        return BankKeywords(self, bank_key)

    def close(self) -> None:
        """Close every bank. Does nothing if already closed, in a forked child, or while Python shuts down."""
        self._closed = True
        with suppress(EngineClosed), ExitStack() as closing:
            # one bank's failure must not leave the others open
            for key in list(self._stores):
                closing.callback(self._serially, key, functools.partial(self._release, key))

    def use(self, bank_key: str, work: Callable[[KeywordStore], T]) -> T:
        """Run `work` on the bank's store, opening it if needed.

        Raises:
            EngineClosed: the pool is closed, or this is a forked child.
            IndexOutOfStep: the index is broken, or an earlier error lost changes; it must be cleared and replayed.
            LedgerBusy: another process has the index open.
        """
        try:
            return self._serially(bank_key, lambda: work(self._store(bank_key)))
        except IndexOutOfStep:
            self._abandon(bank_key)
            raise

    def release(self, bank_key: str) -> None:
        """Close the bank's files; the next use reopens them. In-memory content is lost and must be replayed."""
        if bank_key in self._stores:
            with suppress(EngineClosed):
                self._serially(bank_key, functools.partial(self._release, bank_key))

    def clear(self, bank_key: str) -> None:
        """Delete the bank's index, broken or not."""
        self._check_open()
        self._abandon(bank_key)
        self._serially(bank_key, functools.partial(self._start_over, bank_key))

    def revert(self, bank_key: str) -> None:
        """Release the bank's store without writing; the next use reads its files again."""
        self._check_open()
        self._abandon(bank_key)
        self._forget(bank_key)

    @abstractmethod
    def _serially(self, bank_key: str, work: Callable[[], T]) -> T:
        """Run `work` while no other call runs; convert the vendor's errors to IndexOutOfStep or LedgerBusy."""

    @abstractmethod
    def _open_store(self, bank_key: str) -> KeywordStore:
        """Open the bank's index, or create an empty one."""

    @abstractmethod
    def _erase(self, bank_key: str) -> None:
        """Delete the bank's closed index."""

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed

    def _store(self, bank_key: str) -> KeywordStore:
        self._check_open()
        if bank_key in self._lost:
            raise IndexOutOfStep(
                self.index_name, bank_key, "changes that were not committed yet were lost by an error"
            )
        store = self._stores.pop(bank_key, None) or self._reopened(bank_key)
        self._stores[bank_key] = store
        if self._capacity is not None and len(self._stores) > self._capacity:
            self._release(self._victim())
        return store

    def _reopened(self, bank_key: str) -> KeywordStore:
        """Open the bank's store from its files, and check that its revision has not changed since it was closed."""
        store = self._open_store(bank_key)
        if _revision(store) < self._left_at.get(bank_key, 0):
            store.close()
            self._lost.add(bank_key)
            raise IndexOutOfStep(self.index_name, bank_key, "its files were removed while the engine ran")
        return store

    def _victim(self) -> str:
        """Choose a store to close: the least recently used one, preferably without uncommitted changes; never the newest."""
        older = list(self._stores)[:-1]
        return next((key for key in older if not self._stores[key].dirty), older[0])

    def _release(self, bank_key: str) -> None:
        if store := self._stores.pop(bank_key, None):
            self._left_at[bank_key] = _revision(store)
            store.close()

    def _abandon(self, bank_key: str) -> None:
        with suppress(IndexOutOfStep):  # the earlier error is reported instead
            self._serially(bank_key, functools.partial(self._drop, bank_key))

    def _drop(self, bank_key: str) -> None:
        if store := self._stores.pop(bank_key, None):
            self._left_at[bank_key] = _revision(store)
            if store.dirty:
                self._lost.add(bank_key)
            store.abandon()

    def _start_over(self, bank_key: str) -> None:
        self._drop(bank_key)
        self._erase(bank_key)
        self._forget(bank_key)

    def _forget(self, bank_key: str) -> None:
        """Reset the record of lost changes, when the index starts empty or is replayed from its files."""
        self._lost.discard(bank_key)
        self._left_at.pop(bank_key, None)


class BankKeywords:
    """The `KeywordIndex` of one bank."""

    def __init__(self, pool: KeywordStores, bank_key: str) -> None:
        self._pool, self._key = pool, bank_key
        self._closed = False

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; None when new."""
        return self._use(lambda store: store.watermark)

    def upsert(self, ids: IntArray, texts: list[str], told: list[str] | None = None) -> bool:
        """Index texts, and separately texts combined with their source turns (`told`); for a repeated id the last counts."""
        both = zip(texts, told or [""] * len(texts), strict=True)
        by_id = dict(zip(ids.tolist(), both, strict=True))
        cleaned, sources = ([clean_text(pair[at]) for pair in by_id.values()] for at in (0, 1))

        def write(store: KeywordStore) -> bool:
            if by_id:
                store.upsert(list(by_id), cleaned, sources)
            return store.holds_removed

        return self._use(write)

    def remove(self, ids: IntArray) -> None:
        """Remove ids; unknown ids are ignored. Their words leave the files with the next `advance`."""
        if len(ids):
            self._use(lambda store: store.remove(ids.tolist()))

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied, and make it visible to searches."""
        self._use(lambda store: store.advance(mark))

    def count(self) -> int:
        """Return the number of texts."""
        return self._use(lambda store: store.count())

    def search(self, text: str, limit: int, among: IntArray | None = None, *, told: bool = False) -> Hits:
        """Return the `limit` best matches by BM25, ties by id; only among the given ids, if any.

        A word repeated in the query counts twice in Lucene, once in FTS5. Their scores are on different
        scales.
        """
        cleaned = clean_text(text)
        if limit <= 0 or not _LETTER_OR_DIGIT.search(cleaned) or (among is not None and len(among) == 0):
            return no_hits()
        return self._use(lambda store: store.search(cleaned, limit, among, told=told))

    def revert(self) -> None:
        """Revert to the content of the files; everything after the watermark must be written again."""
        self._check_open()
        self._pool.revert(self._key)

    def clear(self) -> None:
        """Remove everything, including the watermark. Works on a broken index too."""
        self._check_open()
        self._pool.clear(self._key)

    def close(self) -> None:
        """Release the files; the data stays."""
        self._closed = True
        self._pool.release(self._key)

    def _use(self, work: Callable[[KeywordStore], T]) -> T:
        self._check_open()
        return self._pool.use(self._key, work)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed


def _revision(store: KeywordStore) -> int:
    return store.watermark.revision if store.watermark else 0


_KEY = b"watermark"  # in Lucene's commit data each text follows its length, which takes one byte if it is below 128
_SEGMENTS = "segments_"


def keyword_marks(data: Path) -> list[IndexMark]:
    """Return the watermark of every bank's keyword index in a data directory, Lucene's and FTS5's."""
    stores = sorted((data / "fts5").glob("*.sqlite3"))
    commits = [commit for folder in sorted((data / "lucene").glob("*")) if (commit := _newest_commit(folder))]
    return [
        *(IndexMark("keyword", file.stem, _of_fts5(file)) for file in stores),
        *(IndexMark("keyword", file.parent.name, _of_lucene(file)) for file in commits),
    ]


def _newest_commit(folder: Path) -> Path | None:
    """Return the newest of Lucene's `segments_N` files; N is in base 36."""
    commits = [file for file in folder.glob(f"{_SEGMENTS}*") if file.name.removeprefix(_SEGMENTS).isalnum()]
    return max(commits, key=lambda file: int(file.name.removeprefix(_SEGMENTS), 36), default=None)


def _of_lucene(file: Path) -> Watermark | None:
    try:
        _, found, rest = file.read_bytes().partition(_KEY)
    except OSError:
        return None
    return (
        Watermark.parse(rest[1 : 1 + rest[0]].decode("ascii", errors="replace")) if found and rest else None
    )


def _of_fts5(file: Path) -> Watermark | None:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            row = database.execute("SELECT value FROM state WHERE name = 'watermark'").fetchone()
    except sqlite3.Error:
        return None
    return Watermark.parse(row[0]) if row else None
