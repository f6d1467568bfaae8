"""The ledger's database: connections, transactions, schema, and everything else that only one dialect of SQL has.

The rest of the package is SQLAlchemy Core and runs on any of them.
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

APPLICATION_ID = 0x484D454D  # "HMEM", of ledgers from schema version 1 on
DEVELOPMENT_ID = 0x48494E44  # "HIND", of ledgers of development versions, whose schemas had other tables
SCHEMA_VERSION = 1

LEDGER_FILE = "ledger.sqlite"
BUSY_MILLISECONDS = 5000
CACHED_STATEMENTS = (
    1000  # more than the package has: the driver's default of 128 would have many prepared again each turn
)
CACHE_KIBIBYTES = 16_384  # of the connection that writes
READER_CACHE_KIBIBYTES = (
    4_096  # of each thread that reads: the system's cache is behind it, at no cost in recall
)
_PRIMARY_CODE = 0xFF  # extended SQLite result codes keep the primary one in their low byte


@contextmanager
def converted(path: Path) -> Iterator[None]:
    """Run a block; what the database raises in it leaves as one of our errors.

    Raises:
        LedgerBusy: another connection holds the database for longer than the busy timeout.
        LedgerReadOnly: the file cannot be written.
        LedgerFailed: anything else: damage, a full disk, an I/O error.
        InvalidRequest: a text is not valid Unicode.
    """
    try:
        yield
    except DBAPIError as error:
        raise _ours(error.orig, path) from error
    except sqlite3.Error as error:  # of a statement that went to the driver
        raise _ours(error, path) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", f"{error.object!r:.80} is not valid Unicode", "Remove surrogates."
        ) from error


def _ours(error: BaseException | None, path: Path) -> StorageError:
    # Errors raised by the Python binding itself carry no SQLite code.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(path, None)
    if code == sqlite3.SQLITE_READONLY:
        return LedgerReadOnly(path, str(error))
    if str(error).startswith("Could not decode"):  # the rest of that message is the text itself
        return LedgerFailed(path, "a text in it is damaged; doctor(deep=True) names the memories that are")
    return LedgerFailed(path, str(error))


@cache
def _dialect() -> Engine:
    """What all ledgers of this process share: how statements are written in SQLite, and those written already."""
    engine = create_engine("sqlite://")
    with engine.connect():  # reads what this version of SQLite can do
        return engine


def engine_of(connect: Callable[[], sqlite3.Connection]) -> Engine:
    """An engine whose every connection is a new one made by `connect`."""
    parent = _dialect()
    pool = NullPool(connect)  # type: ignore[arg-type] # a connection of the standard library's driver
    return Engine(
        pool, parent.dialect, parent.url, execution_options={"compiled_cache": _WRITTEN, **_OPTIONS}
    )


_OPTIONS = {"preserve_rowcount": True}  # how many rows an INSERT added is asked for
_WRITTEN: dict[Any, Any] = {}
"""Compiled statements. All are constants of this package, so that their number is bounded."""


class Database:
    """A database, open. Every use of it is one transaction: this thread's reader, or the one writer.

    Attributes:
        path: the data directory or address, for messages.
        read_only: whether `writing` refuses.
        accept_loss: whether the user goes on without what may be found to be missing.
        clock: the ledger's.
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
        """This thread's reader inside one read transaction: all selects see the same revision, also those of blocks inside.

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
        """The writer inside one transaction, committed at the end of the block and rolled back if it raises.

        Raises:
            EngineClosed: after `close`.
            LedgerReadOnly: opened read-only.
        """
        with self._writer(), self.committing() as connection:
            yield connection

    @contextmanager
    def deciding(self) -> Iterator[Connection]:
        """The writer, for reads that lead to a commit by `committing`; nobody else writes meanwhile.

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
        """The writer's transaction, committed at the end of the block; inside `writing` or `deciding` only."""
        try:
            if not self._main.in_transaction():
                self._begin(self._main)
            yield self._main
            self._main.commit()
        finally:
            self._roll_back(self._main)

    def begin(self, loss: Loss | None) -> None:
        """Record a loss the user accepts. Once, after opening for writing."""
        if loss:
            with self.writing() as connection:
                accept(connection, loss)

    def scrub(self) -> Scrub:
        """Remove from the files what was erased from the tables, as far as this database can."""
        raise NotImplementedError

    def problems(self) -> tuple[str, ...]:
        """What the database finds wrong with its own files."""
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

    def _begin(self, connection: Connection) -> None:
        """Begin a transaction."""
        connection.begin()

    def _configure(self) -> None:
        """Prepare the writer's connection, and create the tables where there are none."""
        raise NotImplementedError

    def _as_reader(self, connection: Connection) -> Connection:
        """A new connection, made unable to write."""
        raise NotImplementedError

    def _release(self) -> None:
        """Release what else was held; all connections are closed."""

    def _roll_back(self, connection: Connection) -> None:
        """End a transaction that was not committed."""
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
    """A database in SQLite: one process writes.

    On disk, WAL lets readers go on while the writer decides and commits. The shared cache of an in-memory database
    has no such thing (a reader meets SQLITE_LOCKED or half a commit), so there a gate keeps readers out for the commit.
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
        """The writer's transaction; once it is on disk, the mark beside the file says so."""
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
        """Record a loss the user accepts, then make the mark say where the ledger stands. Once, after opening for writing."""
        super().begin(loss)
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

    def problems(self) -> tuple[str, ...]:
        """What SQLite finds wrong with the file itself."""
        try:
            with self.reading() as connection:
                rows = raw(connection).execute("PRAGMA integrity_check").fetchall()
        except LedgerFailed as error:  # too damaged to be checked
            return (error.reason,)
        return tuple(row[0] for row in rows if row[0] != "ok")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri,
            uri=True,
            isolation_level=None,  # transactions are begun and ended here, never by the binding
            check_same_thread=False,  # `close` closes the readers of other threads
            timeout=BUSY_MILLISECONDS / 1000,
            cached_statements=CACHED_STATEMENTS,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        return connection

    def _begin(self, connection: Connection) -> None:
        """Begin a transaction at once; the driver would do it late, at the first statement that writes."""
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
                raise LedgerReadOnly(self.path, "it holds no ledger, and read_only=True creates none")
            (_create_in_memory if self._shared_cache else _create)(main)
        if not self.read_only and not self._shared_cache:
            main.execute("PRAGMA secure_delete = ON")
            if main.execute("SELECT 1 FROM unscrubbed LIMIT 1").fetchone():
                self._scrubbed()  # killed between an erasure and its scrubbing

    def _scrubbed(self) -> Scrub:
        """Outside any transaction, with no other connection of this process inside one. A full disk makes it wait."""
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
        """End a transaction that was not committed, also one whose commit failed."""
        super()._roll_back(connection)
        if raw(connection).in_transaction:
            raw(connection).rollback()


