"""What a ledger hands out and takes in, beyond the nouns of `model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from hindsight_integrations.model.arrays import IntArray, no_gaps
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.items import Item, Namespace
from hindsight_integrations.model.links import Link
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import ChunkWrite

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""What a JSON line can hold."""


@dataclass(frozen=True, slots=True)
class BankHeader:
    """What the ledger keeps about a bank itself.

    Attributes:
        name: the caller's bank id.
        key: a short, file-name-safe, stable key for the bank's folders and collections (hash of the name).
        generation: which bank of this name: one forgotten and made anew has a higher one, and none has it again.
        revision: number of commits so far; 0 for a bank nothing was retained in.
        embedder: who made its vectors; None until the first commit of units.
        profile: who its agent is.
    """

    name: str
    key: str
    generation: int
    revision: int
    embedder: EmbedderIdentity | None
    profile: BankProfile


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a commit did.

    Attributes:
        revision: the bank's revision after it.
        created: ids of the units that were not there before.
        tasks: the tasks it enqueued, in order.
    """

    revision: int
    created: tuple[str, ...]
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemUnits:
    """Texts of items.

    Attributes:
        units: row ids, ascending, (n,).
        items: row id of the item each is a text of, (n,).
        namespaces: of that item, n.
    """

    units: IntArray
    items: IntArray
    namespaces: list[Namespace]


NO_ITEM_UNITS = ItemUnits(np.empty(0, np.int64), np.empty(0, np.int64), [])


@dataclass(frozen=True, slots=True)
class UnitColumns:
    """The filterable facts of units as parallel arrays of length n, ordered by row id.

    Attributes:
        ids: row ids, int64.
        types: position of the fact type in `list(FactType)`, int64; of a turn that waits for extraction, that of the facts it
            would be word for word, plus WAITING.
        starts: occurred start in microseconds since the epoch, UNDATED if none, int64.
        ends: occurred end (exclusive), UNDATED if none, int64.
        mentioned: mentioned_at in microseconds, int64.
        closed: closed_at in microseconds, NEVER while valid, int64.
        tokens: token cost, int64.
        compact: token cost of the short form, that of the text where there is none, int64.
        heads: row id of the document that an item is part of, 0 for everything else, int64.
        lasting: 1 for what says who somebody is, else 0, int64.
        tags: each unit's tags, sorted.
        turns: each unit's (thread, speaker) if it is one message word for word, else ("", "").
        metadata: each unit's metadata as JSON; empty text if it has none.
        gaps: past spans in which these units were closed, (m, 3) int64: row id, closed and restored in microseconds,
            closed before restored, ordered by row id, then closed.
    """

    ids: IntArray
    types: IntArray
    starts: IntArray
    ends: IntArray
    mentioned: IntArray
    closed: IntArray
    tokens: IntArray
    compact: IntArray
    heads: IntArray
    lasting: IntArray
    tags: list[tuple[str, ...]]
    turns: list[tuple[str, str]]
    metadata: list[str]
    gaps: IntArray = field(default_factory=no_gaps)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as last retained.

    Attributes:
        id: the caller's (or the text's own) id.
        content_hash: hash of its text.
        chunks: its passages in order; their texts, one after the other, are its text.
        next_ordinal: an ordinal no chunk of it ever had.
    """

    id: str
    content_hash: str
    chunks: tuple[ChunkWrite, ...]
    next_ordinal: int

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(chunk.text for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class UnitEdit:
    """A corrected unit.

    Attributes:
        unit: as it shall be; same id, type, sources and validity as before.
        vector: its new vector (unit-norm float32, little endian); None if text and time are unchanged.
        links: its temporal and semantic links anew; None leaves them. Causal ones always stay.
        fields: names of the fields changed, for the audit. With its tags those of its items change.
        records: whether the values of its records changed with its text; their number, kinds and categories stay.
    """

    unit: MemoryUnit
    vector: bytes | None
    links: tuple[Link, ...] | None
    fields: tuple[str, ...]
    records: bool = False


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


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """One thing of a bank, as it stands on a line of an archive.

    Attributes:
        kind: the name of a table: "units", "vectors", "entities", "links", ...
        fields: the values of its columns; vectors in base64, JSON parsed, instants in microseconds since 1970 UTC.
    """

    kind: str
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Observed:
    """What was made of an entity's facts.

    Attributes:
        entity_id: the entity.
        at_revision: the bank's revision whose facts were summed up; 0 if that was never done.
        stale: its facts have changed since.
        left_out: ids of the facts, those that are still valid, that were looked at and stand under no observation.
        units: ids of the observations made, in the order they were written.
    """

    entity_id: str
    at_revision: int = 0
    stale: bool = False
    left_out: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


class Scrub(StrEnum):
    """What became of an attempt to rewrite the files so that nothing erased is left in them."""

    CLEAN = "clean"
    """Nothing erased is left in the ledger's storage."""

    WAITING = "waiting"
    """Another process reads an older state; the next erasure or the next open tries again."""

    NOT_OURS = "not ours"
    """The storage is not this ledger's to rewrite: opened read-only, or a server's, whose logs and backups keep it."""


ItemRow = tuple[int, Item]
"""Row id of an item, and the item."""
