"""The ledger's databases: connections, transactions, schema, and everything specific to one SQL dialect.

The rest of `ledger/` uses SQLAlchemy Core and works with both dialects.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable

from hindsight_integrations.concurrency.gate import Gate
from hindsight_integrations.errors import (
    EngineClosed,
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    SchemaMismatch,
    StorageError,
)
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.locks import DirectoryLock
from hindsight_integrations.ledger.losses import HighWaterFile, Loss, accept, begun, counted, state_of
from hindsight_integrations.ledger.sql import changes, raw
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.clock import Clock

APPLICATION_ID = 0x484D454D  # "HMEM": ledgers since schema version 1
DEVELOPMENT_ID = 0x48494E44  # "HIND": ledgers of development versions, which had other tables
SCHEMA_VERSION = 1

LEDGER_FILE = "ledger.sqlite"
BUSY_MILLISECONDS = 5000
# More than the package's number of statements. With the default of 128, many would be prepared again in each turn.
CACHED_STATEMENTS = 1000
CACHE_KIBIBYTES = 16_384  # size of the page cache of the writer's connection
READER_CACHE_KIBIBYTES = 4_096
"""Size of the page cache of each reader thread; it can be small, because the system also caches the file."""
_PRIMARY_CODE = 0xFF  # the low byte of an extended SQLite result code is the primary code


@contextmanager
def converted(path: Path | str) -> Iterator[None]:
    """Convert database exceptions that are raised within the block to this package's errors.

    Raises:
        LedgerBusy: another connection held the database for longer than the busy timeout.
        LedgerReadOnly: the file cannot be written.
        LedgerFailed: any other failure, such as damage, a full disk or an I/O error.
        InvalidRequest: a text is not valid Unicode.
    """
    try:
        yield
    except DBAPIError as error:
        raise _convert(error.orig, path) from error
    except sqlite3.Error as error:  # from a statement sent directly to the driver
        raise _convert(error, path) from error
    except UnicodeEncodeError as error:
        raise not_unicode(error) from error


def not_unicode(error: UnicodeEncodeError) -> InvalidRequest:
    """Return the error for a text that no database can store."""
    return InvalidRequest("text", f"{error.object!r:.80} is not valid Unicode", "Remove surrogates.")


def _convert(error: BaseException | None, path: Path | str) -> StorageError:
    # Errors raised by Python's sqlite3 module itself have no SQLite code.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(path, None)
    if code == sqlite3.SQLITE_READONLY:
        return LedgerReadOnly(path, str(error))
    if str(error).startswith("Could not decode"):  # omit the rest of the message, which quotes the text
        return LedgerFailed(path, "a stored text is damaged; doctor(deep=True) lists the damaged memories")
    return LedgerFailed(path, str(error))


@cache
def _dialect() -> Engine:
    """Return the SQLite dialect and engine settings shared by all ledgers of this process."""
    engine = create_engine("sqlite://")
    with engine.connect():  # SQLAlchemy detects the features of this SQLite version here
        return engine


def engine_of(connect: Callable[[], sqlite3.Connection]) -> Engine:
    """Create an engine that opens connections with `connect`."""
    parent = _dialect()
    pool = NullPool(connect)  # type: ignore[arg-type] # a connection of the standard library's driver
    return Engine(
        pool, parent.dialect, parent.url, execution_options={"compiled_cache": _COMPILED, **OPTIONS}
    )


OPTIONS = {"preserve_rowcount": True}  # so that `rowcount` is available after an INSERT
_COMPILED: dict[Any, Any] = {}
"""Cache of compiled statements. All statements are constants of this package, so the cache is bounded."""


class Database:
    """An open database. Each use is a transaction: read blocks see one state, and write blocks exclude each other.

    Attributes:
        path: the data directory or address, for messages.
        read_only: whether `writing` raises an error.
        accept_loss: whether to continue when committed data turns out to be missing.
        clock: the ledger's clock.
        shared: whether other processes may write to the database at the same time.
    """

    shared = False

    def __init__(
        self, path: Path | str, *, clock: Clock, read_only: bool = False, accept_loss: bool = False
    ) -> None:
        self.path, self.read_only, self.accept_loss, self.clock = path, read_only, accept_loss, clock
        self._gate, self._closed = Gate(), False
        self._open_readers = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction. Nested blocks of a thread share it and see the same state.

        Raises:
            EngineClosed: after `close`.
        """
        outer: Connection | None = getattr(self._open_readers, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._gate.shared(), self._converted():
            self._check_open()
            with self._read_transaction() as connection:
                self._open_readers.connection = connection
                try:
                    yield connection
                finally:
                    self._open_readers.connection = None

    def reading_once(self) -> AbstractContextManager[Connection]:
        """Open a block for one read statement, which saves two round trips on PostgreSQL."""
        return self.reading()

    @contextmanager
    def writing(self, bank: str | None = None) -> Iterator[Connection]:
        """Open a write transaction. It commits at the end of the block and rolls back on an exception.

        Args:
            bank: the bank that the block changes, to which no other block writes meanwhile; None for changes of single
                rows.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: the database was opened read-only.
            BankLocked: another process held the bank for longer than the time limit.
        """
        with self._writer(bank), self.committing() as connection:
            yield connection

    def deciding(self, bank: str) -> AbstractContextManager[Connection]:
        """Lock a bank for reads that lead to a `committing` block. Other writers of the bank wait.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: the database was opened read-only.
            BankLocked: another process held the bank for longer than the time limit.
        """
        raise NotImplementedError

    def committing(self) -> AbstractContextManager[Connection]:
        """Run a block in this thread's write transaction and commit it. Only inside `writing` or `deciding`."""
        raise NotImplementedError

    def scrub(self) -> Scrub:
        """Remove erased data from the files, as far as this database can."""
        raise NotImplementedError

    def problems(self) -> tuple[str, ...]:
        """Return the problems that the database finds in its own files."""
        raise NotImplementedError

    def close(self) -> None:
        """Wait for running reads and writes, close every connection and release the lock. Can be called more than once."""
        raise NotImplementedError

    def _writer(self, bank: str | None) -> AbstractContextManager[None]:
        """Hold a connection for writing, and the lock of the bank."""
        raise NotImplementedError

    def _read_transaction(self) -> AbstractContextManager[Connection]:
        """Open a transaction in which all selects see one state."""
        raise NotImplementedError

    def _converted(self) -> AbstractContextManager[None]:
        """Convert the driver's exceptions to this package's errors."""
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed("its ledger was closed")


class SqliteDatabase(Database):
    """SQLite, to which only one process writes.

    With files, WAL mode lets readers continue while the writer decides and commits. An in-memory database with a shared
    cache has no WAL (a reader would get SQLITE_LOCKED or see half a commit), so a gate keeps readers out during the
    commit.
    """

    def __init__(
        self,
        path: Path,
        uri: str,
        *,
        clock: Clock,
        lock: DirectoryLock | None = None,
        read_only: bool = False,
        shared_cache: bool = False,
        accept_loss: bool = False,
    ) -> None:
        super().__init__(path, clock=clock, read_only=read_only, accept_loss=accept_loss)
        self.shared = read_only
        self._directory, self._uri, self._lock, self._shared_cache = path, uri, lock, shared_cache
        self._high_water = HighWaterFile(path) if lock else None
        self._engine = engine_of(self._connect)
        self._readers: dict[threading.Thread, Connection] = {}
        self._opening, self._one_writer = threading.Lock(), threading.Lock()
        with converted(path):
            self._main = self._engine.connect()
        with ExitStack() as undo:
            undo.callback(self._main.close)
            with converted(path):
                self._configure()
            undo.pop_all()

    @contextmanager
    def deciding(self, bank: str) -> Iterator[Connection]:
        """Hold the writer for reads that lead to a `committing` block. Other writers wait."""
        with self._writer(bank):
            try:
                self._begin(self._main)
                yield self._main
            finally:
                self._roll_back(self._main)

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """Run a block in the writer's transaction. After the commit, update the high-water mark beside the file."""
        mark = None
        with self._gate.exclusive() if self._shared_cache else nullcontext():
            try:
                if not self._main.in_transaction():
                    self._begin(self._main)
                begun(self._main)
                before = changes(self._main)
                yield self._main
                if self._high_water and changes(self._main) != before:
                    mark = counted(self._main)
                self._main.commit()
            finally:
                self._roll_back(self._main)
        if mark and self._high_water:
            self._high_water.write(mark)

    def begin(self, loss: Loss | None) -> None:
        """Record a loss that the user accepts, and reset the high-water mark. Call once, after opening for writing."""
        if loss:
            with self.writing() as connection:
                accept(connection, loss)
        with self.writing() as connection:
            own = state_of(connection)  # the count includes the transaction above
        if self._high_water and self._high_water.read()[-1:] != [own]:
            self._high_water.restart(own)

    def scrub(self) -> Scrub:
        """Vacuum and truncate the write-ahead log, so that neither free pages nor log frames contain erased data.

        Readers of this process wait until it is done. An in-memory database needs no scrubbing.
        """
        if self.read_only:
            return Scrub.NOT_OURS
        if self._shared_cache:
            return Scrub.CLEAN
        with self._writer(None), self._gate.exclusive():
            return self._scrubbed()

    def problems(self) -> tuple[str, ...]:
        """Run SQLite's integrity check."""
        try:
            with self.reading() as connection:
                rows = raw(connection).execute("PRAGMA integrity_check").fetchall()
        except LedgerFailed as error:  # the file is too damaged for the check
            return (error.reason,)
        return tuple(row[0] for row in rows if row[0] != "ok")

    def close(self) -> None:
        """Wait for running reads and writes, close every connection and release the lock. Can be called more than once."""
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
    def _writer(self, bank: str | None) -> Iterator[None]:  # noqa: ARG002 - one lock serves all banks
        if self.read_only:
            raise LedgerReadOnly(self.path, "it was opened with read_only=True")
        with self._one_writer:
            self._check_open()
            with self._converted():
                yield

    @contextmanager
    def _read_transaction(self) -> Iterator[Connection]:
        connection = self._reader()
        try:
            self._begin(connection)
            yield connection
        finally:
            self._roll_back(connection)

    def _converted(self) -> AbstractContextManager[None]:
        return converted(self.path)

    def _reader(self) -> Connection:
        """Return this thread's read-only connection, and close the connections of threads that have ended."""
        thread = threading.current_thread()
        if connection := self._readers.get(thread):
            return connection
        with self._opening:
            for finished in [known for known in self._readers if not known.is_alive()]:
                self._readers.pop(finished).close()
            connection = self._engine.connect()
            raw(connection).execute("PRAGMA query_only = ON")
            raw(connection).execute(f"PRAGMA cache_size = -{READER_CACHE_KIBIBYTES}")
            self._readers[thread] = connection
            return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            isolation_level=None,  # this class begins and ends transactions itself
            check_same_thread=False,  # for `close`, which closes the readers of other threads
            timeout=BUSY_MILLISECONDS / 1000,
            cached_statements=CACHED_STATEMENTS,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        return connection

    def _begin(self, connection: Connection) -> None:
        """Begin the transaction now. The driver would begin it only at the first write."""
        connection.begin()
        writes = connection is self._main and not self._shared_cache and not self.read_only
        raw(connection).execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def _roll_back(self, connection: Connection) -> None:
        """Roll back a transaction that was not committed, or whose commit failed."""
        connection.rollback()
        if raw(connection).in_transaction:
            raw(connection).rollback()

    def _configure(self) -> None:
        main = raw(self._main)
        if not self.read_only and not self._shared_cache:
            main.execute("PRAGMA journal_mode = WAL")
            main.execute("PRAGMA synchronous = FULL")
        if not is_created(main, self._directory):
            if self.read_only:
                raise LedgerReadOnly(
                    self.path, "it contains no ledger, and read_only=True does not create one"
                )
            (_create_in_memory if self._shared_cache else _create)(main)
        if not self.read_only and not self._shared_cache:
            main.execute("PRAGMA secure_delete = ON")
            if main.execute("SELECT 1 FROM unscrubbed LIMIT 1").fetchone():
                self._scrubbed()  # the process was killed between an erasure and its scrub

    def _scrubbed(self) -> Scrub:
        """Scrub while no connection of this process is inside a transaction. A full disk postpones it."""
        try:
            raw(self._main).execute("VACUUM")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            return Scrub.WAITING
        if not self._truncated():
            return Scrub.WAITING
        raw(self._main).execute("DELETE FROM unscrubbed")
        return Scrub.CLEAN if self._truncated() else Scrub.WAITING

    def _truncated(self) -> bool:
        busy, _, _ = raw(self._main).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy


def is_created(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a database contains this schema; False if it is empty.

    Args:
        connection: a connection, which may be read-only.
        path: the data directory, for messages.

    Raises:
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: the database belongs to another application.
    """
    application, version, objects = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if not objects:
        return False
    if application == DEVELOPMENT_ID:
        raise SchemaMismatch(path, version, SCHEMA_VERSION, development=True)
    if application != APPLICATION_ID:
        raise LedgerFailed(path, "the database belongs to another application")
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(path, version, SCHEMA_VERSION)
    return True


def _create(connection: sqlite3.Connection) -> None:
    """Create the schema in an empty database, in one transaction."""
    try:
        connection.executescript(_script())
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _create_in_memory(connection: sqlite3.Connection) -> None:
    """Copy the schema into an empty in-memory database from an image, which is five times faster than creating it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as source:
        source.deserialize(_image())
        source.execute("UPDATE ledger SET id = lower(hex(randomblob(16))), token = randomblob(8)")
        source.backup(connection)


@cache
def _script() -> str:
    """Return the script that creates the schema in an empty database."""
    dialect = _dialect().dialect
    statements: list[CreateTable | CreateIndex] = []
    for table in tables.metadata.sorted_tables:
        statements += [
            CreateTable(table),
            *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name))),
        ]
    return f"""
        BEGIN IMMEDIATE;
        {";".join(str(statement.compile(dialect=dialect)) for statement in statements)};
        INSERT INTO ledger (id, transactions, token) VALUES (lower(hex(randomblob(16))), 0, randomblob(8));
        PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {SCHEMA_VERSION};
        COMMIT;
    """


@cache
def _image() -> bytes:
    """Return a new ledger's database file as bytes."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _create(connection)
        return connection.serialize()
