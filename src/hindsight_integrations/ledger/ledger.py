"""The ledger in one SQLite file: WAL, synchronous=FULL, foreign keys, one writer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from sqlalchemy import Connection, bindparam, func, select, update

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.archive import SqliteArchive
from hindsight_integrations.ledger.checksums import vector_checksum
from hindsight_integrations.ledger.commit import commit
from hindsight_integrations.ledger.databases import Database, SqliteDatabase
from hindsight_integrations.ledger.edits import SqliteEdits
from hindsight_integrations.ledger.entities import EntityReader, SqliteEntityChanges
from hindsight_integrations.ledger.erasure import SqliteErasure
from hindsight_integrations.ledger.feed import SqliteFeed
from hindsight_integrations.ledger.items import ItemReads, SqliteItems
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import (
    MentalModelReads,
    SqliteMentalModels,
    changes_facts,
    enqueue_refreshes,
)
from hindsight_integrations.ledger.observations import ObservationReads, observe_changed
from hindsight_integrations.ledger.opening import (
    IndexMarks,
    no_index_marks,
    open_for_reading,
    open_for_writing,
)
from hindsight_integrations.ledger.opinions import (
    OpinionReads,
    brings_evidence,
    enqueue_reinforcement,
)
from hindsight_integrations.ledger.profile_changes import ProfileReads, SqliteProfiles
from hindsight_integrations.ledger.records import RecordReader, SqliteCategoryChanges
from hindsight_integrations.ledger.rows import (
    BankRow,
    fields_text,
    find_bank,
    header_from,
    missing_bank,
)
from hindsight_integrations.ledger.rules import bank_key, check_vectors
from hindsight_integrations.ledger.sql import insert, run_many
from hindsight_integrations.ledger.tables import banks, units, vectors
from hindsight_integrations.ledger.tasks import SqliteTasks
from hindsight_integrations.ledger.turns import SqliteTurns, ThreadReads
from hindsight_integrations.ledger.units import UnitReader
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.clock import Clock, SystemClock
from hindsight_integrations.ports.ledger import BankHeader, Receipt

IN_MEMORY: Literal[":memory:"] = ":memory:"


class SqliteSnapshot(
    UnitReader,
    RecordReader,
    EntityReader,
    ObservationReads,
    OpinionReads,
    ProfileReads,
    MentalModelReads,
    ThreadReads,
    ItemReads,
    SqliteTurns,
):
    """Reads on a connection that stands at one state of the ledger."""

    def __init__(self, connection: Connection, row: BankRow, bank: str) -> None:
        self._connection, self._rows = connection, {bank: row.id}

    def snapshot(self, bank: str) -> AbstractContextManager[SqliteSnapshot]:  # noqa: ARG002 - of any reader
        """This state."""
        return nullcontext(self)

    def _at(self, bank: str) -> AbstractContextManager[tuple[Connection, int]]:
        if bank not in self._rows:
            self._rows[bank] = find_bank(self._connection, bank).id
        return nullcontext((self._connection, self._rows[bank]))


class SqliteTransaction(SqliteSnapshot):
    """Reads and a commit on the writer's connection; see the port."""

    def __init__(self, database: Database, connection: Connection, bank: str) -> None:
        self._feed = SqliteFeed(connection, bank, database)
        super().__init__(connection, self._feed.bank, bank)
        self._database, self._bank, self._done = database, bank, False

    @property
    def feed(self) -> SqliteFeed:
        """The bank as this transaction sees it."""
        return self._feed

    def commit(self, writes: WriteSet) -> Receipt:
        """Write everything, or nothing; see the port.

        Raises:
            RuntimeError: this transaction has committed already.
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
                observe_changed(self._database, connection, bank, receipt.revision)
                if changes_facts(writes):
                    enqueue_refreshes(self._database, connection, bank)
                if brings_evidence(writes):
                    enqueue_reinforcement(self._database, connection, bank)
        self._done = True
        return receipt


class SqliteLedger(
    UnitReader,
    RecordReader,
    EntityReader,
    ObservationReads,
    OpinionReads,
    ProfileReads,
    MentalModelReads,
    ThreadReads,
    ItemReads,
    SqliteTurns,
    SqliteErasure,
    SqliteItems,
    SqliteEdits,
    SqliteEntityChanges,
    SqliteCategoryChanges,
    SqliteArchive,
    SqliteProfiles,
    SqliteMentalModels,
    SqliteTasks,
):
    """Ledger in `<data directory>/ledger.sqlite`, or in memory. Reads run on one connection a thread.

    Beyond the port: a write set that is wholly there already does not raise the revision; `set_embedder` raises it
    only where it replaces vectors.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

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
    ) -> SqliteLedger:
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
        if path != IN_MEMORY:
            open_it = (
                open_for_reading
                if read_only
                else partial(
                    open_for_writing, observing=observing, refreshing=refreshing, reinforcing=reinforcing
                )
            )
            time = clock or SystemClock()
            return cls(open_it(Path(path), accept_loss=accept_loss, index_marks=index_marks, clock=time))
        if read_only:
            raise InvalidRequest("read_only", "a ledger in memory starts empty", "Open it for writing.")
        # A database of its own that no other engine can see; it ends with `close`.
        uri = f"file:hindsight-{uuid.uuid4().hex}?mode=memory&cache=shared"
        time = clock or SystemClock()
        return cls(
            SqliteDatabase(
                Path(IN_MEMORY),
                uri,
                clock=time,
                shared=True,
                observing=observing,
                refreshing=refreshing,
                reinforcing=reinforcing,
            )
        )

    def close(self) -> None:
        """Release the file and its lock. Idempotent."""
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
            connection.execute(insert(banks).on_conflict_do_nothing(), new)
            newest = select(func.max(banks.c.id)).scalar_subquery()
            connection.execute(update(tables.ledger).values(banks=newest))
        return self.bank(name)

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, matrix: Matrix) -> int:
        """Record who makes the bank's vectors and replace those of `ids`; returns the revision. See the port."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank)
            own = set(connection.scalars(_UNITS, {"bank": row.id}))
            covers = row.dimension in {None, embedder.dimension} or own <= set(ids.tolist())
            check_vectors(ids, matrix, embedder.dimension, covers_bank=covers)
            blobs = (vector.tobytes() for vector in np.asarray(matrix, "<f4"))
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
        """The bank's current revision."""
        with self._database.reading() as connection:
            return find_bank(connection, bank).revision

    def problems(self) -> tuple[str, ...]:
        """What the database finds wrong with its own files."""
        return self._database.problems()

    @contextmanager
    def snapshot(self, bank: str) -> Iterator[SqliteSnapshot]:
        """Several reads of one state of the bank."""
        with self._database.reading() as connection:
            yield SqliteSnapshot(connection, find_bank(connection, bank), bank)

    @contextmanager
    def feed(self, bank: str) -> Iterator[SqliteFeed]:
        """What was committed, of one state of the bank."""
        with self._database.reading() as connection:
            yield SqliteFeed(connection, bank, self._database)

    @contextmanager
    def transaction(self, bank: str) -> Iterator[SqliteTransaction]:
        """Hold the ledger against other writers, to decide and commit."""
        with self._database.deciding() as connection:
            yield SqliteTransaction(self._database, connection, bank)

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
_vector = insert(vectors)
_PUT_VECTOR = _vector.on_conflict_do_update(
    index_elements=["unit"],
    set_={name: _vector.excluded[name] for name in ("vector", "revision", "checksum")},
)
