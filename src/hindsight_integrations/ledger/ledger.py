"""The ledger: the durable record of all banks, from which everything else can be rebuilt."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Literal

import numpy as np
from sqlalchemy import Connection, bindparam, func, select, update

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.archive import Archivist
from hindsight_integrations.ledger.checksums import vector_checksum
from hindsight_integrations.ledger.commit import commit
from hindsight_integrations.ledger.databases import Database, SqliteDatabase
from hindsight_integrations.ledger.edits import UnitEditor
from hindsight_integrations.ledger.entities import EntityEditor, EntityReader
from hindsight_integrations.ledger.erasure import Eraser
from hindsight_integrations.ledger.feed import Feed
from hindsight_integrations.ledger.items import ItemReader, ItemWriter
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import (
    MentalModelReader,
    MentalModelWriter,
    changes_facts,
    enqueue_refreshes,
)
from hindsight_integrations.ledger.observations import ObservationReader, observe_changed, observe_unobserved
from hindsight_integrations.ledger.opening import (
    IndexMarks,
    no_index_marks,
    open_for_reading,
    open_for_writing,
)
from hindsight_integrations.ledger.opinions import (
    OpinionReader,
    brings_evidence,
    enqueue_reinforcement,
)
from hindsight_integrations.ledger.profile_changes import ProfileReader, ProfileWriter
from hindsight_integrations.ledger.records import RecordEditor, RecordReader
from hindsight_integrations.ledger.rows import (
    BankRow,
    fields_text,
    find_bank,
    header_from,
    missing_bank,
)
from hindsight_integrations.ledger.rules import bank_key, check_vectors
from hindsight_integrations.ledger.sql import insert, run_many
from hindsight_integrations.ledger.tables import banks, units
from hindsight_integrations.ledger.tasks import Schedule, TaskQueue
from hindsight_integrations.ledger.turns import TurnReader
from hindsight_integrations.ledger.units import UnitReader
from hindsight_integrations.ledger.values import BankHeader, Receipt
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.clock import Clock, SystemClock
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.writes import WriteSet

IN_MEMORY: Literal[":memory:"] = ":memory:"


class LedgerReader:
    """Reads of one bank, by noun, bounded by their arguments. Row ids are int64 and never reused, forgotten ones included.

    Raises:
        BankNotFound: by every method, where there is no such bank.
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

    def snapshot(self, bank: str) -> AbstractContextManager[LedgerReader]:
        """Several reads of one state of the bank; within a snapshot or a transaction, of its state."""
        raise NotImplementedError


class Snapshot(LedgerReader):
    """Reads on a connection that stands at one state of the ledger."""

    def __init__(self, connection: Connection, row: BankRow, bank: str) -> None:
        self._connection, self._rows = connection, {bank: row.id}
        at = self._at
        self.units, self.entities, self.records = UnitReader(at), EntityReader(at), RecordReader(at)
        self.observations, self.opinions = ObservationReader(at), OpinionReader(at)
        self.mental_models, self.profiles = MentalModelReader(at), ProfileReader(at)
        self.turns, self.items = TurnReader(at), ItemReader(at)

    def snapshot(self, bank: str) -> AbstractContextManager[Snapshot]:  # noqa: ARG002 - of any reader
        """This snapshot: it stands at one state already."""
        return nullcontext(self)

    def _at(self, bank: str) -> AbstractContextManager[tuple[Connection, int]]:
        if bank not in self._rows:
            self._rows[bank] = find_bank(self._connection, bank).id
        return nullcontext((self._connection, self._rows[bank]))


