"""EntityEditor: the part of the ledger that changes entities by hand, and undoes it (design section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.entities import Entity, EntityChange


@dataclass(frozen=True, slots=True)
class EntitySplit:
    """What of an entity becomes an entity of its own.

    Attributes:
        entity_id: the entity split.
        new_id: the id of the new one.
        name: its canonical name.
        names: the normalised names that move to it.
        units: ids of the units whose mention moves.
    """

    entity_id: str
    new_id: str
    name: str
    names: tuple[str, ...]
    units: tuple[str, ...]


class EntityEditor(Protocol):
    """Audited, undoable changes of entities. Writers run on the engine's writer thread only.

    Each raises the bank's revision, and `graph_epoch` with it, so that graphs are built anew.
    """

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities having a normalised name that starts with `prefix`, the most mentioned first, then by name."""
        ...

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """All entities of that id or exact normalised name, by falling mentions, then id."""
        ...

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        ...

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity (by id) to another; the merged one goes."""
        ...

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity, of the same type, of some names and mentions of another."""
        ...

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        ...

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """The audit log, oldest first."""
        ...

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did; mentions retained since stay where they are.

        Raises:
            InvalidRequest: there is no such change, it was undone, or a later change stands on it.
        """
        ...

    def graph_epoch(self, bank: str) -> int:
        """The last revision that changed links or mentions in place; graphs older than it start over."""
        ...
