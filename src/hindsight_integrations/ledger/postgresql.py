"""The ledger on PostgreSQL, which processes on several machines may use at the same time.

A writer holds the advisory lock of its bank from before its first read to the end of its transaction. It therefore
decides on the newest state, and no other writer can commit to the bank in between. READ COMMITTED is required: under
REPEATABLE READ, the statement that waits for the lock would take its snapshot before it has the lock.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    URL,
    VARCHAR,
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    bindparam,
    column,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
    table,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

from hindsight_integrations.config import CONNECTIONS
from hindsight_integrations.errors import (
    BankLocked,
    InvalidRequest,
    LedgerFailed,
    LedgerReadOnly,
    LedgerUnreachable,
    MissingDependency,
    SchemaMismatch,
    StorageError,
)
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.databases import OPTIONS, SCHEMA_VERSION, Database, not_unicode
from hindsight_integrations.ledger.losses import begun, token_of, watermark_of
from hindsight_integrations.ledger.sql import SENT_LATER
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.clock import Clock, SystemClock
from hindsight_integrations.model.watermark import Watermark

LOCK_SECONDS = 30
"""Maximum seconds for which a writer waits for the lock of its bank. A turn holds it for milliseconds, an import for seconds."""

IDLE_SECONDS = 60
"""Idle seconds after which the server ends a transaction, which releases the lock of its bank."""

CONNECT_SECONDS = 10
SILENT_SECONDS = 20
"""Seconds without a TCP acknowledgement after which the server counts as lost; by default, Linux waits for minutes."""

POOL_SECONDS = 30
RESTED_SECONDS = 5
"""Idle seconds after which a connection is tested before use, because the server may have been restarted."""

RECYCLE_SECONDS = 600
"""Age in seconds at which a connection is replaced, so that the server's clock is read again and old backends end."""

_DRIVERS = {"postgresql", "postgres", "postgresql+psycopg"}

_SET_UP = 0x48494E44
"""Key of the advisory lock that is held while the schema is created."""


def checked_address(address: str) -> URL:
    """Parse an address, and select its driver.

    `?prepare_threshold=none` disables prepared statements, for a PgBouncer that does not support them.

    Raises:
        InvalidRequest: it is not the address of a PostgreSQL server, or it names no database.
    """
    remedy = "Use postgresql://user:password@host:5432/name."
    try:
        url = make_url(address)
    except ArgumentError:
        raise InvalidRequest("path", "it is not a valid address", remedy) from None
    if url.drivername not in _DRIVERS:
        raise InvalidRequest("path", f"{url.drivername} is not a supported database", remedy)
    if not url.database:
        raise InvalidRequest("path", "the PostgreSQL address names no database", remedy)
    return url.set(drivername="postgresql+psycopg")


def public_address(url: URL) -> str:
    """Return the address without user and password, which is the same for all processes that use the database."""
    socket_folder = url.query.get("host", "")
    host = url.host or (socket_folder if isinstance(socket_folder, str) else "")
    return f"postgresql://{host}:{url.port or 5432}/{url.database}"


class ServerClock:
    """The server's clock, so that all processes agree on when leases end and tasks are due.

    Args:
        clock: this machine's clock. It is corrected by its difference to the server's clock, as read by the newest connection.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._ahead = clock, timedelta(0)

    def now(self) -> datetime:
        """Return the server's current time."""
        return self._clock.now() + self._ahead

    def adjust(self, server: datetime) -> None:
        """Set the server's time at this moment."""
        self._ahead = server - self._clock.now()