class Transaction(Snapshot):
    """One bank, held against other writers from the first read to the commit.

    All reads of the bank and `feed` show the same state. Left without a commit, or by an exception, it changes nothing.
    """

    def __init__(self, database: Database, schedule: Schedule, connection: Connection, bank: str) -> None:
        self._feed = Feed(connection, bank, database)
        super().__init__(connection, self._feed.bank, bank)
        self._database, self._schedule, self._bank, self._done = database, schedule, bank, False

    @property
    def feed(self) -> Feed:
        """The bank as this transaction sees it: what an index that is behind catches up from before deciding."""
        return self._feed

    def commit(self, writes: WriteSet) -> Receipt:
        """Write everything, or nothing; once.

        Units, entities, mentions and links already there (by their ids) are left as they are; documents, the positions
        of chunks and the latest version of each message become what the write set says. So the same write set twice
        changes nothing the second time. A closed event sets the unit's `closed_at`, a restored
        one clears it. What is `observed` of an entity takes the place of what was made of it before; an event of a fact
        ends what was made of that. A unit of the opinion
        network that comes without a formation or a rewording becomes an opinion that was given. The newest wording of an
        opinion is closed with the last of its grounds, and restored with one of them. Facts that come or are restored, and
        opinions that are formed, enqueue the task `REINFORCED`, if an opinion is held that was not looked at with all valid
        facts (`facts_since` of its `assessed_to`). An empty write set does not raise the revision, nor does one with nothing but
        a profile.

        Raises:
            RevisionConflict: the bank's revision is not `writes.expected_revision`, or its newest change of profile not
                `writes.profile.expected`, or a fact that was observed is not what it was at `writes.observed.at_revision`;
                nothing was written.
            TaskClosed: a lease of `writes.completed_tasks` is its task's no more; nothing was written.
            InvalidRequest: the write set refers to what is not there, or is of another bank; nothing was written.
        """
        if self._done:
            raise RuntimeError("a transaction commits once; open another one")
        if writes.bank != self._bank:
            reason = f"it is of bank {writes.bank!r}, the transaction of {self._bank!r}"
            raise InvalidRequest("writes", reason, "Open a transaction of that bank.")
        with self._database.committing() as connection:
            receipt = commit(connection, self._feed.bank, writes, self._database.clock.now())
            if receipt.revision > writes.expected_revision:
                bank = self._feed.bank.id
                observe_changed(self._schedule, connection, bank, receipt.revision)
                if changes_facts(writes):
                    enqueue_refreshes(self._schedule, connection, bank)
                if brings_evidence(writes):
                    enqueue_reinforcement(self._schedule, connection, bank)
        self._done = True
        return receipt


