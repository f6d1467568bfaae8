"""Erasure: what is to be forgotten for good, and the receipt of it, or the list of what would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.model.display import Displayed, Table
from hindsight_integrations.model.time import Interval


@dataclass(frozen=True, slots=True)
class Erasure:
    """What to erase from a bank: one of the fields is set, with `message` its `thread`, and those that say so with others.

    Attributes:
        unit: id of one unit.
        document: id of a document: its row, chunks and units.
        entity: id of an entity: it and every unit that mentions it.
        names: of the entity, normalised: these alone, and the units that mention it under one of them. Empty means all.
        window: units that happened or were mentioned in it.
        everything: all content; the bank stays, empty, with its profile, the history of that, and its embedder.
        thread: a conversation: its turns and every memory made from them.
        message: id of one message of `thread`: its turn and every memory made from it.
        told: normalised names: every unit and turn in whose text one of them stands as whole words; with `entity` or without.
        units: ids of several units; with `identifiers` or without.
        identifiers: telephone, card, account and order numbers, plates and e-mail addresses, each in its one spelling (see
            model/identifiers.py): every unit and turn in which one of them stands, in any spelling.
        before: what was mentioned before it; when it happened does not matter.
        tags: with `before`: only what bears one of them. Empty means all.
    """

    unit: str | None = None
    document: str | None = None
    entity: str | None = None
    names: tuple[str, ...] = ()
    window: Interval | None = None
    everything: bool = False
    thread: str | None = None
    message: str | None = None
    told: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    before: datetime | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ForgetReceipt(Displayed):
    """What was erased: ids and counts, and nothing of what they stood for. Of a dry run, what would be, with names.

    Attributes:
        unit_ids: ids of the units erased, items of documents included.
        entity_ids: ids of entities that nothing mentions any more.
        counts: rows erased per kind ("units", "turns", "documents", "chunks", "entities", "names", "tasks", ...).
        revision: the bank's revision afterwards; every index has reached it.
        dry_run: nothing was erased; the same call without `dry_run` would erase this.
        names: of a dry run alone: normalised names of entities nothing would mention any more, and names that other
            entities would lose, in order.
        files_clean: whether the files underneath were rewritten. False while another process reads the ledger; the
            next forget or the next open tries again.
        restored: ids of memories and items that hold again, because what had ended them was erased.
    """

    unit_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    counts: Mapping[str, int]
    revision: int
    files_clean: bool = True
    dry_run: bool = False
    names: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()

    def _display_facts(self) -> tuple[str, ...]:
        counts = [f"{number:,} {kind.replace('_', ' ')}" for kind, number in self.counts.items() if number]
        return (
            "dry run" if self.dry_run else "erased",
            *(counts or ["nothing"]),
            f"{len(self.restored):,} restored" if self.restored else "",
            "" if self.files_clean else "files not rewritten yet",
        )

    def _display_tables(self) -> tuple[Table, ...]:
        rows = [(kind.replace("_", " "), number) for kind, number in self.counts.items() if number]
        ids = [(unit_id,) for unit_id in self.unit_ids]
        names = [(name,) for name in self.names]
        title = "would be erased" if self.dry_run else "erased"
        return Table((title, "rows"), rows), Table(("unit ids",), ids), Table(("names",), names)
