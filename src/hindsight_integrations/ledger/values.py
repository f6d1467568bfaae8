"""Values that the ledger accepts and returns, in addition to those in `model/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from hindsight_integrations.model.arrays import IntArray, no_gaps
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.items import Namespace
from hindsight_integrations.model.links import Link
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import ChunkWrite

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""A value in a line of JSON."""


@dataclass(frozen=True, slots=True)
class BankHeader:
    """Properties of a bank.

    Attributes:
        name: the bank's name.
        key: a short, stable key for the bank's folders and collections that is safe in file names (a hash of the name).
        generation: distinguishes successive banks with the same name; a bank that is deleted and created again gets a higher
            number.
        revision: number of commits so far; 0 if nothing was retained.
        embedder: the embedder of the bank's vectors; None until the first commit of units.
        profile: the profile of the bank's agent.
    """

    name: str
    key: str
    generation: int
    revision: int
    embedder: EmbedderIdentity | None
    profile: BankProfile


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a commit.

    Attributes:
        revision: the bank's new revision.
        created: ids of the new units.
        tasks: the tasks enqueued, in order.
    """

    revision: int
    created: tuple[str, ...]
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemUnits:
    """Searchable texts of items.

    Attributes:
        units: row ids of the texts, ascending, (n,).
        items: row id of each text's item, (n,).
        namespaces: namespace of each text's item, n.
    """

    units: IntArray
    items: IntArray
    namespaces: list[Namespace]


NO_ITEM_UNITS = ItemUnits(np.empty(0, np.int64), np.empty(0, np.int64), [])


@dataclass(frozen=True, slots=True)
class UnitColumns:
    """The filterable columns of units as parallel arrays of length n, ordered by row id.

    Attributes:
        ids: row ids, int64.
        types: position of the fact type in `list(FactType)`, int64. WAITING, STORED or IN_DOCUMENT is added for turns that
            wait for extraction, texts of items, and items of documents.
        starts: start of the event in microseconds since the epoch, UNDATED if unknown, int64.
        ends: end of the event (exclusive) in microseconds, UNDATED if unknown, int64.
        mentioned: mentioned_at in microseconds since the epoch, int64.
        closed: closed_at in microseconds since the epoch, NEVER while valid, int64.
        tokens: number of tokens of the text, int64.
        compact: number of tokens of the short form, or of the text if there is none, int64.
        heads: row id of an item's document, 0 for other units, int64.
        lasting: 1 for statements about who somebody is, else 0, int64.
        tags: each unit's tags, sorted.
        turns: each unit's (thread, speaker) if it stores a message word for word, else ("", "").
        metadata: each unit's metadata as JSON; empty if it has none.
        gaps: past spans in which units were closed, (m, 3) int64: row id, start and end in microseconds since the epoch,
            ordered by row id, then start.
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
    """A document in its latest version.

    Attributes:
        id: the id passed by the caller, or one derived from the text.
        content_hash: hash of its text.
        chunks: its chunks in order. Joined, they are its text.
        next_ordinal: a chunk number that the document has never used.
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
    """A correction of a unit.

    Attributes:
        unit: the corrected unit. Id, type, sources and validity are unchanged.
        vector: its new vector (unit-norm float32, little endian); None if text and time are unchanged.
        links: its new temporal and semantic links; None leaves them unchanged. Causal links are always kept.
        fields: names of the changed fields, for the audit log. Changed tags are copied to the unit's items.
        records: whether the values of its records changed with its text. Their number, kinds and categories cannot
            change.
    """

    unit: MemoryUnit
    vector: bytes | None
    links: tuple[Link, ...] | None
    fields: tuple[str, ...]
    records: bool = False


@dataclass(frozen=True, slots=True)
class EntitySplit:
    """The part of an entity that becomes a new entity.

    Attributes:
        entity_id: the entity to split.
        new_id: the id of the new entity.
        name: the canonical name of the new entity.
        names: the normalised names that move to the new entity.
        units: ids of the units whose mentions move.
    """

    entity_id: str
    new_id: str
    name: str
    names: tuple[str, ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """One row of a bank, on one line of an archive.

    Attributes:
        kind: name of the table: "units", "vectors", "entities", "links", ...
        fields: values of the columns: vectors in base64, JSON parsed, times in microseconds since 1970 UTC.
    """

    kind: str
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Observed:
    """The observations made from an entity's facts.

    Attributes:
        entity_id: the entity.
        at_revision: the revision of the bank whose facts were summarised; 0 if the entity was never summarised.
        stale: whether the facts have changed since then.
        left_out: ids of the valid facts that were considered but support no observation.
        units: ids of the observations, in the order they were written.
    """

    entity_id: str
    at_revision: int = 0
    stale: bool = False
    left_out: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


class Scrub(StrEnum):
    """The result of removing erased data from the files."""

    CLEAN = "clean"
    """The ledger's storage contains no erased data."""

    WAITING = "waiting"
    """Another process is reading an older state; the next erasure or opening tries again."""

    NOT_OURS = "not ours"
    """The ledger cannot rewrite its storage, because it is read-only, or a server keeps logs and backups."""
