"""Edits of units and entities in the dict-backed ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.backends.ledger.entity_changes import LoggedChange, Moved, check_undoable
from hindsight_integrations.backends.ledger.rules import (
    check_known,
    check_shape,
    link_code,
    merged_names,
    merged_role,
)
from hindsight_integrations.backends.memory.bank_state import BankState
from hindsight_integrations.backends.memory.banks import DictBanks
from hindsight_integrations.backends.memory.erasing import recount, remove_entity, set_names
from hindsight_integrations.model.entities import (
    Entity,
    EntityChange,
    EntityChangeKind,
    EntityRole,
    EntityType,
)
from hindsight_integrations.model.writes import UnitWrite, WriteSet
from hindsight_integrations.ports.entity_editing import EntitySplit
from hindsight_integrations.ports.unit_editing import UnitEdit

CAUSAL_CODES = range(2, 6)  # LINK_CODES of causal links, which an edit leaves alone


class DictEditor(DictBanks):
    """The part of the ledger that changes what is there, and logs it."""

    def edit_unit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Write a correction; returns the new revision."""
        with self._bank(bank) as state:
            if edit.vector is not None:
                writes = WriteSet(bank, state.revision, units=(UnitWrite(edit.unit, edit.vector),))
                check_shape(writes, state.dimension)
            ends = {end for link in edit.links or () for end in (link.source, link.target)}
            check_known("unit_id", sorted(ends | {edit.unit.id}), state.unit_rows, bank)
            row = state.unit_rows[edit.unit.id]
            state.revision += 1
            held = state.units[row]
            held.unit, held.changed = edit.unit, state.revision
            if edit.vector is not None:
                held.vector, held.vector_changed = edit.vector, state.revision
            if edit.links is not None:
                _relink(state, row, edit)
            state.edits.setdefault(row, []).append((state.revision, made_at, edit.fields))
            return state.revision

    def unit_edits(self, bank: str, unit_id: str) -> Sequence[tuple[datetime, tuple[str, ...]]]:
        """(when, fields) of a unit's corrections, oldest first."""
        with self._bank(bank) as state:
            log = state.edits.get(state.unit_rows.get(unit_id, -1), [])
            return [(made_at, fields) for _, made_at, fields in log]

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities having a name that starts with `prefix`, the most mentioned first, then by name."""
        with self._bank(bank) as state:
            named = [
                entity
                for entity in state.entities.values()
                if not prefix or any(name.startswith(prefix) for name in entity.names)
            ]
        return sorted(named, key=lambda entity: (-entity.mentions, entity.name, entity.id))[:limit]

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """All entities of that id or exact normalised name, by falling mentions, then id."""
        with self._bank(bank) as state:
            found = [each for each in state.entities.values() if each.id == name or name in each.names]
        return sorted(found, key=lambda entity: (-entity.mentions, entity.id))

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        with self._bank(bank) as state:
            return _texts(state, state.entity_rows.get(entity_id, -1))

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """The audit log, oldest first."""
        with self._bank(bank) as state:
            return [change.public() for change in state.entity_changes.values()]

    def graph_epoch(self, bank: str) -> int:
        """The last revision that changed links or mentions in place."""
        with self._bank(bank) as state:
            return state.graph_epoch

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity to another; the merged one goes."""
        with self._bank(bank) as state:
            target, source = _row(state, keep), _row(state, merged)
            said, other = dict(_texts(state, source)), state.entities[source]
            both = dict(_texts(state, target)).keys() & said.keys()
            own = state.entities[target]
            moved = Moved(
                keep,
                merged,
                tuple(each for each in other.names if each not in own.names),
                tuple(unit for unit in said if unit not in both),
                tuple((unit, said[unit]) for unit in said if unit in both),
                other.name,
                other.type.value,
                other.role.value,
                other.names,
            )
            _bump(state)
            _move(state, source, target, moved.units)
            _unmention(state, source)
            remove_entity(state, source)
            set_names(state, target, merged_names(own.names, other.names), own.name)
            role = merged_role(other.role, own.role)
            state.entities[target] = replace(state.entities[target], role=role)
            recount(state, target)
            return self._log(state, EntityChangeKind.MERGE, moved, made_at)

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity of some names and mentions of another."""
        with self._bank(bank) as state:
            source = _row(state, split.entity_id)
            known = state.entities[source]
            _bump(state)
            target = _create(state, Entity(split.new_id, split.name, known.type))
            set_names(state, source, tuple(n for n in known.names if n not in split.names), known.name)
            set_names(state, target, split.names, split.name)
            _move(state, source, target, split.units)
            recount(state, source)
            recount(state, target)
            moved = Moved(
                split.entity_id,
                split.new_id,
                split.names,
                split.units,
                name=split.name,
                type=known.type.value,
            )
            return self._log(state, EntityChangeKind.SPLIT, moved, made_at)

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        with self._bank(bank) as state:
            row = _row(state, entity_id)
            known = state.entities[row]
            _bump(state)
            set_names(state, row, merged_names(known.names, names), known.name)
            moved = Moved(entity_id, names=tuple(each for each in names if each not in known.names))
            return self._log(state, EntityChangeKind.ALIAS, moved, made_at)

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did."""
        with self._bank(bank) as state:
            later = [change for number, change in state.entity_changes.items() if number > change_id]
            change = check_undoable(state.entity_changes.get(change_id), change_id, later)
            moved, row = change.moved, _row(state, change.moved.entity_id)
            _bump(state)
            if change.kind is EntityChangeKind.SPLIT:
                _join(state, row, moved)
            else:
                known = state.entities[row]
                kept = tuple(each for each in known.names if each not in moved.names)
                set_names(state, row, kept, known.name)
            if change.kind is EntityChangeKind.MERGE:
                _part(state, row, moved)
            state.entity_changes[change_id] = change.as_undone()
            return change.as_undone().public()

    def _log(self, state: BankState, kind: EntityChangeKind, moved: Moved, made_at: datetime) -> EntityChange:
        change = LoggedChange(next(self._rows), kind, moved.text(), made_at)
        state.entity_changes[change.id] = change
        return change.public()


