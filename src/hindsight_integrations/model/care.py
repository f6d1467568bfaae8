"""Verbs for care: what is to be erased, and the receipts and audit entries such verbs give (design section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_integrations.model.time import Interval


@dataclass(frozen=True, slots=True)
class Erasure:
    """What to erase from a bank: exactly one of the fields is set.

    Attributes:
        unit: id of one unit.
        document: id of a document: its row, chunks and units.
        entity: id of an entity: it and every unit that mentions it.
        window: units that happened or were mentioned in it.
        everything: all content; the bank stays, empty, with its profile and embedder.
    """

    unit: str | None = None
    document: str | None = None
    entity: str | None = None
    window: Interval | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class ForgetReceipt:
    """What was erased. It holds ids and counts, no text.

    Attributes:
        unit_ids: ids of the units erased, amendments of the chosen ones included.
        entity_ids: ids of entities that nothing mentions any more.
        counts: rows erased per kind ("units", "documents", "chunks", "entities", "names", "tasks", "messages", ...).
        revision: the bank's revision afterwards; every index has reached it.
        files_clean: whether the files underneath were rewritten. False while another process reads the ledger; the
            next forget or the next open tries again.
    """

    unit_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    counts: Mapping[str, int]
    revision: int
    files_clean: bool = True


class EntityChangeKind(StrEnum):
    """What a caller did to entities by hand."""

    MERGE = "merge"
    SPLIT = "split"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One audited change of entities.

    Attributes:
        id: what `undo_entity_change` takes.
        kind: merge, split or alias.
        entity_id: the entity kept, split or given another name.
        other_id: the entity merged into it or split from it; empty for an alias.
        names: normalised names that moved or were given.
        units: how many mentions moved.
        made_at: when.
        undone: whether it was undone since.
    """

    id: int
    kind: EntityChangeKind
    entity_id: str
    other_id: str
    names: tuple[str, ...]
    units: int
    made_at: datetime
    undone: bool
