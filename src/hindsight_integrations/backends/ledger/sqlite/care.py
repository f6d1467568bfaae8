"""The verbs for care in the SQLite ledger: erasure, edits, entity changes and archives."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from sqlite3 import Connection
from typing import TYPE_CHECKING

from hindsight_integrations.backends.ledger.sqlite import (
    archiving,
    entity_editing,
    entity_listing,
    erasing,
    unit_editing,
)
from hindsight_integrations.model.entities import Entity, EntityChange
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.ports.archive import ArchiveRow
from hindsight_integrations.ports.entity_editing import EntitySplit
from hindsight_integrations.ports.unit_editing import UnitEdit

if TYPE_CHECKING:
    from hindsight_integrations.backends.ledger.sqlite.connections import Connections


class SqliteCare:
    """What `SqliteLedger` inherits: every write is one transaction of `_connections`."""

    _connections: Connections

    def _reading(self, bank: str) -> AbstractContextManager[tuple[Connection, int]]:
        raise NotImplementedError

    def erase(self, bank: str, erasure: Erasure, *, normalise: Callable[[str], str]) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them; see the port."""
        with self._connections.writing() as connection:
            return erasing.erase(connection, bank, erasure, normalise=normalise)

    def drop_bank(self, bank: str) -> int:
        """Delete the bank itself; how many units it held."""
        with self._connections.writing() as connection:
            return erasing.drop_bank(connection, bank)

    def scrub(self) -> bool:
        """Rewrite the files so that nothing erased is left in them."""
        return self._connections.scrub()

    def edit_unit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Write a correction; returns the new revision."""
        with self._connections.writing() as connection:
            return unit_editing.edit(connection, bank, edit, made_at)

    def unit_edits(self, bank: str, unit_id: str) -> Sequence[tuple[datetime, tuple[str, ...]]]:
        """(when, fields) of a unit's corrections, oldest first."""
        with self._reading(bank) as (connection, row):
            return unit_editing.edits(connection, row, unit_id)

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities having a name that starts with `prefix`, the most mentioned first, then by name."""
        with self._reading(bank) as (connection, row):
            return entity_listing.listed(connection, row, prefix, limit)

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """All entities of that id or exact normalised name, by falling mentions, then id."""
        with self._reading(bank) as (connection, row):
            return entity_listing.found(connection, row, name)

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        with self._reading(bank) as (connection, row):
            return entity_listing.mention_texts(connection, row, entity_id)

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """The audit log, oldest first."""
        with self._reading(bank) as (connection, row):
            return [change.public() for change in entity_listing.changes(connection, row)]

    def graph_epoch(self, bank: str) -> int:
        """The last revision that changed links or mentions in place."""
        with self._reading(bank) as (connection, row):
            return entity_listing.graph_epoch(connection, row)

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity to another; the merged one goes."""
        with self._connections.writing() as connection:
            return entity_editing.merge(connection, bank, keep, merged, made_at)

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity of some names and mentions of another."""
        with self._connections.writing() as connection:
            return entity_editing.split(connection, bank, split, made_at)

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        with self._connections.writing() as connection:
            return entity_editing.alias(connection, bank, entity_id, names, made_at)

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did."""
        with self._connections.writing() as connection:
            return entity_editing.undo(connection, bank, change_id)

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, in an order it can be restored in; one read transaction."""
        with self._reading(bank) as (connection, row):
            yield from archiving.rows(connection, row)

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank in one transaction; how many units."""
        with self._connections.writing() as connection:
            return archiving.restore(connection, bank, rows)
