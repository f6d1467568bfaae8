"""Connections to one ledger database: one that writes, one a thread that reads; their errors become ours here."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

from hindsight_integrations.concurrency.gate import Gate
from hindsight_integrations.errors import (
    EngineClosed,
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    StorageError,
)
from hindsight_integrations.ledger.high_water import HighWaterFile
from hindsight_integrations.ledger.locks import DirectoryLock
from hindsight_integrations.ledger.losses import Loss, accept, counted, state_of
from hindsight_integrations.ledger.schema import create, create_in_memory, is_created
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.ports.ledger import Scrub

LEDGER_FILE = "ledger.sqlite"
BUSY_MILLISECONDS = 5000
CACHE_KIBIBYTES = 16_384  # of the connection that writes
READER_CACHE_KIBIBYTES = (
    4_096  # of each thread that reads: the system's cache is behind it, at no cost in recall [decision 099]
)
_PRIMARY_CODE = 0xFF  # extended SQLite result codes keep the primary one in their low byte


@contextmanager
def converted(path: Path) -> Iterator[None]:
    """Run a block; what sqlite3 raises in it leaves as one of our errors.

    Raises:
        LedgerBusy: another connection holds the database for longer than the busy timeout.
        LedgerReadOnly: the file cannot be written.
        LedgerFailed: anything else: damage, a full disk, an I/O error.
        InvalidRequest: a text is not valid Unicode.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _ours(error, path) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", f"{error.object!r:.80} is not valid Unicode", "Remove surrogates."
        ) from error


def _ours(error: sqlite3.Error, path: Path) -> StorageError:
    # Errors raised by the Python binding itself carry no SQLite code.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(path, None)
    if code == sqlite3.SQLITE_READONLY:
        return LedgerReadOnly(path, str(error))
    if str(error).startswith("Could not decode"):  # the rest of that message is the text itself
        return LedgerFailed(path, "a text in it is damaged; doctor(deep=True) names the memories that are")
    return LedgerFailed(path, str(error))


