"""The ledger in one SQLite file: WAL, synchronous=FULL, foreign keys, one writer (design section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Literal

from hindsight_integrations.backends.ledger.rules import bank_key
from hindsight_integrations.backends.ledger.sqlite import (
    banks,
    documents,
    entities,
    feed,
    reading,
    records,
    validity_log,
    writing,
)
from hindsight_integrations.backends.ledger.sqlite.care import SqliteCare
from hindsight_integrations.backends.ledger.sqlite.connections import (
    Connections,
    open_for_reading,
    open_for_writing,
    open_in_memory,
)
from hindsight_integrations.backends.ledger.sqlite.task_queue import SqliteTasks
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import EmbedderIdentity, MessageKey, WriteSet
from hindsight_integrations.ports.arrays import IntArray, Matrix, Vector
from hindsight_integrations.ports.document_shelf import StoredDocument
from hindsight_integrations.ports.ledger import BankHeader, Receipt, UnitColumns
from hindsight_integrations.ports.memory_graph import Edges, Mentions
from hindsight_integrations.ports.validity_log import Amendment

IN_MEMORY: Literal[":memory:"] = ":memory:"


class SqliteLedger(SqliteCare, SqliteTasks):
    """Ledger in `<data directory>/ledger.sqlite`, or in memory. Reads run on one connection a thread.

    Beyond the port: a write set that is wholly there already does not raise the revision; `set_embedder` raises it
    only where it replaces vectors. Every method raises BankNotFound for an unknown bank and EngineClosed after `close`.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @classmethod
    def open(cls, path: Path | Literal[":memory:"], *, read_only: bool = False) -> SqliteLedger:
        """Open a data directory, creating it if need be; ":memory:" gives a ledger of its own that dies on close.

        Raises:
            LedgerBusy: the directory is open for writing, here or in another process; names its pid.
            LedgerReadOnly: it cannot be written (or, read-only, holds no ledger).
            SchemaMismatch: a newer version wrote it.
            LedgerFailed: the file is damaged or not a ledger.
            InvalidRequest: a read-only ledger in memory.
        """
        if path != IN_MEMORY:
            return cls((open_for_reading if read_only else open_for_writing)(Path(path)))
        if read_only:
            raise InvalidRequest("read_only", "a ledger in memory starts empty", "Open it for writing.")
        return cls(open_in_memory())

    def close(self) -> None:
        """Release the file and its lock. Idempotent."""
        self._connections.close()

    def commit(self, writes: WriteSet) -> Receipt:
        """Write everything, or nothing; see the port."""
        with self._connections.writing() as connection:
            return writing.commit(connection, writes)

    def banks(self) -> list[BankHeader]:
        """All banks, by name."""
        with self._connections.reading() as connection:
            return banks.all_headers(connection)

    def bank(self, name: str, *, create: bool) -> BankHeader:
        """One bank, created if asked for."""
        bank_key(name)
        with self._connections.reading() as connection:
            header = banks.find_header(connection, name)
            if header is None and not create:
                raise banks.missing(connection, name)
        if header is not None:
            return header
        with self._connections.writing() as connection:
            banks.insert(connection, name)
            created = banks.find_header(connection, name)
            if created is None:
                raise banks.missing(connection, name)
            return created

    def set_profile(self, bank: str, profile: BankProfile) -> None:
        """Replace the bank's profile."""
        with self._connections.writing() as connection:
            banks.store_profile(connection, bank, profile)

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix) -> int:
        """Record who makes the bank's vectors and replace the vectors of `ids`; returns the revision.

        Raises:
            InvalidRequest: some of the bank's vectors would keep another dimension.
        """
        with self._connections.writing() as connection:
            return banks.store_embedder(connection, bank, embedder, ids, vectors)

    def units(self, bank: str, ids: IntArray) -> dict[int, MemoryUnit]:
        """The units of these row ids; unknown ids are left out."""
        with self._reading(bank) as (connection, row):
            return reading.units(connection, row, bank, ids)

    def row_ids(self, bank: str, unit_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of these unit ids; unknown ones are left out."""
        with self._reading(bank) as (connection, row):
            return reading.row_ids(connection, row, unit_ids)

    def unit_ids(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Unit ids of these row ids; unknown ones are left out."""
        with self._reading(bank) as (connection, row):
            return reading.unit_ids(connection, row, ids)

    def known_messages(self, bank: str, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
        """Which of these messages were retained already."""
        with self._reading(bank) as (connection, row):
            return documents.known_messages(connection, row, keys)

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """A document and its present chunks, in order; None if it was never retained."""
        with self._reading(bank) as (connection, row):
            return documents.document(connection, row, document_id)

    def units_of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Row ids of the valid units made from these chunks of a document, ascending."""
        with self._reading(bank) as (connection, row):
            return documents.units_of_chunks(connection, row, document_id, ordinals)

    def units_of_messages(self, bank: str, messages: Sequence[tuple[str, str]]) -> IntArray:
        """Row ids of the valid units with one of these (thread, message id) among their sources, ascending."""
        with self._reading(bank) as (connection, row):
            return documents.units_of_messages(connection, row, messages)

    def entities_named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Entity by normalised name or alias; of several, the most mentioned, then the lowest id."""
        with self._reading(bank) as (connection, row):
            return entities.named(connection, row, names)

    def entity_candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """For each name, entities sharing a block: exact first, then shared blocks, mentions, id."""
        with self._reading(bank) as (connection, row):
            return entities.candidates(connection, row, names, limit)

    def entity_neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """For each entity the names it was lately mentioned with."""
        with self._reading(bank) as (connection, row):
            return entities.neighbours(connection, row, entity_ids)

    def entities_of(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """The entities each unit mentions, by name."""
        with self._reading(bank) as (connection, row):
            return entities.of_units(connection, row, ids)

    def entity_rows(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of entities, as the graph names them."""
        with self._reading(bank) as (connection, row):
            return entities.row_ids(connection, row, entity_ids)

    def roles(self, bank: str) -> IntArray:
        """Row ids of entities with a role, ascending."""
        with self._reading(bank) as (connection, row):
            return entities.with_roles(connection, row)

    def validity(self, bank: str, unit_id: str) -> list[ValidityEvent]:
        """A unit's validity log, by effective time, then in the order recorded."""
        with self._reading(bank) as (connection, row):
            return reading.validity(connection, row, unit_id)

    def amended(self, bank: str) -> IntArray:
        """Row ids of units with an amendment by another unit, ascending."""
        with self._reading(bank) as (connection, row):
            return validity_log.amended(connection, row)

    def amendments(self, bank: str, ids: IntArray) -> list[Amendment]:
        """Amendments of these units, each statement of a unit once, at its first effective time."""
        with self._reading(bank) as (connection, row):
            return validity_log.amendments(connection, row, ids)

    def vectors_of(self, bank: str, ids: IntArray) -> dict[int, Vector]:
        """Stored vectors by row id; unknown ids are left out."""
        with self._reading(bank) as (connection, row):
            return validity_log.vectors_of(connection, row, ids)

    def revision(self, bank: str) -> int:
        """The bank's current revision."""
        with self._connections.reading() as connection:
            return banks.find(connection, bank).revision

    def record_rows(self, bank: str, *, kind: str | None = None, category: str | None = None) -> IntArray:
        """Row ids of every unit with a record of this kind and category, ascending."""
        with self._reading(bank) as (connection, row):
            return records.rows(connection, row, kind, category)

    def count(self, bank: str) -> int:
        """How many units the bank holds, closed ones included."""
        with self._reading(bank) as (connection, row):
            return feed.count(connection, row)

    def columns(self, bank: str, since: int) -> UnitColumns:
        """Units created, closed, restored or re-dated after `since`."""
        with self._reading(bank) as (connection, row):
            return feed.columns(connection, row, since)

    def vectors(self, bank: str, since: int) -> tuple[IntArray, Matrix]:
        """Row ids (n,) and vectors (n, dimension) written after `since`."""
        with self._reading(bank) as (connection, row):
            return feed.vectors(connection, row, since)

    def texts(self, bank: str, since: int) -> tuple[IntArray, list[str]]:
        """Row ids and texts of units created after `since`."""
        with self._reading(bank) as (connection, row):
            return feed.texts(connection, row, since)

    def graph(self, bank: str, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Units, links and mentions created after `since`; entities by row id."""
        with self._reading(bank) as (connection, row):
            return feed.graph(connection, row, since)

    def removed(self, bank: str, since: int) -> IntArray:
        """Row ids forgotten (erased) after `since`."""
        with self._reading(bank) as (connection, row):
            return feed.removed(connection, row, since)

    @contextmanager
    def _reading(self, bank: str) -> Iterator[tuple[Connection, int]]:
        """One read transaction and the bank's row id."""
        with self._connections.reading() as connection:
            yield connection, banks.find(connection, bank).id
