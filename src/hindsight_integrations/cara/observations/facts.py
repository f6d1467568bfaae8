"""The facts of an entity as they stand at one revision: F_e of paper eq. 6."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.search.documents import as_they_stand


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of one entity that anybody who may see one of them may see: their tags are the same.

    Attributes:
        units: documents with the items that hold, the oldest first.
        vectors: theirs (n, dimension); zeros for one whose vector cannot be read.
    """

    units: tuple[MemoryUnit, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class EntityFacts:
    """What an entity's observations are made from.

    Attributes:
        entity: it.
        groups: its facts by tags; those first that were added to last.
        revision: the bank's, when they were read; what changed since may or may not be in them.
    """

    entity: Entity
    groups: tuple[Facts, ...]
    revision: int

    @property
    def units(self) -> tuple[MemoryUnit, ...]:
        """All facts."""
        return tuple(unit for group in self.groups for unit in group.units)


def entity_facts(ledger: LedgerReader, bank: str, entity_id: str, *, revision: int) -> EntityFacts | None:
    """The valid facts of an entity, grouped by tags; None if there is no such entity (any more).

    Args:
        ledger: the bank's.
        bank: its name.
        entity_id: the entity.
        revision: of the bank, read before.
    """
    entity = next((one for one in ledger.entities.find(bank, entity_id) if one.id == entity_id), None)
    if entity is None:
        return None
    rows = ledger.observations.entity_facts(bank, entity_id)
    stored = as_they_stand(ledger.units.get(bank, rows), ledger, bank)
    order = sorted(stored, key=lambda row: (stored[row].mentioned_at, row))
    by_tags: dict[tuple[str, ...], list[int]] = {}
    for row in order:
        by_tags.setdefault(stored[row].tags, []).append(row)
    groups = sorted(
        by_tags.values(), key=lambda group: (stored[group[-1]].mentioned_at, group[-1]), reverse=True
    )
    return EntityFacts(entity, tuple(_facts(group, stored, ledger, bank) for group in groups), revision)


def unchanged(facts: Collection[MemoryUnit], ledger: LedgerReader, bank: str, entity_id: str) -> bool:
    """Whether these facts of an entity are still valid, still its own, and still say what they said."""
    if not facts:
        return True
    places = ledger.units.row_ids(bank, [fact.id for fact in facts])
    rows = np.array(sorted(places.values()), np.int64)
    if len(rows) < len(facts) or not np.isin(rows, ledger.observations.entity_facts(bank, entity_id)).all():
        return False
    standing = as_they_stand(ledger.units.get(bank, rows), ledger, bank)
    now = {unit.id: unit for unit in standing.values()}
    return all(now.get(fact.id) == fact for fact in facts)


def _facts(rows: Sequence[int], units: dict[int, MemoryUnit], ledger: LedgerReader, bank: str) -> Facts:
    ids: IntArray = np.array(rows, np.int64)
    stored = ledger.units.vectors(bank, ids)
    dimension = len(next(iter(stored.values()))) if stored else 1
    vectors = np.zeros((len(rows), dimension), np.float32)
    for place, row in enumerate(rows):
        if row in stored:
            vectors[place] = stored[row]
    return Facts(tuple(units[row] for row in rows), vectors)