def _bump(state: BankState) -> None:
    state.revision += 1
    state.graph_epoch = state.revision


def _row(state: BankState, entity_id: str) -> int:
    check_known("entity", [entity_id], state.entity_rows, state.name)
    return state.entity_rows[entity_id]


def _create(state: BankState, entity: Entity) -> int:
    row = state.entity_rows.setdefault(entity.id, next(state.rows))
    state.entities.setdefault(row, entity)
    return row


def _texts(state: BankState, entity: int) -> list[tuple[str, str]]:
    units = sorted(state.mentioned_in.get(entity, ()))
    return [(state.units[unit].unit.id, state.mention_texts[unit, entity]) for unit in units]


def _mention(state: BankState, unit: int, entity: int, text: str) -> None:
    if (unit, entity) in state.mentions:
        return
    state.mentions[unit, entity] = state.revision
    state.mention_texts[unit, entity] = text
    state.mentioned_in.setdefault(entity, []).append(unit)
    state.mentioned_by.setdefault(unit, []).append(entity)


def _unmention(state: BankState, entity: int, units: Iterable[int] | None = None) -> None:
    held = state.mentioned_in.get(entity, [])
    for unit in list(held if units is None else units):
        del state.mentions[unit, entity], state.mention_texts[unit, entity]
        held.remove(unit)
        state.mentioned_by[unit].remove(entity)


def _move(state: BankState, source: int, target: int, units: Iterable[str]) -> None:
    for name in units:
        unit = state.unit_rows.get(name, -1)
        if (unit, source) in state.mentions and (unit, target) not in state.mentions:
            _mention(state, unit, target, state.mention_texts[unit, source])
            _unmention(state, source, [unit])


def _join(state: BankState, row: int, moved: Moved) -> None:
    """Undo a split: everything the new entity has by now goes back."""
    other = _row(state, moved.other_id)
    names, known = state.entities[other].names, state.entities[row]
    _move(state, other, row, [unit for unit, _ in _texts(state, other)])
    _unmention(state, other)
    remove_entity(state, other)
    set_names(state, row, merged_names(known.names, names), known.name)
    recount(state, row)


def _part(state: BankState, row: int, moved: Moved) -> None:
    """Undo a merge: the merged entity comes back with its names and the mentions it had."""
    kind, role = EntityType(moved.type), EntityRole(moved.role)
    other = _create(state, Entity(moved.other_id, moved.name, kind, role))
    set_names(state, other, moved.other_names, moved.name)
    _move(state, row, other, moved.units)
    for unit, said in moved.shared:
        if unit in state.unit_rows:
            _mention(state, state.unit_rows[unit], other, said)
    recount(state, row)
    recount(state, other)


def _relink(state: BankState, row: int, edit: UnitEdit) -> None:
    """Replace the unit's temporal and semantic links."""
    state.graph_epoch = state.revision
    for key in [key for key in state.links if row in key[:2] and key[2] not in CAUSAL_CODES]:
        del state.links[key]
    for link in edit.links or ():
        ends = state.unit_rows[link.source], state.unit_rows[link.target]
        state.links.setdefault((*ends, link_code(link)), (link.weight, state.revision))
