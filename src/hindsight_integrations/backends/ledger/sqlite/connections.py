"""Connections to one ledger database: one that writes, one a thread that reads."""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hindsight_integrations.backends.ledger.sqlite import scrubbing
from hindsight_integrations.backends.ledger.sqlite.errors import converted
from hindsight_integrations.backends.ledger.sqlite.gate import Gate
from hindsight_integrations.backends.ledger.sqlite.lock import DirectoryLock
from hindsight_integrations.backends.ledger.sqlite.migrations import prepare
from hindsight_integrations.errors import EngineClosed, LedgerReadOnly

LEDGER_FILE = "ledger.sqlite"
BUSY_MILLISECONDS = 5000
CACHE_KIBIBYTES = 16_384


class Connections:
    """A database, open. Every use of it is one transaction.

    On disk, WAL lets readers go on while the writer commits. The shared cache of an in-memory database has no such
    thing (a reader meets SQLITE_LOCKED or half a commit), so there a gate keeps readers out for the commit.

    Attributes:
        path: the data directory, for messages.
        read_only: whether `writing` refuses.
    """

    def __init__(
        self, path: Path, uri: str, *, lock: DirectoryLock | None, read_only: bool, shared: bool
    ) -> None:
        self.path, self.read_only = path, read_only
        self._uri, self._lock, self._shared_cache = uri, lock, shared
        self._readers: dict[threading.Thread, sqlite3.Connection] = {}
        self._opening, self._write_turn, self._gate = threading.Lock(), threading.Lock(), Gate()
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
        if self.read_only:
            raise LedgerReadOnly(self.path, "it was opened with read_only=True")
        with ExitStack() as held:
            held.enter_context(self._write_turn)
            held.enter_context(self._gate.exclusive() if self._shared_cache else self._gate.shared())
            self._check_open()
            with converted(self.path):
                self._main.execute("BEGIN IMMEDIATE")
                try:
                    yield self._main
                    self._main.execute("COMMIT")
                finally:
                    if self._main.in_transaction:
                        self._main.execute("ROLLBACK")

    def scrub(self) -> bool:
        """Rewrite the files so that nothing erased is left in them; False while another process reads them.

        Readers of this process wait meanwhile. In memory there is nothing to do.
        """
        if self._shared_cache:
            return True
        with self._write_turn, self._gate.exclusive(), converted(self.path):
            self._check_open()
            return scrubbing.scrub(self._main)

    def close(self) -> None:
        """Wait for running reads and writes, close every connection and release the lock. Idempotent."""
        with self._gate.exclusive():
            if self._closed:
                return
            self._closed = True
            for connection in (*self._readers.values(), self._main):
                connection.close()
            self._readers.clear()
            if self._lock:
                self._lock.release()

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
        prepare(self._main, self.path, read_only=self.read_only)
        if not self.read_only and not self._shared_cache:
            self._main.execute("PRAGMA secure_delete = ON")
            if scrubbing.waiting(self._main):  # killed between an erasure and its scrubbing
                scrubbing.scrub(self._main)

    def _reader(self) -> sqlite3.Connection:
        self._check_open()
        thread = threading.current_thread()
        if connection := self._readers.get(thread):
            return connection
        with self._opening:
            self._forget_finished_threads()
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            self._readers[thread] = connection
            return connection

    def _forget_finished_threads(self) -> None:
        for thread in [known for known in self._readers if not known.is_alive()]:
            self._readers.pop(thread).close()


def open_in_memory() -> Connections:
    """A new in-memory database no other engine can see; gone once closed."""
    uri = f"file:hindsight-{uuid.uuid4().hex}?mode=memory&cache=shared"
    return Connections(Path(":memory:"), uri, lock=None, read_only=False, shared=True)


def open_for_writing(directory: Path) -> Connections:
    """The database of a data directory, created if need be, and the directory's lock.

    Raises:
        LedgerBusy: the directory is open for writing already.
        LedgerReadOnly: it cannot be created or written, or is a file.
    """
    if directory.exists() and not directory.is_dir():
        raise LedgerReadOnly(directory, "it is a file, not a directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerReadOnly(directory, error.strerror or str(error)) from error
    with ExitStack() as undo:
        lock = DirectoryLock(directory)
        undo.callback(lock.release)
        uri = f"{(directory / LEDGER_FILE).resolve().as_uri()}?mode=rwc"
        opened = Connections(directory, uri, lock=lock, read_only=False, shared=False)
        undo.pop_all()
    return opened


def open_for_reading(directory: Path) -> Connections:
    """The database of a data directory, without its lock; a process that writes may be at work.

    Raises:
        LedgerReadOnly: there is no ledger in it, and none may be created.
    """
    file = directory / LEDGER_FILE
    if not file.is_file():
        raise LedgerReadOnly(directory, "it holds no ledger, and read_only=True creates none")
    # A WAL file needs its shared-memory file beside it. Where the directory refuses one and nobody is writing,
    # the database is as good as immutable.
    log = file.with_name(f"{LEDGER_FILE}-wal")
    frozen = not log.exists() and not os.access(directory, os.W_OK)
    uri = f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"
    return Connections(directory, uri, lock=None, read_only=True, shared=False)
