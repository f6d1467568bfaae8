"""The ledger's databases: connections, transactions, schema, and everything specific to one SQL dialect.

The rest of the package is SQLAlchemy Core and runs on either.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, NullPool, create_engine, event, func, select
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

APPLICATION_ID = 0x484D454D  # "HMEM": ledgers from schema version 1 on
DEVELOPMENT_ID = 0x48494E44  # "HIND": ledgers of development versions, which had other tables
SCHEMA_VERSION = 1

LEDGER_FILE = "ledger.sqlite"
BUSY_MILLISECONDS = 5000
# More than the package has; the driver's default of 128 would re-prepare many each turn.
CACHED_STATEMENTS = 1000
CACHE_KIBIBYTES = 16_384  # of the writer's connection
READER_CACHE_KIBIBYTES = 4_096  # per reader thread; the system's file cache backs it, so recall is no slower
_PRIMARY_CODE = 0xFF  # extended SQLite result codes keep the primary one in their low byte


@contextmanager
def converted(path: Path) -> Iterator[None]:
    """Run a block and convert database exceptions to the package's own.

    Raises:
        LedgerBusy: another connection holds the database for longer than the busy timeout.
        LedgerReadOnly: the file cannot be written.
        LedgerFailed: anything else: damage, a full disk, an I/O error.
        InvalidRequest: a text is not valid Unicode.
    """
    try:
        yield
    except DBAPIError as error:
        raise _convert(error.orig, path) from error
    except sqlite3.Error as error:  # from a statement sent directly to the driver
        raise _convert(error, path) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", f"{error.object!r:.80} is not valid Unicode", "Remove surrogates."
        ) from error


def _convert(error: BaseException | None, path: Path) -> StorageError:
    # Errors raised by the Python binding itself carry no SQLite code.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(path, None)
    if code == sqlite3.SQLITE_READONLY:
        return LedgerReadOnly(path, str(error))
    if str(error).startswith("Could not decode"):  # the rest of that message quotes the text itself
        return LedgerFailed(path, "a text in it is damaged; doctor(deep=True) names the memories that are")
    return LedgerFailed(path, str(error))


@cache
def _dialect() -> Engine:
    """Return the SQLite dialect and engine settings shared by all ledgers of this process."""
    engine = create_engine("sqlite://")
    with engine.connect():  # detects the features of this SQLite version
        return engine


def engine_of(connect: Callable[[], sqlite3.Connection]) -> Engine:
    """Create an engine that opens every connection with `connect`."""
    parent = _dialect()
    pool = NullPool(connect)  # type: ignore[arg-type] # a connection of the standard library's driver
    return Engine(
        pool, parent.dialect, parent.url, execution_options={"compiled_cache": _COMPILED, **_OPTIONS}
    )


_OPTIONS = {"preserve_rowcount": True}  # the number of rows an INSERT added is read
_COMPILED: dict[Any, Any] = {}
"""Compiled statements. All are constants of this package, so their number is bounded."""


class Database:
    """An open database. Each use is one transaction, on this thread's reader or on the single writer.

    Attributes:
        path: the data directory or address, for messages.
        read_only: whether `writing` refuses.
        accept_loss: whether to continue when committed data turns out to be missing.
        clock: the ledger's clock.
    """

    def __init__(
        self,
        path: Path,
        engine: Engine,
        *,
        clock: Clock,
        read_only: bool = False,
        accept_loss: bool = False,
    ) -> None:
        self.path, self.read_only, self.accept_loss, self.clock = path, read_only, accept_loss, clock
        self._engine = engine
        self._readers: dict[threading.Thread, Connection] = {}
        self._opening, self._one_writer, self._gate = threading.Lock(), threading.Lock(), Gate()
        self._closed = False
        with converted(path):
            self._main = engine.connect()
        with ExitStack() as undo:
            undo.callback(self._main.close)
            with converted(path):
                self._configure()
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction on this thread's reader; nested blocks share it and see the same revision.

        Raises:
            EngineClosed: after `close`.
        """
        reader = self._readers.get(threading.current_thread())
        if reader and reader.in_transaction():
            yield reader
            return
        with self._gate.shared(), converted(self.path):
            connection = self._reader()
            try:
                self._begin(connection)
                yield connection
            finally:
                self._roll_back(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction on the writer; it commits at the end of the block and rolls back on an exception.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: opened read-only.
        """
        with self._writer(), self.committing() as connection:
            yield connection

    @contextmanager
    def deciding(self) -> Iterator[Connection]:
        """Hold the writer for reads that lead to a `committing` block; other writers wait.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: opened read-only.
        """
        with self._writer():
            try:
                self._begin(self._main)
                yield self._main
            finally:
                self._roll_back(self._main)

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """Run a block in the writer's transaction and commit it; only inside `writing` or `deciding`."""
        try:
            if not self._main.in_transaction():
                self._begin(self._main)
            yield self._main
            self._main.commit()
        finally:
            self._roll_back(self._main)

    def begin(self, loss: Loss | None) -> None:
        """Record a loss the user accepts. Call once, after opening for writing."""
        if loss:
            with self.writing() as connection:
                accept(connection, loss)

    def scrub(self) -> Scrub:
        """Remove erased data from the files, as far as this database can."""
        raise NotImplementedError

    def problems(self) -> tuple[str, ...]:
        """Return the problems the database finds in its own files."""
        raise NotImplementedError

    def close(self) -> None:
        """Wait for running reads and writes, close every connection and release the lock. Idempotent."""
        with self._one_writer, self._gate.exclusive():
            if self._closed:
                return
            self._closed = True
            for connection in (*self._readers.values(), self._main):
                connection.close()
            self._readers.clear()
            self._release()

    @contextmanager
    def _writer(self) -> Iterator[None]:
        """Hold the writer's lock."""
        if self.read_only:
            raise LedgerReadOnly(self.path, "it was opened with read_only=True")
        with self._one_writer:
            self._check_open()
            with converted(self.path):
                yield

    def _check_open(self) -> None:
        if self._closed:
            raise EngineClosed("its ledger was closed")

    def _begin(self, connection: Connection) -> None:
        """Begin a transaction."""
        connection.begin()

    def _configure(self) -> None:
        """Prepare the writer's connection, and create the tables if they are missing."""
        raise NotImplementedError

    def _as_reader(self, connection: Connection) -> Connection:
        """Make a new connection read-only."""
        raise NotImplementedError

    def _release(self) -> None:
        """Release other resources, after all connections are closed."""

    def _roll_back(self, connection: Connection) -> None:
        """Roll back a transaction that was not committed."""
        connection.rollback()

    def _reader(self) -> Connection:
        self._check_open()
        thread = threading.current_thread()
        if connection := self._readers.get(thread):
            return connection
        with self._opening:
            for finished in [known for known in self._readers if not known.is_alive()]:
                self._readers.pop(finished).close()
            connection = self._engine.connect()
            self._readers[thread] = self._as_reader(connection)
            return self._readers[thread]


class SqliteDatabase(Database):
    """SQLite: one process writes.

    On disk, WAL lets readers continue while the writer decides and commits. The shared cache of an in-memory
    database has no WAL (a reader gets SQLITE_LOCKED or sees half a commit), so a gate keeps readers out
    during the commit.
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
    ) -> None:
        self._uri, self._lock, self._shared_cache = uri, lock, shared
        self._high_water = HighWaterFile(path) if lock else None
        super().__init__(
            path,
            engine_of(self._connect),
            clock=clock,
            read_only=read_only,
            accept_loss=accept_loss,
        )

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """Run a block in the writer's transaction; after the commit, update the high-water mark beside the file."""
        mark = None
        with self._gate.exclusive() if self._shared_cache else nullcontext(), super().committing() as main:
            begun(main)
            before = changes(main)
            yield main
            if self._high_water and changes(main) != before:
                mark = counted(main)
        if mark and self._high_water:
            self._high_water.write(mark)

    def begin(self, loss: Loss | None) -> None:
        """Record a loss the user accepts, then reset the high-water mark. Call once, after opening for writing."""
        super().begin(loss)
        with self.writing() as connection:
            own = state_of(connection)
        if self._high_water and self._high_water.read()[-1:] != [own]:
            self._high_water.restart(own)

    def scrub(self) -> Scrub:
        """Vacuum and truncate the write-ahead log, so that no free page and no log frame keeps erased data.

        Readers of this process wait meanwhile. An in-memory database needs no scrubbing.
        """
        if self.read_only:
            return Scrub.NOT_OURS
        if self._shared_cache:
            return Scrub.CLEAN
        with self._writer(), self._gate.exclusive():
            return self._scrubbed()

    def problems(self) -> tuple[str, ...]:
        """Run SQLite's integrity check."""
        try:
            with self.reading() as connection:
                rows = raw(connection).execute("PRAGMA integrity_check").fetchall()
        except LedgerFailed as error:  # too damaged to check
            return (error.reason,)
        return tuple(row[0] for row in rows if row[0] != "ok")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            isolation_level=None,  # this class begins and ends transactions, not the driver
            check_same_thread=False,  # `close` closes the readers of other threads
            timeout=BUSY_MILLISECONDS / 1000,
            cached_statements=CACHED_STATEMENTS,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        return connection

    def _begin(self, connection: Connection) -> None:
        """Begin the transaction now; the driver would begin it only at the first write."""
        super()._begin(connection)
        writes = connection is self._main and not self._shared_cache and not self.read_only
        raw(connection).execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def _configure(self) -> None:
        main = raw(self._main)
        if not self.read_only and not self._shared_cache:
            main.execute("PRAGMA journal_mode = WAL")
            main.execute("PRAGMA synchronous = FULL")
        if not is_created(main, self.path):
            if self.read_only:
                raise LedgerReadOnly(
                    self.path, "it contains no ledger, and read_only=True does not create one"
                )
            (_create_in_memory if self._shared_cache else _create)(main)
        if not self.read_only and not self._shared_cache:
            main.execute("PRAGMA secure_delete = ON")
            if main.execute("SELECT 1 FROM unscrubbed LIMIT 1").fetchone():
                self._scrubbed()  # killed between an erasure and its scrubbing

    def _scrubbed(self) -> Scrub:
        """Scrub outside any transaction, while no connection of this process is inside one. A full disk postpones it."""
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

    def _as_reader(self, connection: Connection) -> Connection:
        raw(connection).execute("PRAGMA query_only = ON")
        raw(connection).execute(f"PRAGMA cache_size = -{READER_CACHE_KIBIBYTES}")
        return connection

    def _release(self) -> None:
        if self._high_water:
            self._high_water.close()
        if self._lock:
            self._lock.release()

    def _roll_back(self, connection: Connection) -> None:
        """Roll back a transaction that was not committed, or whose commit failed."""
        super()._roll_back(connection)
        if raw(connection).in_transaction:
            raw(connection).rollback()


class PostgresDatabase(Database):
    """PostgreSQL, with one writing process; several would need server-side locks, which are not implemented."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
    ) -> None:
        engine = create_engine(url, poolclass=NullPool, execution_options=_OPTIONS)
        event.listen(engine, "after_cursor_execute", _count_changes)
        super().__init__(
            Path(engine.url.render_as_string(hide_password=True)),
            engine,
            clock=clock,
        )

    def scrub(self) -> Scrub:
        """Do nothing: deleted rows stay in the files until PostgreSQL reuses the space."""
        return Scrub.NOT_OURS

    def problems(self) -> tuple[str, ...]:
        """Return nothing: PostgreSQL checks its own pages."""
        return ()

    def _configure(self) -> None:
        with self._main.begin():
            tables.metadata.create_all(self._main)
            if not self._main.scalar(select(func.count()).select_from(tables.ledger)):
                new = {"id": secrets.token_hex(16), "transactions": 0, "token": secrets.token_bytes(8)}
                self._main.execute(tables.ledger.insert(), new)

    def _as_reader(self, connection: Connection) -> Connection:
        """Use REPEATABLE READ, so that all selects of a transaction see one state, as in SQLite."""
        return connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _count_changes(
    connection: Connection,
    cursor: Any,  # noqa: ANN401 - the driver's
    statement: str,  # noqa: ARG001
    parameters: object,  # noqa: ARG001
    context: Any,  # noqa: ANN401 - the dialect's
    executemany: bool,  # noqa: ARG001
) -> None:
    if context.isinsert or context.isupdate or context.isdelete:
        connection.info["changes"] = connection.info.get("changes", 0) + max(cursor.rowcount, 0)


def is_created(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether a database holds this schema; False for an empty one.

    Args:
        connection: may be read-only.
        path: the data directory, for messages.

    Raises:
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: it belongs to another application.
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
        raise LedgerFailed(path, "it is a database of another application")
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
    """Copy the schema into an empty in-memory database from an image, five times faster than creating it."""
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
