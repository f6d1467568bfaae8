"""Changes of entities by hand, each with a log row from which it can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.entities import logged_changes, mention_texts
from hindsight_integrations.ledger.entity_writing import Target, write_names
from hindsight_integrations.ledger.logged_changes import LoggedChange, Moved, check_undoable
from hindsight_integrations.ledger.observation_tasks import observe_changed
from hindsight_integrations.ledger.observations import (
    note_changed,
    observations_of,
    remove_units,
)
from hindsight_integrations.ledger.rows import NOT_OBSERVED, entity_rows, find_bank, unit_rows
from hindsight_integrations.ledger.rules import check_known, merged_names
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.entities import EntityChange, EntityChangeKind, EntityRole
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.ports.ledger import EntitySplit


class _Editor:
    """One change on one bank: row ids at hand, revision to be."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection, self.name = connection, name
        bank = find_bank(connection, name)
        self.bank, self.revision = bank.id, bank.revision + 1
        self.target = Target(connection, self.bank, self.revision)

    def row(self, entity_id: str) -> int:
        rows = entity_rows(self.connection, self.bank, [entity_id])
        check_known("entity", [entity_id], rows, self.name)
        return rows[entity_id]

    def facts(self, row: int) -> tuple[str, str, str, tuple[str, ...]]:
        """Name, type, role and names of an entity."""
        query = "SELECT name, type, role, names FROM entities WHERE id = ?"
        name, kind, role, names = raw(self.connection).execute(query, (row,)).fetchone()
        return name, kind, role, tuple(json.loads(names))

    def create(self, entity_id: str, name: str, kind: str, role: str) -> int:
        raw(self.connection).execute(
            "INSERT INTO entities (bank, entity_id, name, type, role, names) VALUES (?, ?, ?, ?, ?, '[]') "
            "ON CONFLICT DO NOTHING",
            (self.bank, entity_id, name, kind, role),
        )
        return self.row(entity_id)

    def set_names(self, row: int, names: Iterable[str]) -> None:
        """Exactly these names, findable by them alone."""
        given = tuple(names)
        for table in ("entity_names", "entity_blocks"):
            raw(self.connection).execute(f"DELETE FROM {table} WHERE entity = ?", (row,))
        raw(self.connection).execute("UPDATE entities SET names = ? WHERE id = ?", (json.dumps(given), row))
        write_names(self.connection, self.bank, ((name, row) for name in given))

    def move(self, source: int, target: int, units: Sequence[str]) -> None:
        """Mentions of these units from one entity to another; a unit that mentions both already keeps both."""
        rows = unit_rows(self.connection, self.bank, units)
        raw(self.connection).executemany(
            "UPDATE OR IGNORE mentions SET entity = ?, revision = ? WHERE entity = ? AND unit = ?",
            [(target, self.revision, source, unit) for unit in rows.values()],
        )

    def recount(self, *rows: int) -> None:
        raw(self.connection).executemany(
            "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
            f"JOIN units ON units.id = unit WHERE entity = entities.id AND {NOT_OBSERVED}) WHERE id = ?",
            [(row,) for row in rows],
        )

    def end_observations(self, *rows: int) -> None:
        """What was made of facts that were, or will be, another entity's says something of both: it goes before they move."""
        remove_units(self.target, observations_of(self.connection, rows))

    def note_changed(self, *rows: int) -> None:
        """Their facts are others from now on."""
        note_changed(self.target, rows)

    def remove(self, row: int) -> None:
        raw(self.connection).execute(
            "DELETE FROM tasks WHERE bank = ? AND kind = ? AND key <> '' "
            "AND key = (SELECT entity_id FROM entities WHERE id = ?)",
            (self.bank, TaskKind.OBSERVE, row),
        )
        raw(self.connection).execute("DELETE FROM entities WHERE id = ?", (row,))

    def log(self, kind: EntityChangeKind, moved: Moved, made_at: datetime) -> EntityChange:
        set_graph_epoch(self.connection, self.bank, self.revision)
        added = raw(self.connection).execute(
            "INSERT INTO entity_changes (bank, kind, detail, made_at) VALUES (?, ?, ?, ?)",
            (self.bank, kind.value, moved.text(), to_micros(made_at)),
        )
        return LoggedChange(int(added.lastrowid or 0), kind, moved.text(), made_at).public()


