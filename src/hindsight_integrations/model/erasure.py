"""Erasure: what is to be forgotten for good, and the receipt of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
