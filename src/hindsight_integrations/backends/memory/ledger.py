"""The ledger's contract in dicts: nothing on disk, one lock, gone with the object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from hindsight_integrations.backends.ledger.rules import (
    COMMON_BLOCK,
    NEIGHBOUR_LIMIT,
    NEIGHBOUR_UNITS,
    blocks,
    past_gaps,
    record_key,
)
from hindsight_integrations.backends.memory.archiving import DictArchive
from hindsight_integrations.backends.memory.bank_state import BankState, StoredUnit
from hindsight_integrations.backends.memory.document_shelf import DictShelf
from hindsight_integrations.backends.memory.editing import DictEditor
from hindsight_integrations.backends.memory.erasing import DictEraser
from hindsight_integrations.backends.memory.task_queue import DictTasks
from hindsight_integrations.backends.memory.validity_log import DictValidityLog
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import MessageKey
from hindsight_integrations.ports.arrays import NEVER, UNDATED, IntArray, Matrix
from hindsight_integrations.ports.ledger import UnitColumns
from hindsight_integrations.ports.memory_graph import Edges, Mentions

_TYPE_CODES = {fact_type: code for code, fact_type in enumerate(FactType)}


class _Reader(DictTasks):
    """The reads of pipelines."""

    def units(self, bank: str, ids: IntArray) -> dict[int, MemoryUnit]:
        """The units of these row ids; unknown ids are left out."""
        with self._bank(bank) as state:
            return {row: state.units[row].unit for row in ids.tolist() if row in state.units}

    def row_ids(self, bank: str, unit_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of these unit ids; unknown ones are left out."""
        with self._bank(bank) as state:
            return {unit: state.unit_rows[unit] for unit in unit_ids if unit in state.unit_rows}

    def unit_ids(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Unit ids of these row ids; unknown ones are left out."""
        with self._bank(bank) as state:
            return {row: state.units[row].unit.id for row in ids.tolist() if row in state.units}

    def known_messages(self, bank: str, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
        """Which of these messages were retained already."""
        with self._bank(bank) as state:
            return frozenset(
                key for key in keys if state.versions.get((key.thread, key.message_id)) == key.content_hash
            )

    def entities_named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Entity by normalised name or alias; of several, the most mentioned, then the lowest id."""
        wanted = frozenset(names)
        with self._bank(bank) as state:
            found: dict[str, Entity] = {}
            for entity in sorted(state.entities.values(), key=lambda known: (-known.mentions, known.id)):
                for name in wanted.intersection(entity.names) - found.keys():
                    found[name] = entity
            return found

    def entity_candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """For each name, entities sharing a block: exact first, then shared blocks, mentions, id."""
        with self._bank(bank) as state:
            return {name: [state.entities[row] for row in _blocked(state, name, limit)] for name in names}

    def entity_neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """For each entity the names it was lately mentioned with."""
        with self._bank(bank) as state:
            rows = {key: state.entity_rows[key] for key in entity_ids if key in state.entity_rows}
            found = {key: _neighbours(state, row) for key, row in rows.items()}
        return {key: names for key, names in found.items() if names}

    def entities_of(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """The entities each unit mentions, by name."""
        with self._bank(bank) as state:
            return {
                unit: sorted(
                    (state.entities[row] for row in rows), key=lambda entity: (entity.name, entity.id)
                )
                for unit in ids.tolist()
                if (rows := state.mentioned_by.get(unit))
            }

    def entity_rows(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of entities, as the graph names them."""
        with self._bank(bank) as state:
            return {key: state.entity_rows[key] for key in entity_ids if key in state.entity_rows}

    def roles(self, bank: str) -> IntArray:
        """Row ids of entities with a role, ascending."""
        with self._bank(bank) as state:
            rows = [row for row, entity in state.entities.items() if entity.role is not EntityRole.NONE]
            return np.array(sorted(rows), np.int64)

    def validity(self, bank: str, unit_id: str) -> list[ValidityEvent]:
        """A unit's validity log, by effective time, then in the order recorded."""
        with self._bank(bank) as state:
            log = [event for event in state.events if event.unit_id == unit_id]
            return sorted(log, key=lambda event: event.effective_at)


class DictLedger(_Reader, DictShelf, DictValidityLog, DictEraser, DictEditor, DictArchive):
    """Ledger in memory: a reference for what the port promises."""

    def revision(self, bank: str) -> int:
        """The bank's current revision."""
        with self._bank(bank) as state:
            return state.revision

    def record_rows(self, bank: str, *, kind: str | None = None, category: str | None = None) -> IntArray:
        """Row ids of every unit with a record of this kind and category, ascending."""
        with self._bank(bank) as state:
            found = ((row, held.unit.record) for row, held in sorted(state.units.items()))
            wanted = [
                row
                for row, record in found
                if record is not None
                and (kind is None or record_key(record.kind) == record_key(kind))
                and (category is None or record_key(record.category) == record_key(category))
            ]
        return np.array(wanted, np.int64)

    def count(self, bank: str) -> int:
        """How many units the bank holds."""
        with self._bank(bank) as state:
            return len(state.units)

    def columns(self, bank: str, since: int) -> UnitColumns:
        """Units created, closed, restored or re-dated after `since`."""
        with self._bank(bank) as state:
            changed = {row: held for row, held in state.units.items() if held.changed > since}
            rows = [(row, *_column_row(held)) for row, held in changed.items()]
            units = [held.unit for held in changed.values()]
            gaps = _gaps(state, {row for row, *_ in rows})
        table = np.array(rows, np.int64).reshape(-1, 7)
        ids, types, starts, ends, mentioned, closed, tokens = (column.copy() for column in table.T)
        tags = [unit.tags for unit in units]
        turns = [(unit.thread, unit.speaker) if unit.speaker else ("", "") for unit in units]
        return UnitColumns(ids, types, starts, ends, mentioned, closed, tokens, tags, turns, gaps)

    def vectors(self, bank: str, since: int) -> tuple[IntArray, Matrix]:
        """Row ids (n,) and vectors (n, dimension) written after `since`."""
        with self._bank(bank) as state:
            held = {row: unit.vector for row, unit in state.units.items() if unit.vector_changed > since}
        if not held:
            return np.empty(0, np.int64), np.empty((0, 0), np.float32)
        matrix = np.frombuffer(bytearray().join(held.values()), "<f4").reshape(len(held), -1)
        return np.array(list(held), np.int64), matrix

    def texts(self, bank: str, since: int) -> tuple[IntArray, list[str]]:
        """Row ids and texts of units created after `since`."""
        with self._bank(bank) as state:
            held = {
                row: unit.unit.text
                for row, unit in state.units.items()
                if unit.created > since or any(made > since for made, *_ in state.edits.get(row, ()))
            }
        return np.array(list(held), np.int64), list(held.values())

    def graph(self, bank: str, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Units, links and mentions created after `since`."""
        with self._bank(bank) as state:
            units = [row for row, held in state.units.items() if held.created > since]
            links = sorted((key, weight) for key, (weight, added) in state.links.items() if added > since)
            pairs = sorted(pair for pair, added in state.mentions.items() if added > since)
        ends = np.array([key for key, _ in links], np.int64).reshape(-1, 3)
        weights = np.array([weight for _, weight in links], np.float32)
        both = np.array(pairs, np.int64).reshape(-1, 2)
        edges = Edges(ends[:, 0].copy(), ends[:, 1].copy(), ends[:, 2].copy(), weights)
        return np.array(units, np.int64), edges, Mentions(both[:, 0].copy(), both[:, 1].copy())

    def removed(self, bank: str, since: int) -> IntArray:
        """Row ids forgotten (erased) after `since`."""
        with self._bank(bank) as state:
            return np.array(sorted(row for row, at in state.removed.items() if at > since), np.int64)


def _gaps(state: BankState, rows: set[int]) -> IntArray:
    """Past gaps in the validity of these units."""
    log = ((state.unit_rows[event.unit_id], event) for event in state.events)
    return past_gaps((row, event.kind, to_micros(event.effective_at)) for row, event in log if row in rows)


def _column_row(held: StoredUnit) -> tuple[int, int, int, int, int, int]:
    unit = held.unit
    start, end = (UNDATED, UNDATED)
    if unit.occurred:
        start, end = to_micros(unit.occurred.start), to_micros(unit.occurred.end)
    closed = to_micros(unit.closed_at) if unit.closed_at else NEVER
    return _TYPE_CODES[unit.fact_type], start, end, to_micros(unit.mentioned_at), closed, unit.tokens


def _blocked(state: BankState, name: str, limit: int) -> list[int]:
    """Rows of the entities named `name` or sharing a key with it, best first."""
    found = [state.blocks.get(key, set()) for key in blocks(name)]
    shared = Counter(row for rows in found if len(rows) <= COMMON_BLOCK for row in rows)
    named = {row for rows in found for row in rows if name in state.entities[row].names}

    def order(row: int) -> tuple[bool, int, int, str]:
        entity = state.entities[row]
        return name not in entity.names, -shared[row], -entity.mentions, entity.id

    return sorted(named | shared.keys(), key=order)[:limit]


def _neighbours(state: BankState, row: int) -> frozenset[str]:
    """Names the entity was mentioned with in its latest units, the most frequent, at most 50."""
    latest = sorted(state.mentioned_in.get(row, ()), reverse=True)[:NEIGHBOUR_UNITS]
    met = Counter(other for unit in latest for other in state.mentioned_by[unit] if other != row)
    best = sorted(met, key=lambda other: (-met[other], other))[:NEIGHBOUR_LIMIT]
    names = (state.entities[other].names for other in best)
    return frozenset(known[0] for known in names if known)