class Connections:
    """A database, open. Every use of it is one transaction.

    On disk, WAL lets readers go on while the writer decides and commits. The shared cache of an in-memory database
    has no such thing (a reader meets SQLITE_LOCKED or half a commit), so there a gate keeps readers out for the commit.

    Attributes:
        path: the data directory, for messages.
        read_only: whether `writing` refuses.
        accept_loss: whether the user goes on without what may be found to be missing.
        clock: the ledger's.
        observing: how long changes of an entity's facts are collected until observations are made of them; None makes none.
        refreshing: the same until mental models are refreshed by themselves.
        reinforcing: the same until new facts are assessed as evidence of opinions.
    """

    def __init__(
        self,
        path: Path,
        uri: str,
        *,
        clock: Clock,
        lock: DirectoryLock | None = None,
        read_only: bool = False,
        shared: bool = False,
        accept_loss: bool = False,
        observing: timedelta | None = None,
        refreshing: timedelta = timedelta(0),
        reinforcing: timedelta = timedelta(0),
    ) -> None:
        self.path, self.read_only, self.accept_loss, self.clock = path, read_only, accept_loss, clock
        self.observing, self.refreshing, self.reinforcing = observing, refreshing, reinforcing
        self._uri, self._lock, self._shared_cache = uri, lock, shared
        self._high_water = HighWaterFile(path) if lock else None
        self._readers: dict[threading.Thread, sqlite3.Connection] = {}
        self._opening, self._one_writer, self._gate = threading.Lock(), threading.Lock(), Gate()
        self._closed = False
        with converted(path):
            self._main = self._connect()
        with ExitStack() as undo:
            undo.callback(self._main.close)
            with converted(path):
                self._configure()
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's reader inside one read transaction: all selects see the same revision. Do not nest.

        Raises:
            EngineClosed: after `close`.
        """
        with self._gate.shared(), converted(self.path):
            connection = self._reader()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer inside one transaction, committed at the end of the block and rolled back if it raises.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: opened read-only.
        """
        with self._writer(), self.committing() as connection:
            yield connection

    @contextmanager
    def deciding(self) -> Iterator[sqlite3.Connection]:
        """The writer, for reads that lead to a commit by `committing`; nobody else writes meanwhile.

        On disk the transaction begins here, so that other programs cannot write either. In memory nobody else can, and
        readers wait for the commit alone.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: opened read-only.
        """
        with self._writer():
            if not self._shared_cache:
                self._main.execute("BEGIN IMMEDIATE")
            try:
                yield self._main
            finally:
                if self._main.in_transaction:
                    self._main.execute("ROLLBACK")

    @contextmanager
    def committing(self) -> Iterator[sqlite3.Connection]:
        """The writer's transaction, committed at the end of the block; inside `writing` or `deciding` only."""
        with self._gate.exclusive() if self._shared_cache else nullcontext():
            if not self._main.in_transaction:
                self._main.execute("BEGIN IMMEDIATE")
            try:
                before = self._main.total_changes
                yield self._main
                changed = self._main.total_changes != before
                mark = counted(self._main) if changed and self._high_water else None
                self._main.execute("COMMIT")
            finally:
                if self._main.in_transaction:
                    self._main.execute("ROLLBACK")
            if mark and self._high_water:
                self._high_water.write(mark)

    def begin(self, loss: Loss | None) -> None:
        """Record a loss the user accepts, then make the mark say where the ledger stands. Once, after opening for writing."""
        if loss:
            with self.writing() as connection:
                accept(connection, loss)
        with self.writing() as connection:
            own = state_of(connection)
        if self._high_water and self._high_water.read()[-1:] != [own]:
            self._high_water.restart(own)

    def scrub(self) -> Scrub:
        """Vacuum and empty the write-ahead log, so that no free page and no log frame keeps what was erased.

        Readers of this process wait meanwhile. In memory there is nothing to do.
        """
        if self.read_only:
            return Scrub.NOT_OURS
        if self._shared_cache:
            return Scrub.CLEAN
        with self._writer(), self._gate.exclusive():
            return self._scrubbed()

    def close(self) -> None:
        """Wait for running reads and writes, close every connection and release the lock. Idempotent."""
        with self._one_writer, self._gate.exclusive():
            if self._closed:
                return
            self._closed = True
            for connection in (*self._readers.values(), self._main):
                connection.close()
            self._readers.clear()
            if self._high_water:
                self._high_water.close()
            if self._lock:
                self._lock.release()

    @contextmanager
    def _writer(self) -> Iterator[None]:
        """Be the one that writes."""
        if self.read_only:
            raise LedgerReadOnly(self.path, "it was opened with read_only=True")
        with self._one_writer:
            self._check_open()
            with converted(self.path):
                yield

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed("its ledger was closed")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            isolation_level=None,  # transactions are begun and ended here, never by the binding
            check_same_thread=False,  # `close` closes the readers of other threads
            timeout=BUSY_MILLISECONDS / 1000,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        return connection

    def _configure(self) -> None:
        if not self.read_only and not self._shared_cache:
            self._main.execute("PRAGMA journal_mode = WAL")
            self._main.execute("PRAGMA synchronous = FULL")
        if not is_created(self._main, self.path):
            if self.read_only:
                raise LedgerReadOnly(self.path, "it holds no ledger, and read_only=True creates none")
            (create_in_memory if self._shared_cache else create)(self._main)
        if not self.read_only and not self._shared_cache:
            self._main.execute("PRAGMA secure_delete = ON")
            if self._main.execute("SELECT 1 FROM unscrubbed LIMIT 1").fetchone():
                self._scrubbed()  # killed between an erasure and its scrubbing

    def _scrubbed(self) -> Scrub:
        """Outside any transaction, with no other connection of this process inside one. A full disk makes it wait."""
        try:
            self._main.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            return Scrub.WAITING
        if not self._truncated():
            return Scrub.WAITING
        self._main.execute("DELETE FROM unscrubbed")
        return Scrub.CLEAN if self._truncated() else Scrub.WAITING

    def _truncated(self) -> bool:
        busy, _, _ = self._main.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def _reader(self) -> sqlite3.Connection:
        self._check_open()
        thread = threading.current_thread()
        if connection := self._readers.get(thread):
            return connection
        with self._opening:
            for finished in [known for known in self._readers if not known.is_alive()]:
                self._readers.pop(finished).close()
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA cache_size = -{READER_CACHE_KIBIBYTES}")
            self._readers[thread] = connection
            return connection