class SqliteEntityChanges:
    """The part of `LedgerMaintenance` that corrects who is who, each change with a log row from which it can be undone."""

    _database: SqliteDatabase

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity to another; the merged one is removed."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            target, source = editor.row(keep), editor.row(merged)
            editor.end_observations(target, source)
            texts = dict(mention_texts(connection, editor.bank, merged))
            both = {unit for unit, _ in mention_texts(connection, editor.bank, keep)} & texts.keys()
            other, kind, role, names = editor.facts(source)
            own = editor.facts(target)[3]
            moved = Moved(
                keep,
                merged,
                tuple(each for each in names if each not in own),
                tuple(unit for unit in texts if unit not in both),
                tuple((unit, texts[unit]) for unit in texts if unit in both),
                other,
                kind,
                role,
                names,
            )
            editor.move(source, target, moved.units)
            editor.remove(source)
            editor.set_names(target, merged_names(own, names))
            if role:
                raw(connection).execute(
                    "UPDATE entities SET role = ? WHERE id = ? AND role = ''", (role, target)
                )
            editor.recount(target)
            editor.note_changed(target)
            return self._logged(editor, EntityChangeKind.MERGE, moved, made_at)

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity of some names and mentions of another."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            source = editor.row(split.entity_id)
            editor.end_observations(source)
            _, kind, _, names = editor.facts(source)
            target = editor.create(split.new_id, split.name, kind, EntityRole.NONE.value)
            editor.set_names(source, [each for each in names if each not in split.names])
            editor.set_names(target, split.names)
            editor.move(source, target, split.units)
            editor.recount(source, target)
            editor.note_changed(source, target)
            moved = Moved(split.entity_id, split.new_id, split.names, split.units, name=split.name, type=kind)
            return self._logged(editor, EntityChangeKind.SPLIT, moved, made_at)

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            row = editor.row(entity_id)
            own = editor.facts(row)[3]
            editor.set_names(row, merged_names(own, names))
            given = tuple(each for each in names if each not in own)
            # A name it had by likeness is one given by hand from now on.
            moved = Moved(entity_id, names=given, other_names=tuple(names))
            return editor.log(EntityChangeKind.ALIAS, moved, made_at)

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did; see the port."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            log = logged_changes(connection, editor.bank)
            found = next((change for change in log if change.id == change_id), None)
            change = check_undoable(found, change_id, [other for other in log if other.id > change_id])
            moved = change.moved
            row = editor.row(moved.entity_id)
            own = editor.facts(row)[3]
            if change.kind is EntityChangeKind.SPLIT:
                _join(editor, row, own, moved)
            else:
                editor.set_names(row, [each for each in own if each not in moved.names])
            if change.kind is EntityChangeKind.MERGE:
                _part(editor, row, moved)
            raw(connection).execute("UPDATE entity_changes SET undone = 1 WHERE id = ?", (change_id,))
            set_graph_epoch(connection, editor.bank, editor.revision)
            observe_changed(self._database, connection, editor.bank, editor.revision)
            return change.as_undone().public()

    def _logged(
        self, editor: _Editor, kind: EntityChangeKind, moved: Moved, made_at: datetime
    ) -> EntityChange:
        """The change, logged, and a task for each entity whose facts it changed."""
        change = editor.log(kind, moved, made_at)
        observe_changed(self._database, editor.connection, editor.bank, editor.revision)
        return change


def set_graph_epoch(connection: Connection, bank: int, revision: int) -> None:
    """Graphs older than this revision start over; the bank stands at it from now on."""
    raw(connection).execute("INSERT OR REPLACE INTO graph_epochs VALUES (?, ?)", (bank, revision))
    raw(connection).execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, bank))


def _join(editor: _Editor, row: int, own: tuple[str, ...], moved: Moved) -> None:
    """Undo a split: everything the new entity has by now goes back."""
    other = editor.row(moved.other_id)
    editor.end_observations(row, other)
    texts = mention_texts(editor.connection, editor.bank, moved.other_id)
    names = editor.facts(other)[3]
    editor.move(other, row, [unit for unit, _ in texts])
    editor.remove(other)
    editor.set_names(row, merged_names(own, names))
    editor.recount(row)
    editor.note_changed(row)


def _part(editor: _Editor, row: int, moved: Moved) -> None:
    """Undo a merge: the merged entity comes back with its names and the mentions it had."""
    editor.end_observations(row)
    other = editor.create(moved.other_id, moved.name, moved.type, moved.role)
    editor.set_names(other, moved.other_names)
    editor.move(row, other, moved.units)
    units = unit_rows(editor.connection, editor.bank, [unit for unit, _ in moved.shared])
    raw(editor.connection).executemany(
        "INSERT INTO mentions (unit, entity, bank, revision, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (units[unit], other, editor.bank, editor.revision, text)
            for unit, text in moved.shared
            if unit in units
        ],
    )
    editor.recount(row, other)
    editor.note_changed(row, other)