class Ledger(LedgerReader):
    """The durable record: its banks, and how to read, follow and write one. Everything else can be rebuilt from it.

    In `<data directory>/ledger.sqlite`, or in memory. Reads are safe from any thread and never wait for a writer's decision.
    What writes is called from one thread at a time (the engine's writer). A commit is one transaction: all of it or
    none of it survives a kill at any moment. Blocks opened by `snapshot`, `feed` and `transaction` belong to the thread that
    opened them. What changes a bank's content raises its revision; what changes links or mentions in place raises the feed's
    `graph_epoch` with it. A write set that is wholly there already does not raise the revision.

    Raises:
        BankNotFound: by every method but `create_bank`, where there is no such bank.
        LedgerReadOnly: by every method that writes, where the ledger cannot be written.
        EngineClosed: by every method, after `close`.
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

    @classmethod
    def open(
        cls,
        path: Path | Literal[":memory:"],
        *,
        read_only: bool = False,
        accept_loss: bool = False,
        index_marks: IndexMarks = no_index_marks,
        clock: Clock | None = None,
        observing: timedelta | None = None,
        refreshing: timedelta = timedelta(0),
        reinforcing: timedelta = timedelta(0),
    ) -> Ledger:
        """Open a data directory, creating it if need be; ":memory:" gives a ledger of its own that dies on close.

        Args:
            path: the data directory.
            read_only: without lock and writes.
            accept_loss: go on where something committed is missing, and record that.
            index_marks: reads how far the indexes beside the ledger have come; asked where the ledger's own mark is not
                enough.
            clock: the ledger's, by which tasks fall due and leases end; None takes the machine's.
            observing: changes of an entity's facts are collected for so long, then a task to make its observations anew is
                due; None enqueues none.
            refreshing: the same until mental models that are refreshed by themselves are.
            reinforcing: the same until new facts are assessed as evidence of opinions.

        Raises:
            LedgerLost: something that was committed is missing, and `accept_loss` is False.
            LedgerBusy: the directory is open for writing, here or in another process; names its pid.
            LedgerReadOnly: it cannot be written (or, read-only, holds no ledger).
            SchemaMismatch: a development version or a newer version wrote it.
            LedgerFailed: the file is damaged or not a ledger.
            InvalidRequest: a read-only ledger in memory.
        """
        clock = clock or SystemClock()
        schedule = Schedule(clock, observing, refreshing, reinforcing)
        if path == IN_MEMORY:
            if read_only:
                raise InvalidRequest("read_only", "a ledger in memory starts empty", "Open it for writing.")
            # A database of its own that no other engine can see; it ends with `close`.
            uri = f"file:hindsight-{uuid.uuid4().hex}?mode=memory&cache=shared"
            return cls(SqliteDatabase(Path(IN_MEMORY), uri, clock=clock, shared=True), schedule)
        open_it = open_for_reading if read_only else open_for_writing
        database = open_it(Path(path), accept_loss=accept_loss, index_marks=index_marks, clock=clock)
        if not read_only:
            with ExitStack() as undo:
                undo.callback(database.close)
                observe_unobserved(schedule, database)
                undo.pop_all()
        return cls(database, schedule)

    def close(self) -> None:
        """Release the storage and its lock. Idempotent."""
        self._database.close()

    def banks(self) -> list[BankHeader]:
        """All banks, by name."""
        with self._database.reading() as connection:
            return [header_from(row) for row in connection.execute(_BANKS)]

    def bank(self, name: str) -> BankHeader:
        """One bank."""
        with self._database.reading() as connection:
            if header := _header(connection, name):
                return header
            raise missing_bank(connection, name)

    def create_bank(self, name: str) -> BankHeader:
        """The bank of that name, made if there is none."""
        key = bank_key(name)
        with self._database.reading() as connection:
            if header := _header(connection, name):
                return header
        with self._database.writing() as connection:
            new = {"name": name, "key": key, "profile": fields_text(BankProfile())}
            if run_many(connection, insert(banks).on_conflict_do_nothing(), [new]):
                newest = select(func.max(banks.c.id)).scalar_subquery()
                connection.execute(update(tables.ledger).values(banks=newest))
        return self.bank(name)

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix) -> int:
        """Record who makes the bank's vectors and replace the vectors of `ids`; returns the new revision.

        With no ids it only records the embedder. The feed then reports those vectors again.

        Args:
            bank: the bank.
            embedder: who makes its vectors from now on.
            ids: row ids (n,).
            vectors: their vectors, (n, dimension), unit norm.

        Raises:
            InvalidRequest: some of the bank's vectors would keep another dimension.
        """
        with self._database.writing() as connection:
            row = find_bank(connection, bank)
            own = set(connection.scalars(_UNITS, {"bank": row.id}))
            covers = row.dimension in {None, embedder.dimension} or own <= set(ids.tolist())
            check_vectors(ids, vectors, embedder.dimension, covers_bank=covers)
            blobs = (vector.tobytes() for vector in np.asarray(vectors, "<f4"))
            replaced = run_many(
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

    def revision(self, bank: str) -> int:
        """The bank's current revision: the cheapest read, made before others to see whether anything is new."""
        with self._database.reading() as connection:
            return find_bank(connection, bank).revision

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the storage itself, as far as it can tell by reading all of it; empty if nothing."""
        return self._database.problems()

    @contextmanager
    def snapshot(self, bank: str) -> Iterator[Snapshot]:
        """Several reads of one state of the bank; within a snapshot or a transaction, of its state."""
        with self._database.reading() as connection:
            yield Snapshot(connection, find_bank(connection, bank), bank)

    @contextmanager
    def feed(self, bank: str) -> Iterator[Feed]:
        """The bank as this transaction sees it: what an index that is behind catches up from before deciding."""
        with self._database.reading() as connection:
            yield Feed(connection, bank, self._database)

    @contextmanager
    def transaction(self, bank: str) -> Iterator[Transaction]:
        """Hold a bank against other writers, to decide on it and commit. No model is called inside."""
        with self._database.deciding() as connection:
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
_UNITS = select(units.c.id).where(units.c.bank == bindparam("bank"))
_vector = insert(tables.vectors)
_PUT_VECTOR = _vector.on_conflict_do_update(
    index_elements=["unit"],
    set_={name: _vector.excluded[name] for name in ("vector", "revision", "checksum")},
)
