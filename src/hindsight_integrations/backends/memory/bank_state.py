"""What the dict-backed ledger holds of one bank, and how a write set changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_integrations.backends.ledger.entity_changes import LoggedChange
from hindsight_integrations.backends.ledger.rules import (
    bank_key,
    blocks,
    check_known,
    check_shape,
    link_code,
    merged_entities,
    merged_names,
    merged_role,
    unit_references,
)
from hindsight_integrations.backends.memory import task_table
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import (
    ChunkWrite,
    DocumentWrite,
    EmbedderIdentity,
    EntityWrite,
    MentionWrite,
    MessageKey,
    WriteSet,
)
from hindsight_integrations.ports.ledger import BankHeader

_FLOAT_BYTES = 4


@dataclass(slots=True)
class StoredUnit:
    """A unit, its vector, and the revisions its feeds go by."""

    unit: MemoryUnit
    vector: bytes
    created: int
    changed: int
    vector_changed: int


@dataclass(slots=True)
class BankState:
    """One bank: plain dicts by row id. Row ids come from `rows`, which all banks share and which never goes back."""

    name: str
    rows: Iterator[int]
    revision: int = 0
    embedder: EmbedderIdentity | None = None
    profile: BankProfile = field(default_factory=BankProfile)
    units: dict[int, StoredUnit] = field(default_factory=dict)
    unit_rows: dict[str, int] = field(default_factory=dict)
    entities: dict[int, Entity] = field(default_factory=dict)
    entity_rows: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, set[int]] = field(default_factory=dict)
    mentions: dict[tuple[int, int], int] = field(default_factory=dict)
    mentioned_in: dict[int, list[int]] = field(default_factory=dict)
    mentioned_by: dict[int, list[int]] = field(default_factory=dict)
    links: dict[tuple[int, int, int], tuple[float, int]] = field(default_factory=dict)
    events: dict[ValidityEvent, None] = field(default_factory=dict)
    messages: set[MessageKey] = field(default_factory=set)
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    documents: dict[str, DocumentWrite] = field(default_factory=dict)
    chunks: dict[tuple[str, int], ChunkWrite] = field(default_factory=dict)
    removed: dict[int, int] = field(default_factory=dict)
    mention_texts: dict[tuple[int, int], str] = field(default_factory=dict)
    edits: dict[int, list[tuple[int, datetime, tuple[str, ...]]]] = field(default_factory=dict)
    entity_changes: dict[int, LoggedChange] = field(default_factory=dict)
    graph_epoch: int = 0
    tasks: task_table.TaskTable = field(default_factory=dict)

    @property
    def header(self) -> BankHeader:
        """The bank as the port describes it."""
        return BankHeader(self.name, bank_key(self.name), self.revision, self.embedder, self.profile)

    @property
    def dimension(self) -> int | None:
        """Length of the bank's vectors; None while it has neither vectors nor an embedder."""
        for stored in self.units.values():
            return len(stored.vector) // _FLOAT_BYTES
        return self.embedder.dimension if self.embedder else None

    def check(self, writes: WriteSet) -> None:
        """Refuse a write set that cannot be applied whole, before any of it is."""
        check_shape(writes, self.dimension)
        units = self.unit_rows.keys() | {write.unit.id for write in writes.units}
        for name, wanted in unit_references(writes).items():
            check_known(name, wanted, units, self.name)
        entities = self.entity_rows.keys() | {write.id for write in writes.entities}
        task_table.check_open(self.tasks, writes.completed_tasks)
        check_known("mentions", {mention.entity_id for mention in writes.mentions}, entities, self.name)

    def apply(self, writes: WriteSet) -> tuple[str, ...]:
        """Apply a checked write set; returns the ids created. The revision rises only if something changed."""
        target = self.revision + 1
        created = self._add_units(writes, target)
        changes = [
            bool(created or writes.tasks or writes.completed_tasks),
            self._add_sources(writes),
            *[self._add_entity(write) for write in merged_entities(writes.entities).values()],
            *[self._add_mention(m, target) for m in writes.mentions],
            *[self._add_event(event, target) for event in writes.events],
            self._add_links(writes, target),
        ]
        if any(changes):
            self.revision = target
        return created

    def apply_tasks(self, writes: WriteSet) -> tuple[Task, ...]:
        """Complete and enqueue the tasks of a checked write set; returns those enqueued."""
        task_table.complete(self.tasks, writes.completed_tasks)
        return task_table.enqueue(self.tasks, writes.tasks, self.rows)

    def _add_units(self, writes: WriteSet, revision: int) -> tuple[str, ...]:
        created = []
        for write in writes.units:
            if write.unit.id not in self.unit_rows:
                row = next(self.rows)
                self.unit_rows[write.unit.id] = row
                self.units[row] = StoredUnit(write.unit, write.vector, revision, revision, revision)
                created.append(write.unit.id)
        return tuple(created)

    def _add_sources(self, writes: WriteSet) -> bool:
        """Messages, documents and chunks; whether any is new or other than before."""
        before = dict(self.versions), dict(self.documents), dict(self.chunks)
        self.messages.update(writes.messages)
        self.versions.update({(key.thread, key.message_id): key.content_hash for key in writes.messages})
        self.documents.update({document.id: document for document in writes.documents})
        for chunk in writes.chunks:
            known = self.chunks.setdefault((chunk.document_id, chunk.ordinal), chunk)
            self.chunks[chunk.document_id, chunk.ordinal] = replace(known, position=chunk.position)
        return (self.versions, self.documents, self.chunks) != before

    def _add_entity(self, write: EntityWrite) -> bool:
        row = self.entity_rows.get(write.id)
        if row is None:
            row = self.entity_rows[write.id] = next(self.rows)
            before, known = None, Entity(write.id, write.name, write.type)
        else:
            before = known = self.entities[row]
        names = merged_names(known.names, write.names)
        self.entities[row] = replace(known, names=names, role=merged_role(known.role, write.role))
        for name in names:
            for block in blocks(name):
                self.blocks.setdefault(block, set()).add(row)
        return self.entities[row] != before

    def _add_mention(self, mention: MentionWrite, revision: int) -> bool:
        unit, entity = self.unit_rows[mention.unit_id], self.entity_rows[mention.entity_id]
        if (unit, entity) in self.mentions:
            return False
        self.mention_texts[unit, entity] = mention.text
        self.mentions[unit, entity] = revision
        self.mentioned_in.setdefault(entity, []).append(unit)
        self.mentioned_by.setdefault(unit, []).append(entity)
        known, seen = self.entities[entity], self.units[unit].unit.mentioned_at
        last = max(seen, known.last_seen) if known.last_seen else seen
        self.entities[entity] = replace(known, mentions=known.mentions + 1, last_seen=last)
        return True

    def _add_links(self, writes: WriteSet, revision: int) -> bool:
        before = len(self.links)
        for link in writes.links:
            key = self.unit_rows[link.source], self.unit_rows[link.target], link_code(link)
            self.links.setdefault(key, (link.weight, revision))
        return len(self.links) > before

    def _add_event(self, event: ValidityEvent, revision: int) -> bool:
        if event in self.events:
            return False
        self.events[event] = None
        if event.kind is not ValidityKind.AMENDED:
            stored = self.units[self.unit_rows[event.unit_id]]
            closed = None
            if event.kind is ValidityKind.CLOSED:
                closed = min(stored.unit.closed_at or event.effective_at, event.effective_at)
            stored.unit = replace(stored.unit, closed_at=closed)
            stored.changed = revision
        return True
