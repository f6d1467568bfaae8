"""BM25 by SQLite's FTS5: one file per bank, `<data>/fts5/<bank key>.sqlite3`. Used if no JVM is installed.

FTS5's bm25() has fixed k1 = 1.2 and b = 0.75, keeps the textbook factor (k1 + 1), and gives words in more
than half of the texts an idf of 0.000001. So its scores differ from Lucene's; only their order is similar.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np

from hindsight_integrations.errors import IndexOutOfStep, LedgerBusy
from hindsight_integrations.indexes.store_pool import (
    MAX_QUERY_TERMS,
    MEMORY,
    OPEN_STORES,
    KeywordStore,
    KeywordStores,
)
from hindsight_integrations.model.arrays import Hits, IntArray, no_hits, ranked
from hindsight_integrations.model.watermark import Watermark

T = TypeVar("T")

_WORD = re.compile(r"[^\W_]+")  # letters and digits, as in FTS5's unicode61
_POSSESSIVE = re.compile(r"['\u2019\uff07][sS]\b")  # as in Lucene's EnglishPossessiveFilter

# Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET, so that both backends ignore the same words
STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        "this to was will with"
    )
)

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;  -- a power cut may undo the last commits, but always rows and watermark together
PRAGMA secure_delete = ON;    -- forgotten words must not linger in free pages
CREATE VIRTUAL TABLE IF NOT EXISTS docs USING fts5(text, tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE IF NOT EXISTS told USING fts5(text, tokenize = 'porter unicode61');
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value NOT NULL);
"""

_WATERMARK = """
SELECT value FROM state WHERE name = 'watermark' AND EXISTS (SELECT 1 FROM state WHERE name = 'form' AND value = '1')
"""  # an index with another version number is rebuilt


class Fts5Keywords(KeywordStores):
    """The FTS5 indexes of one engine, behind one lock."""

    index_name = "FTS5"
    folder_name = "fts5"

    def __init__(self, data: Path | str, *, open_stores: int = OPEN_STORES) -> None:
        """See `KeywordStores`."""
        super().__init__(data, open_stores=open_stores)
        self._lock = threading.RLock()

    def _serially(self, bank_key: str, work: Callable[[], T]) -> T:
        with self._lock:
            try:
                return work()
            except (sqlite3.Error, OSError) as failure:
                code = getattr(failure, "sqlite_errorcode", None)
                if code == sqlite3.SQLITE_BUSY and self._folder is not None:
                    raise LedgerBusy(self._file(bank_key), None) from failure
                raise IndexOutOfStep(self.index_name, bank_key, str(failure)) from failure

    def _open_store(self, bank_key: str) -> KeywordStore:
        if self._folder is None:
            return Fts5Store(MEMORY)
        self._folder.mkdir(parents=True, exist_ok=True)
        return Fts5Store(str(self._file(bank_key)))

    def _erase(self, bank_key: str) -> None:
        if self._folder is not None:
            for suffix in ("-wal", "-shm", ""):
                Path(f"{self._file(bank_key)}{suffix}").unlink(missing_ok=True)

    def _file(self, bank_key: str) -> Path:
        return (self._folder or Path()) / f"{bank_key}.sqlite3"


class Fts5Store:
    """A `KeywordStore` over one SQLite file.

    Changes since the last `advance` are one open transaction, which this connection's searches see. FTS5 does not
    count deleted texts.
    """

    def __init__(self, file: str) -> None:
        connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            connection.executescript(_SCHEMA)
            # A killed process may have left uncommitted texts in the log.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            row = connection.execute(_WATERMARK).fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection
        self.watermark = Watermark.parse(row[0]) if row else None
        self.dirty = self.holds_removed = False

    def upsert(self, ids: list[int], texts: list[str], told: list[str]) -> None:
        """Index texts without stop words, so that text lengths are the same as in Lucene."""
        self.remove(ids)
        for table, given in (("docs", texts), ("told", told)):
            rows = [
                (row, " ".join(_words(text)))
                for row, text in zip(ids, given, strict=True)
                if text or table == "docs"
            ]
            self._connection.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", rows)

    def remove(self, ids: list[int]) -> None:
        """Remove ids."""
        self._begin()
        rows = [(row,) for row in ids]
        deleted = self._connection.executemany("DELETE FROM docs WHERE rowid = ?", rows)
        self.holds_removed = self.holds_removed or deleted.rowcount > 0
        self._connection.executemany("DELETE FROM told WHERE rowid = ?", rows)

    def advance(self, mark: Watermark) -> None:
        """Commit. After deletions, first merge the index into one segment, which removes the deleted words."""
        self._begin()
        if self.holds_removed:
            self._connection.execute("INSERT INTO docs (docs) VALUES ('optimize')")
            self._connection.execute("INSERT INTO told (told) VALUES ('optimize')")
        self._connection.execute(
            "INSERT OR REPLACE INTO state VALUES ('watermark', ?), ('form', '1')", (str(mark),)
        )
        self._connection.execute("COMMIT")
        if self.holds_removed:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.watermark, self.dirty, self.holds_removed = mark, False, False

    def count(self) -> int:
        """Return the number of texts."""
        return int(self._connection.execute("SELECT count(*) FROM docs").fetchone()[0])

    def search(self, text: str, limit: int, among: IntArray | None, *, told: bool) -> Hits:
        """Search. FTS5 cannot filter by row id, so all matches are fetched and masked."""
        # Words cannot contain quotes, see _WORD.
        query = " OR ".join(f'"{word}"' for word in query_words(text))
        if not query:
            return no_hits()
        table = "told" if told else "docs"
        cursor = self._connection.execute(
            f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ?", (query,)
        )
        rows = cursor.fetchall()
        ids = np.array([row for row, _ in rows], np.int64)
        scores = np.array([score for _, score in rows], np.float32)
        keep = scores > 0
        if among is not None:
            keep &= np.isin(ids, among)
        return ranked(ids[keep], scores[keep], limit)

    def close(self) -> None:
        """Commit and close."""
        with closing(self._connection):
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")

    def abandon(self) -> None:
        """Close; SQLite rolls back the open transaction."""
        self._connection.close()

    def _begin(self) -> None:
        """Open the transaction that the next `advance` commits, unless it is open already.

        Raises:
            sqlite3.DatabaseError: SQLite rolled it back after an error such as a full disk, so its changes
                are lost and must be written again.
        """
        if self.dirty and not self._connection.in_transaction:
            raise sqlite3.DatabaseError("the changes since the last commit were rolled back")
        if not self.dirty:
            self._connection.execute("BEGIN IMMEDIATE")
            self.dirty = True


def query_words(text: str) -> list[str]:
    """Return the distinct words of a query without stop words, in order, at most MAX_QUERY_TERMS."""
    return list(dict.fromkeys(_words(text)))[:MAX_QUERY_TERMS]


def _words(text: str) -> list[str]:
    words = _WORD.findall(_POSSESSIVE.sub("", text).lower())
    return [word for word in words if word not in STOP_WORDS]
