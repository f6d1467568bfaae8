"""The ledger: the durable record of all banks, from which all indexes can be rebuilt."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Literal

import numpy as np
from sqlalchemy import Connection, bindparam, func, literal, select, update

from hindsight_integrations.config import CONNECTIONS
from hindsight_integrations.errors import InvalidRequest, is_database
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.archive import Archivist
from hindsight_integrations.ledger.checksums import vector_checksum
from hindsight_integrations.ledger.commit import commit
from hindsight_integrations.ledger.copies import Copies
from hindsight_integrations.ledger.databases import Database, SqliteDatabase
from hindsight_integrations.ledger.edits import UnitEditor
from hindsight_integrations.ledger.entities import EntityEditor, EntityReader
from hindsight_integrations.ledger.erasure import Eraser
from hindsight_integrations.ledger.feed import Ahead, Feed
from hindsight_integrations.ledger.items import ItemReader, ItemWriter
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import MentalModelReader, MentalModelWriter
from hindsight_integrations.ledger.observations import ObservationReader, observe_unobserved
from hindsight_integrations.ledger.opening import (
    IndexMarks,
    no_index_marks,
    open_for_reading,
    open_for_writing,
)
from hindsight_integrations.ledger.opinions import OpinionReader
from hindsight_integrations.ledger.postgresql import PostgresDatabase, checked_address
from hindsight_integrations.ledger.profile_changes import ProfileReader, ProfileWriter
from hindsight_integrations.ledger.records import RecordEditor, RecordReader
from hindsight_integrations.ledger.rows import (
    fields_text,
    find_bank,
    header_from,
    missing_bank,
)
from hindsight_integrations.ledger.rules import bank_key, check_vectors
from hindsight_integrations.ledger.sql import count_many, insert, key_of
from hindsight_integrations.ledger.tables import banks, units
from hindsight_integrations.ledger.tasks import Schedule, TaskQueue
from hindsight_integrations.ledger.turns import TurnReader
from hindsight_integrations.ledger.units import UnitReader
from hindsight_integrations.ledger.values import BankHeader, Receipt
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.clock import Clock, SystemClock
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.watermark import Watermark
from hindsight_integrations.model.writes import WriteSet

IN_MEMORY: Literal[":memory:"] = ":memory:"


class LedgerReader:
    """Reads of one bank, grouped by subject. The size of every result is bounded by the arguments.

    Row ids are int64 and never reused, even after an erasure.

    Raises:
        BankNotFound: raised by every method if the bank does not exist.
    """

    units: UnitReader
    entities: EntityReader
    records: RecordReader
    observations: ObservationReader
    opinions: OpinionReader
    mental_models: MentalModelReader
    profiles: ProfileReader
    turns: TurnReader
    items: ItemReader

    def snapshot(self, bank: str, row: int | None = None) -> AbstractContextManager[LedgerReader]:
        """Open a block in which all reads see one state of the bank. A nested snapshot sees the state of the outer one.

        Args:
            bank: the bank's name.
            row: the bank's row id if it is known, which saves a query. A forgotten bank then appears empty.
        """
        raise NotImplementedError

    def single_read(self, bank: str, row: int) -> AbstractContextManager[LedgerReader]:
        """Open a block for a single select, which saves two round trips on PostgreSQL. Takes the arguments of `snapshot`."""
        raise NotImplementedError


class Snapshot(LedgerReader):
    """Reads on a connection that sees one state of the ledger."""

    def __init__(self, connection: Connection, row: int, bank: str) -> None:
        self._connection, self._rows = connection, {bank: row}
        at = self._at
        self.units, self.entities, self.records = UnitReader(at), EntityReader(at), RecordReader(at)
        self.observations, self.opinions = ObservationReader(at), OpinionReader(at)
        self.mental_models, self.profiles = MentalModelReader(at), ProfileReader(at)
        self.turns, self.items = TurnReader(at), ItemReader(at)

    def snapshot(self, bank: str, row: int | None = None) -> AbstractContextManager[Snapshot]:  # noqa: ARG002 - as in LedgerReader
        """Return this snapshot itself."""
        return nullcontext(self)

    def single_read(self, bank: str, row: int) -> AbstractContextManager[Snapshot]:  # noqa: ARG002 - as in LedgerReader
        """Return this snapshot itself."""
        return nullcontext(self)

    def _at(self, bank: str) -> AbstractContextManager[tuple[Connection, int]]:
        if bank not in self._rows:
            self._rows[bank] = find_bank(self._connection, bank).id
        return nullcontext((self._connection, self._rows[bank]))


class Transaction(Snapshot):
    """Exclusive write access to one bank, from the first read to the commit.

    All reads of the bank, and `feed`, see the same state. Without a commit, or after an exception, nothing changes.
    """

    def __init__(self, database: Database, schedule: Schedule, connection: Connection, bank: str) -> None:
        self._feed = Feed(connection, bank, database)
        super().__init__(connection, self._feed.bank.id, bank)
        self._database, self._schedule, self._bank, self._done = database, schedule, bank, False

    @property
    def feed(self) -> Feed:
        """The bank in the state of this transaction, for indexes that must catch up before a decision."""
        return self._feed

    def commit(self, writes: WriteSet) -> Receipt:
        """Apply a write set completely or not at all. Can be called once.

        - Existing units, entities, mentions and links (by id) stay unchanged. Documents, chunks and the latest version
          of each message are replaced. Repeating a write set therefore changes nothing.
        - A closing event sets the unit's `closed_at`, a restoring event clears it. Both remove the observations made
          from the fact. `observed` replaces an entity's earlier observations.
        - An opinion without a formation or rewording in the write set is stored as given. An opinion's newest wording
          is closed when its last source fact is, and restored when one of them is.
        - New or restored facts and new opinions enqueue the task `REINFORCE` if some opinion has not been assessed
          against all valid facts.

        An empty write set, or one with only a profile, does not raise the revision.

        Raises:
            RevisionConflict: the bank's revision is not `writes.expected_revision`, its newest profile change
                is not `writes.profile.expected`, or an observed fact has changed since
                `writes.observed.at_revision`.
            TaskClosed: a lease in `writes.completed_tasks` is no longer valid.
            InvalidRequest: the write set refers to something that does not exist, or belongs to another bank.
        """
        if self._done:
            raise RuntimeError("a transaction can commit only once; open another one")
        if writes.bank != self._bank:
            reason = f"it belongs to bank {writes.bank!r}, but the transaction to {self._bank!r}"
            raise InvalidRequest("writes", reason, "Open a transaction on that bank.")
        with self._database.committing() as connection:
            receipt = commit(connection, self._feed.bank, writes, self._schedule)
        self._done = True
        return receipt


class Ledger(LedgerReader):
    """The durable record of all banks, with methods to read and write it and to follow its changes.

    It is stored in `<data directory>/ledger.sqlite`, in memory or on PostgreSQL. Reads can be called from any thread and
    never wait for a writer. Methods that write must be called from one thread at a time (the engine's writer). A commit is
    one transaction: if the process is killed at any moment, all of it is stored or nothing. Blocks opened by `snapshot`,
    `feed` and `transaction` belong to the thread that opened them. A change of a bank's content raises its revision; a
    change of links or mentions in place also raises the feed's `graph_epoch`.

    Raises:
        BankNotFound: raised by every method but `create_bank` if the bank does not exist.
        LedgerReadOnly: raised by every method that writes if the ledger cannot be written.
        EngineClosed: raised by every method after `close`.
    """

    units: UnitEditor
    entities: EntityEditor
    records: RecordEditor
    mental_models: MentalModelWriter
    profiles: ProfileWriter
    items: ItemWriter

    def __init__(self, database: Database, schedule: Schedule | None = None) -> None:
        self._database, self._schedule = database, schedule or Schedule(database.clock)
        at, schedule = self._at, self._schedule
        self.units = UnitEditor(at, database, schedule)
        self.entities = EntityEditor(at, database, schedule)
        self.records = RecordEditor(at, database)
        self.observations = ObservationReader(at)
        self.opinions = OpinionReader(at)
        self.mental_models = MentalModelWriter(at, database, schedule)
        self.profiles = ProfileWriter(at, database)
        self.turns = TurnReader(at)
        self.items = ItemWriter(at, database)
        self.tasks = TaskQueue(database)
        self.erasure = Eraser(database, schedule)
        self.archive = Archivist(database, schedule)
        self.copies = Copies(database)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        read_only: bool = False,
        accept_loss: bool = False,
        index_marks: IndexMarks = no_index_marks,
        clock: Clock | None = None,
        connections: int = CONNECTIONS,
        observing: timedelta | None = None,
        refreshing: timedelta = timedelta(0),
        reinforcing: timedelta = timedelta(0),
    ) -> Ledger:
        """Open a data directory or a PostgreSQL database, creating the ledger if needed.

        Args:
            path: the data directory; the address of a database ("postgresql://..."); or ":memory:" for a private
                ledger that is lost on close.
            read_only: open without taking the lock and without writing.
            accept_loss: continue if committed data is missing, and record the loss.
            index_marks: reads the watermarks of the indexes beside the ledger; called if the ledger's own mark does
                not suffice to detect a loss.
            clock: the clock for due times and leases; None means the system clock.
            connections: maximum number of database connections for reads, and the same number for writes.
            observing: delay between a change of an entity's facts and its observation task; None enqueues no such
                tasks.
            refreshing: the same delay for mental models that are refreshed automatically.
            reinforcing: the same delay for the assessment of opinions against new facts.

        Raises:
            LedgerLost: committed data is missing, and `accept_loss` is False.
            LedgerBusy: the directory is already open for writing, in this or another process; the error names its pid.
            LedgerReadOnly: the ledger cannot be written, or, with `read_only`, does not exist.
            SchemaMismatch: a development version or a newer version wrote it.
            LedgerFailed: the file is damaged or not a ledger.
            LedgerUnreachable: the database server does not answer.
            MissingDependency: the driver for PostgreSQL is not installed.
            InvalidRequest: a read-only ledger in memory, or an invalid address.
        """
        clock = clock or SystemClock()
        if is_database(path):
            url = checked_address(str(path))
            server = PostgresDatabase(url, clock=clock, read_only=read_only, connections=connections)
            return cls._opened(server, Schedule(server.clock, observing, refreshing, reinforcing))
        schedule = Schedule(clock, observing, refreshing, reinforcing)
        if path == IN_MEMORY:
            if read_only:
                raise InvalidRequest("read_only", "an in-memory ledger starts empty", "Open it for writing.")
            # A private database that no other engine can see. It is lost on `close`.
            uri = f"file:hindsight-{uuid.uuid4().hex}?mode=memory&cache=shared"
            return cls(SqliteDatabase(Path(IN_MEMORY), uri, clock=clock, shared_cache=True), schedule)
        open_it = open_for_reading if read_only else open_for_writing
        directory = open_it(Path(path), accept_loss=accept_loss, index_marks=index_marks, clock=clock)
        return cls._opened(directory, schedule)

    @classmethod
    def _opened(cls, database: Database, schedule: Schedule) -> Ledger:
        if not database.read_only:
            with ExitStack() as undo:
                undo.callback(database.close)
                observe_unobserved(schedule, database)
                undo.pop_all()
        return cls(database, schedule)

    def close(self) -> None:
        """Release the storage and its lock. Can be called more than once."""
        self._database.close()

    def banks(self) -> list[BankHeader]:
        """Return all banks, ordered by name."""
        with self._database.reading_once() as connection:
            return [header_from(row) for row in connection.execute(_BANKS)]

    def bank(self, name: str) -> BankHeader:
        """Return a bank."""
        with self._database.reading_once() as connection:
            if header := _header(connection, name):
                return header
            raise missing_bank(connection, name)

    def create_bank(self, name: str) -> BankHeader:
        """Return the bank with this name, creating it if it does not exist."""
        key = bank_key(name)
        with self._database.reading_once() as connection:
            if header := _header(connection, name):
                return header
        with self._database.writing() as connection:
            new = {"name": name, "key": key, "profile": fields_text(BankProfile())}
            if count_many(connection, insert(banks).on_conflict_do_nothing(), [new]):
                newest = select(func.max(banks.c.id)).scalar_subquery()
                connection.execute(update(tables.ledger).values(banks=newest))
        return self.bank(name)

    def claim_embedder(self, bank: str, embedder: EmbedderIdentity) -> None:
        """Record the embedder of a bank's vectors, unless one is already recorded."""
        fields = {"embedder": fields_text(embedder), "dimension": embedder.dimension}
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank).id
            connection.execute(
                update(banks).where(banks.c.id == row, banks.c.embedder.is_(None)).values(fields)
            )

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix) -> int:
        """Record the bank's embedder and replace the vectors of `ids`; return the new revision.

        Without ids, only the embedder is recorded. Indexes read the replaced vectors again.

        Args:
            bank: the bank.
            embedder: the new embedder.
            ids: row ids (n,).
            vectors: the new vectors, (n, dimension), unit norm.

        Raises:
            InvalidRequest: some of the bank's vectors would keep a different dimension.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            own = set(connection.scalars(_UNITS, {"bank": row.id}))
            covers = row.dimension in {None, embedder.dimension} or own <= set(ids.tolist())
            check_vectors(ids, vectors, embedder.dimension, covers_bank=covers)
            blobs = (vector.tobytes() for vector in np.asarray(vectors, "<f4"))
            replaced = count_many(
                connection,
                _PUT_VECTOR,
                [
                    {
                        "unit": unit,
                        "bank": row.id,
                        "revision": row.revision + 1,
                        "vector": blob,
                        "checksum": vector_checksum(blob),
                    }
                    for blob, unit in zip(blobs, ids.tolist(), strict=False)
                    if unit in own
                ],
            )
            revision = row.revision + bool(replaced)
            fields = {"embedder": fields_text(embedder), "dimension": embedder.dimension}
            connection.execute(update(banks).where(banks.c.id == row.id).values(fields))
            if replaced:
                advance(connection, row.id, revision)
        return revision

    @property
    def clock(self) -> Clock:
        """The clock for due times, leases and timestamps. On PostgreSQL, the system clock is corrected to the server's."""
        return self._database.clock

    @property
    def shared(self) -> bool:
        """Whether other processes may change the ledger while it is open here."""
        return self._database.shared

    def revision(self, bank: str) -> int:
        """Return the bank's current revision."""
        with self._database.reading_once() as connection:
            return find_bank(connection, bank).revision

    def mark(self, bank: str) -> Watermark:
        """Return the bank's newest commit. This is the cheapest read to check for changes."""
        with self._database.reading_once() as connection:
            row = connection.execute(_MARK, {"name": bank}).first()
            if row is None:
                raise missing_bank(connection, bank)
            return Watermark(row[0], row[1], row[2], (row[3] or b"").hex())

    def problems(self) -> tuple[str, ...]:
        """Check the whole storage, and return the problems found."""
        return self._database.problems()

    @contextmanager
    def snapshot(self, bank: str, row: int | None = None) -> Iterator[Snapshot]:
        """Open a block in which all reads see one state of the bank."""
        with self._database.reading() as connection:
            yield Snapshot(connection, find_bank(connection, bank).id if row is None else row, bank)

    @contextmanager
    def single_read(self, bank: str, row: int) -> Iterator[Snapshot]:
        """Open a block for a single select."""
        with self._database.reading_once() as connection:
            yield Snapshot(connection, row, bank)

    @contextmanager
    def feed(self, bank: str, ahead: Ahead | None = None) -> Iterator[Feed]:
        """Open a feed of the bank, from which indexes catch up. On PostgreSQL, `ahead` reduces it to one round trip."""
        with self._database.reading() as connection:
            yield Feed(connection, bank, self._database, ahead)

    @contextmanager
    def transaction(self, bank: str) -> Iterator[Transaction]:
        """Lock a bank against other writers, to decide on a change and commit it. Never call a model inside the block."""
        with self._database.deciding(bank) as connection:
            yield Transaction(self._database, self._schedule, connection, bank)

    @contextmanager
    def _at(self, bank: str) -> Iterator[tuple[Connection, int]]:
        with self._database.reading() as connection:
            yield connection, find_bank(connection, bank).id


def _header(connection: Connection, name: str) -> BankHeader | None:
    row = connection.execute(_BANK, {"name": name}).one_or_none()
    return header_from(row) if row else None


_BANKS = select(
    banks.c.name, banks.c.key, banks.c.id, banks.c.revision, banks.c.embedder, banks.c.profile
).order_by(banks.c.name)
_BANK = _BANKS.where(banks.c.name == bindparam("name"))
_MARK = (
    select(tables.ledger.c.id, banks.c.id, banks.c.revision, tables.commits.c.token)
    .select_from(
        banks.join(tables.ledger, literal(True)).outerjoin(
            tables.commits,
            (tables.commits.c.bank == banks.c.id) & (tables.commits.c.revision == banks.c.revision),
        )
    )
    .where(banks.c.name == bindparam("name"))
)
_UNITS = select(units.c.id).where(units.c.bank == bindparam("bank"))
_vector = insert(tables.vectors)
_PUT_VECTOR = _vector.on_conflict_do_update(
    constraint=key_of(tables.vectors),
    set_={name: _vector.excluded[name] for name in ("vector", "revision", "checksum")},
)