class PostgresDatabase(Database):
    """A database in PostgreSQL. One process writes; more of them need locks of the server, which are not taken yet."""

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
        """Nothing yet: deleted rows stay in the files until PostgreSQL reuses their place."""
        return Scrub.NOT_OURS

    def problems(self) -> tuple[str, ...]:
        """None: PostgreSQL checks its own pages."""
        return ()

    def _configure(self) -> None:
        with self._main.begin():
            tables.metadata.create_all(self._main)
            if not self._main.scalar(select(func.count()).select_from(tables.ledger)):
                new = {"id": secrets.token_hex(16), "transactions": 0, "token": secrets.token_bytes(8)}
                self._main.execute(tables.ledger.insert(), new)

    def _as_reader(self, connection: Connection) -> Connection:
        """All selects of a transaction see one state, as in SQLite."""
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
    """Whether a database holds this schema; False for an empty one.

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
    """Create the schema in an empty database in memory: copied from an image, in a fifth of the time."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as source:
        source.deserialize(_image())
        source.execute("UPDATE ledger SET id = lower(hex(randomblob(16))), token = randomblob(8)")
        source.backup(connection)


@cache
def _script() -> str:
    """Creates the schema in an empty database, in one transaction."""
    dialect = _dialect().dialect
    made: list[CreateTable | CreateIndex] = []
    for table in tables.metadata.sorted_tables:
        made += [
            CreateTable(table),
            *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name))),
        ]
    return f"""
        BEGIN IMMEDIATE;
        {";".join(str(each.compile(dialect=dialect)) for each in made)};
        INSERT INTO ledger (id, transactions, token) VALUES (lower(hex(randomblob(16))), 0, randomblob(8));
        PRAGMA application_id = {APPLICATION_ID};
        PRAGMA user_version = {SCHEMA_VERSION};
        COMMIT;
    """


@cache
def _image() -> bytes:
    """The file of a ledger as `_create` leaves it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _create(connection)
        return connection.serialize()