class PostgresDatabase(Database):
    """A PostgreSQL database, with one pool of connections for reads and another one for writes.

    A write may read on a second connection. With a single pool, writes could take all connections and wait for each other.

    Args:
        url: the address, with driver psycopg.
        clock: the system clock, which is corrected to the server's time, or a test clock, which is not corrected.
        read_only: write nothing, not even a schema. Works on a standby.
        connections: maximum number of connections in each pool.
        lock_seconds: how long a writer waits for the lock of its bank.
    """

    shared = True

    def __init__(
        self,
        url: URL,
        *,
        clock: Clock,
        read_only: bool = False,
        connections: int = CONNECTIONS,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        self._server_clock = ServerClock(clock) if isinstance(clock, SystemClock) else None
        # accept_loss: a commit that only a local index knows means that the index is outdated, not that data was lost.
        super().__init__(
            public_address(url), clock=self._server_clock or clock, read_only=read_only, accept_loss=True
        )
        self._lock_milliseconds = str(round(lock_seconds * 1000))
        self._writers = threading.local()
        self._read_engine = self._pool(url, connections)
        self._write_engine = self._pool(url, connections)
        with ExitStack() as undo:
            undo.callback(self._dispose)
            with self._converted():
                self._check_schema()
            undo.pop_all()

    @contextmanager
    def reading_once(self) -> Iterator[Connection]:
        """Open a block for a single read statement, which needs no explicit transaction."""
        if getattr(self._open_readers, "connection", None) is not None:
            with self.reading() as connection:
                yield connection
            return
        with self._gate.shared(), self._converted():
            self._check_open()
            with self._read_engine.connect() as connection:
                yield connection

    @contextmanager
    def deciding(self, bank: str) -> Iterator[Connection]:
        """Lock a bank for reads that lead to a `committing` block. Other writers of the bank wait, in any process."""
        with self._writer(bank):
            yield self._writers.connection

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """Run a block in this thread's write transaction and commit it. Only inside `writing` or `deciding`.

        If the answer to COMMIT is lost, the commit is looked up by its token before it is reported as failed.
        """
        connection: Connection = self._writers.connection
        begun(connection)
        yield connection
        mark = watermark_of(connection)
        try:
            connection.exec_driver_sql("COMMIT")  # sends all queued statements too
            connection.commit()  # updates SQLAlchemy's state and sends nothing
        except DBAPIError as error:
            if not (error.connection_invalidated and mark and self._is_committed(connection, mark)):
                raise

    def scrub(self) -> Scrub:
        """Do nothing: the server reuses the space of deleted rows by itself."""
        return Scrub.NOT_OURS

    def problems(self) -> tuple[str, ...]:
        """Return nothing: PostgreSQL checks its own pages."""
        return ()

    def close(self) -> None:
        """Wait for running reads and writes, and close every connection. Can be called more than once."""
        with self._gate.exclusive():
            self._closed = True
            self._dispose()

    @contextmanager
    def _writer(self, bank: str | None) -> Iterator[None]:
        if self.read_only:
            raise LedgerReadOnly(self.path, "it was opened with read_only=True")
        with self._gate.shared(), self._converted(bank):
            self._check_open()
            with self._connected(self._write_engine, "BEGIN ISOLATION LEVEL READ COMMITTED") as connection:
                if bank is not None:
                    self._lock(connection, bank)
                self._writers.connection, self._writers.bank = connection, bank
                try:
                    yield
                finally:
                    self._writers.connection = self._writers.bank = None

    def _read_transaction(self) -> AbstractContextManager[Connection]:
        return self._connected(self._read_engine, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    @contextmanager
    def _connected(self, engine: Engine, begin: str) -> Iterator[Connection]:
        """Open a transaction, which is rolled back at the end of the block. `begin` is sent with its first statement."""
        with engine.connect() as connection:
            queue = _queue(connection)
            queue.append(_Queued(begin))
            try:
                yield connection
            finally:
                queue.clear()

    def _lock(self, connection: Connection, bank: str) -> None:
        """Queue the statement that locks a bank; it is sent with the next statement."""
        values = {"lock": self._lock_milliseconds, "idle": f"{IDLE_SECONDS}s", "key": lock_key(bank)}
        connection.execute(_LOCK_BANK, values, execution_options={SENT_LATER: []})

    def _is_committed(self, connection: Connection, mark: Watermark) -> bool:
        """Reconnect, and look up a commit. The lock makes this wait until the server has ended the transaction."""
        connection.rollback()
        _queue(connection).append(_Queued("BEGIN"))
        self._lock(connection, self._writers.bank)
        return token_of(connection, mark.generation, mark.revision) == mark.token

    def _check_schema(self) -> None:
        with self._read_engine.connect() as connection:
            version = self._schema_version(connection)
        if version is None:
            if self.read_only:
                raise LedgerReadOnly(
                    self.path, "it contains no ledger, and read_only=True does not create one"
                )
            with self.writing() as connection:
                connection.execute(LOCK_SET_UP)
                if self._schema_version(connection) is None:  # no other process created it in the meantime
                    self._create(connection)
        elif version != SCHEMA_VERSION:
            raise SchemaMismatch(self.path, version, SCHEMA_VERSION)

    def _schema_version(self, connection: Connection) -> int | None:
        """Return the version of the schema; None if the database contains no ledger.

        Raises:
            LedgerFailed: the database belongs to another application.
        """
        if not inspect(connection).has_table(schema.name):
            return None
        version = connection.scalar(select(schema.c.version_num)) or ""
        if not version.isdecimal() or not inspect(connection).has_table(tables.ledger.name):
            raise LedgerFailed(self.path, "the database belongs to another application")
        return int(version)

    def _create(self, connection: Connection) -> int:
        """Create the tables in an empty database; return the version of the schema."""
        schema.create(connection)
        connection.execute(schema.insert(), {"version_num": str(SCHEMA_VERSION)})
        tables.keyed_by_bank().create_all(connection)
        new = {"id": secrets.token_hex(16), "transactions": 0, "token": secrets.token_bytes(8)}
        connection.execute(tables.ledger.insert(), new)
        return SCHEMA_VERSION

    def _pool(self, url: URL, connections: int) -> Engine:
        options: dict[str, Any] = {}
        if (threshold := url.query.get("prepare_threshold")) is not None:
            url = url.difference_update_query(["prepare_threshold"])
            options["prepare_threshold"] = int(str(threshold)) if str(threshold).isdecimal() else None
        try:
            engine = create_engine(
                url,
                isolation_level="AUTOCOMMIT",  # `_connected` sends BEGIN together with the first statement
                pool_size=connections,
                max_overflow=0,
                pool_timeout=POOL_SECONDS,
                pool_recycle=RECYCLE_SECONDS,
                pool_use_lifo=True,
                pool_reset_on_return=None,  # `_roll_back` does it
                skip_autocommit_rollback=True,
                connect_args={
                    **options,
                    "connect_timeout": CONNECT_SECONDS,
                    "keepalives_idle": SILENT_SECONDS // 2,
                    "keepalives_interval": SILENT_SECONDS // 4,
                    "tcp_user_timeout": SILENT_SECONDS * 1000,
                    "application_name": f"hindsight {socket.gethostname()}:{os.getpid()}",
                },
                execution_options=OPTIONS,
            )
        except ImportError as error:
            raise MissingDependency(
                "psycopg, the driver for PostgreSQL,", "Run `pip install hindsight-integrations[postgres]`."
            ) from error
        event.listen(engine, "do_execute", _execute)
        event.listen(engine, "do_executemany", _execute)
        event.listen(engine, "after_cursor_execute", _count_changes)
        event.listen(engine, "reset", _roll_back)
        event.listen(engine, "checkin", _note_rest)
        event.listen(engine, "checkout", _end_rest)
        if self._server_clock is not None:
            event.listen(engine, "connect", partial(_read_clock, self._server_clock))
        return engine

    def _dispose(self) -> None:
        """Close unused connections; the pools open new ones on demand."""
        for engine in (self._read_engine, self._write_engine):
            engine.dispose()

    @contextmanager
    def _converted(self, bank: str | None = None) -> Iterator[None]:
        try:
            yield
        except PoolTimeout as error:
            raise LedgerUnreachable(
                self.path,
                f"all connections of this process were in use for {POOL_SECONDS} s; set a higher StorageConfig(connections=)",
            ) from error
        except DBAPIError as error:
            raise self._convert(error, bank) from error
        except PendingRollbackError as error:  # the connection was used after the server had closed it
            raise LedgerUnreachable(self.path, "the connection was closed during the call") from error
        except UnicodeEncodeError as error:
            raise not_unicode(error) from error

    def _convert(self, error: DBAPIError, bank: str | None) -> StorageError:
        code, reason = getattr(error.orig, "sqlstate", None) or "", str(error.orig).partition("\n")[0]
        if code == _LOCK_NOT_AVAILABLE and bank is not None:
            return BankLocked(bank, self._holder(bank), int(self._lock_milliseconds) / 1000)
        if code in _READ_ONLY:
            return LedgerReadOnly(self.path, reason)
        if "prepared statement" in reason:
            reason = f"{reason}; behind PgBouncer, add ?prepare_threshold=none to the address"
        if code in _ADVICE:
            reason = f"{reason}; {_ADVICE[code]}"
        if error.connection_invalidated:
            self._dispose()  # the other connections are probably lost too, and replacing them is cheap
        if code != _DISK_FULL and (not code or code[:2] in _UNREACHABLE or error.connection_invalidated):
            return LedgerUnreachable(self.path, reason)
        return LedgerFailed(self.path, reason)

    def _holder(self, bank: str) -> str:
        """Describe the client that holds a bank's lock; empty if no client holds it any more."""
        try:
            with self._read_engine.connect() as connection:
                row = connection.execute(_HOLDER, _lock_parts(bank)).first()
        except (DBAPIError, PoolTimeout):
            return ""
        return f"{row.application_name or 'an unnamed client'} (backend {row.pid})" if row else ""


def lock_key(bank: str) -> int:
    """Return the key of a bank's advisory lock. If two banks share a key, their writers wait for each other."""
    digest = blake2b(bank.encode("utf-8", "surrogatepass"), digest_size=8, person=b"hindsight").digest()
    return int.from_bytes(digest, "big", signed=True)


def _lock_parts(bank: str) -> dict[str, int]:
    """Return the key's upper and lower halves, as `pg_locks` shows them."""
    unsigned = lock_key(bank) % 2**64
    return {"upper": unsigned >> 32, "lower": unsigned % 2**32}


# `set_config` comes first, because the time limit must apply while the statement waits for the lock.
_LOCK_BANK = select(
    func.set_config("lock_timeout", bindparam("lock"), True),
    func.set_config("idle_in_transaction_session_timeout", bindparam("idle"), True),
    func.pg_advisory_xact_lock(bindparam("key", type_=BigInteger)),
)
LOCK_SET_UP = select(func.pg_advisory_xact_lock(_SET_UP))
"""Waits for other processes that are creating or changing the tables."""
_locks = table("pg_locks", *map(column, ("locktype", "classid", "objid", "objsubid", "granted", "pid")))
_activity = table("pg_stat_activity", column("pid"), column("application_name"))
_HOLDER = select(_activity.c.pid, _activity.c.application_name).join_from(
    _activity,
    _locks,
    (_locks.c.pid == _activity.c.pid)
    & (_locks.c.locktype == "advisory")
    & (_locks.c.classid == bindparam("upper"))
    & (_locks.c.objid == bindparam("lower"))
    & (_locks.c.objsubid == 1)
    & _locks.c.granted,
)

_LOCK_NOT_AVAILABLE = "55P03"
_READ_ONLY = {"25006", "42501"}  # standby or read-only session; insufficient privileges
_DISK_FULL = "53100"
_ADVICE = {
    _DISK_FULL: "free disk space on the server",
    "57014": "if statement_timeout ended the statement, raise that limit for the database user",
}
# Classes of SQLSTATE codes: connection, authorisation, resources, shutdown, unknown database.
_UNREACHABLE = {"08", "28", "53", "57", "3D"}

schema = Table("alembic_version", MetaData(), Column("version_num", VARCHAR(32), primary_key=True))
"""The version of the schema, which Alembic stores here."""


def _read_clock(clock: ServerClock, connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's
    with connection.cursor() as cursor:
        cursor.execute(_TIME)
        clock.adjust(cursor.fetchone()[0].astimezone(UTC))
    connection.rollback()


_TIME = str(select(func.clock_timestamp()).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]


def _roll_back(connection: Any, record: ConnectionPoolEntry, state: PoolResetState) -> None:  # noqa: ANN401 - the driver's
    """End the transaction of a connection that returns to the pool.

    Nothing waits for the server's answer to ROLLBACK, which the next use of the connection reads. The driver's `rollback` would
    wait for it, and would drop all prepared statements.
    """
    from psycopg.pq import TransactionStatus

    if state.terminate_only or connection.pgconn.transaction_status != TransactionStatus.INTRANS:
        connection.rollback()  # sends nothing if there is no transaction
        return
    connection.pgconn.send_query(b"ROLLBACK")
    connection.pgconn.flush()
    record.info["rolling_back"] = True


def _note_rest(_: object, record: ConnectionPoolEntry) -> None:
    record.info["rests_since"] = time.monotonic()


def _end_rest(connection: Any, record: ConnectionPoolEntry, _: object) -> None:  # noqa: ANN401 - the driver's
    """Read the answer to ROLLBACK, and test a connection that was idle; the pool replaces a broken one.

    Raises:
        DisconnectionError: the connection is broken.
    """
    rested = time.monotonic() - record.info.get("rests_since", time.monotonic()) >= RESTED_SECONDS
    if not rested and not record.info.get("rolling_back"):
        return
    import psycopg
    from psycopg.generators import fetch_many

    try:
        if record.info.pop("rolling_back", False):
            connection.wait(fetch_many(connection.pgconn))
        if rested:
            connection.execute(_TIME)
    except psycopg.Error as error:
        raise DisconnectionError from error


@dataclass(frozen=True, slots=True)
class _Queued:
    """A statement that is sent together with the next one, in a single round trip.

    Attributes:
        statement: the SQL text.
        parameters: its values; a list of them for several executions.
        cursors: list to which the driver's cursor with the result is appended.
        changes_rows: whether the statement changes rows.
    """

    statement: str
    parameters: Any = None
    cursors: list[Any] = field(default_factory=list)
    changes_rows: bool = False

    def send(self, cursor: Any) -> Any:  # noqa: ANN401 - the driver's
        """Send the statement in a pipeline. Return the cursor, which has the result when the pipeline ends."""
        send = cursor.executemany if isinstance(self.parameters, list) else cursor.execute
        send(self.statement, self.parameters)
        return cursor


_queues: WeakKeyDictionary[Any, list[_Queued]] = WeakKeyDictionary()
"""For each of the driver's connections, the statements that are queued to be sent with the next one."""


def _queue(connection: Connection) -> list[_Queued]:
    return _queues.setdefault(connection.connection.driver_connection, [])


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:  # noqa: ANN401 - the driver's
    """Queue a statement that may be sent later; otherwise send it with all queued statements in one round trip."""
    connection = cursor.connection
    queue, cursors = _queues.setdefault(connection, []), context.execution_options.get(SENT_LATER)
    if cursors is not None:
        changes_rows = context.isinsert or context.isupdate or context.isdelete
        queue.append(_Queued(statement, parameters, cursors, changes_rows))
        return True
    if not queue:
        return False  # let SQLAlchemy send it
    waiting = queue.copy()
    queue.clear()
    with connection.pipeline():
        sent = [(each, each.send(connection.cursor())) for each in waiting]
        _Queued(statement, parameters).send(cursor)
    for each, answered in sent:
        each.cursors.append(answered)
        if each.changes_rows:
            _add_changes(context.root_connection, answered)
    return True


def _count_changes(
    connection: Connection,
    cursor: Any,  # noqa: ANN401 - the driver's
    statement: str,  # noqa: ARG001
    parameters: object,  # noqa: ARG001
    context: Any,  # noqa: ANN401 - the dialect's
    executemany: bool,  # noqa: ARG001
) -> None:
    if context.isinsert or context.isupdate or context.isdelete:
        _add_changes(connection, cursor)


def _add_changes(connection: Connection, cursor: Any) -> None:  # noqa: ANN401 - the driver's
    # The row count of a queued statement is still unknown: -1.
    connection.info["changes"] = connection.info.get("changes", 0) + max(cursor.rowcount, 0)
