"""Reads of entities: by name, by shared blocks, by unit, and the log of changes made by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.observations import (
    note_changed,
    observations_of,
    observe_changed,
    remove_units,
)
from hindsight_integrations.ledger.rows import (
    ENTITY_COLUMNS,
    IS_FACT,
    NOT_OBSERVED,
    BankReads,
    Target,
    batches,
    entity_from,
    entity_rows,
    find_bank,
    marks,
    unit_rows,
)
from hindsight_integrations.ledger.rules import (
    COMMON_BLOCK,
    NEIGHBOUR_LIMIT,
    NEIGHBOUR_UNITS,
    blocks,
    check_known,
    merged_names,
    merged_role,
)
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.entities import Entity, EntityChange, EntityChangeKind, EntityRole
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.writes import EntityWrite, WriteSet
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import EntitySplit


def write_entities(target: Target, writes: Mapping[str, EntityWrite]) -> None:
    """Insert new entities; give known ones the names and the role they lack."""
    known = _known_entities(target, list(writes))
    raw(target.connection).executemany(
        "INSERT INTO entities (bank, entity_id, name, type, role, names) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (target.bank, new.id, new.name, new.type.value, new.role.value, json.dumps(new.names))
            for new in writes.values()
            if new.id not in known
        ],
    )
    changed = []
    for entity_id, (row, role, names) in known.items():
        write = writes[entity_id]
        after = merged_role(role, write.role), merged_names(names, write.names)
        if after != (role, names):
            changed.append((after[0].value, json.dumps(after[1]), row))
    raw(target.connection).executemany("UPDATE entities SET role = ?, names = ? WHERE id = ?", changed)
    rows = entity_rows(target.connection, target.bank, list(writes))
    pairs = ((name, rows[write.id]) for write in writes.values() for name in write.names)
    write_names(target.connection, target.bank, pairs)


def _known_entities(
    target: Target, entity_ids: list[str]
) -> dict[str, tuple[int, EntityRole, tuple[str, ...]]]:
    """(row id, role, names) of the entities that are there already."""
    known = {}
    for some in batches(entity_ids):
        rows = raw(target.connection).execute(
            "SELECT entity_id, id, role, names FROM entities "
            f"WHERE bank = ? AND entity_id IN ({marks(len(some))})",
            (target.bank, *some),
        )
        for entity_id, row, role, names in rows:
            known[entity_id] = row, EntityRole(role), tuple(json.loads(names))
    return known


def write_names(connection: Connection, bank: int, pairs: Iterable[tuple[str, int]]) -> None:
    """Make entities findable by the names and blocks of these (normalised name, row id) pairs."""
    names = set(pairs)
    raw(connection).executemany(
        "INSERT INTO entity_names (bank, name, entity) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(bank, name, row) for name, row in sorted(names)],
    )
    keys = {(block, row) for name, row in names for block in blocks(name)}
    raw(connection).executemany(
        "INSERT INTO entity_blocks (bank, block, entity) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(bank, block, row) for block, row in sorted(keys)],
    )


def write_mentions(target: Target, writes: WriteSet, units: Mapping[str, int]) -> list[int]:
    """Insert new mentions and count them on their entities; those of observations are not counted.

    Args:
        target: where to write.
        writes: the write set; its units and entities are in the tables already.
        units: row ids of the units it mentions.

    Returns:
        Row ids of the entities whose valid facts became more, which is written down with them.

    Raises:
        InvalidRequest: a mention names an entity the bank does not hold.
    """
    if not writes.mentions:
        return []
    wanted = sorted({mention.entity_id for mention in writes.mentions})
    rows = entity_rows(target.connection, target.bank, wanted)
    check_known("mentions", wanted, rows, writes.bank)
    raw(target.connection).executemany(
        "INSERT INTO mentions (unit, entity, bank, revision, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (units[mention.unit_id], rows[mention.entity_id], target.bank, target.revision, mention.text)
            for mention in writes.mentions
        ],
    )
    fresh = (
        raw(target.connection)
        .execute(
            "SELECT count(*), max(mentioned_at), max(mentioned_at), "
            f"CASE WHEN max({IS_FACT} AND closed_at IS NULL) THEN ? ELSE 0 END, entity FROM mentions "
            "JOIN units ON units.id = unit "
            f"WHERE mentions.bank = ? AND revision = ? AND {NOT_OBSERVED} GROUP BY entity",
            (target.revision, target.bank, target.revision),
        )
        .fetchall()
    )
    raw(target.connection).executemany(
        "UPDATE entities SET mentions = mentions + ?, last_seen = max(coalesce(last_seen, ?), ?), "
        "facts_changed = max(facts_changed, ?) WHERE id = ?",
        fresh,
    )
    return [entity for *_, changed, entity in fresh if changed]


@dataclass(frozen=True, slots=True)
class Moved:
    """What a change moved.

    Attributes:
        entity_id: the entity kept, split or named.
        other_id: the entity merged away or split off; empty for an alias.
        names: normalised names that moved, or were given.
        units: ids of units whose mention moved; of those with a mention of both, none.
        shared: ids of units that mentioned both entities of a merge, with the text of the mention that went.
        name: canonical name of the other entity.
        type: its type.
        role: its role.
        other_names: all names of the other entity, in order; of an alias, the names given, those it had before included.
    """

    entity_id: str
    other_id: str = ""
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    name: str = ""
    type: str = ""
    role: str = ""
    other_names: tuple[str, ...] = ()

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Moved:
        """From JSON."""
        fields = json.loads(text)
        for name in ("names", "units", "other_names"):
            fields[name] = tuple(fields[name])
        return cls(**{**fields, "shared": tuple((unit, text) for unit, text in fields["shared"])})


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One row of the audit log; `detail` is a `Moved` as JSON."""

    id: int
    kind: EntityChangeKind
    detail: str
    made_at: datetime
    undone: bool = False

    @property
    def moved(self) -> Moved:
        """What it moved."""
        return Moved.read(self.detail)

    def public(self) -> EntityChange:
        """As callers see it."""
        moved = self.moved
        count = len(moved.units) + len(moved.shared)
        return EntityChange(
            self.id, self.kind, moved.entity_id, moved.other_id, moved.names, count, self.made_at, self.undone
        )

    def as_undone(self) -> LoggedChange:
        """The same, undone."""
        return replace(self, undone=True)


def check_undoable(change: LoggedChange | None, change_id: int, later: list[LoggedChange]) -> LoggedChange:
    """The change, if nothing stands in the way of undoing it.

    Raises:
        InvalidRequest: it is unknown or undone, or a later change (not undone) touches one of its entities.
    """
    if change is None or change.undone:
        reason = "there is no such change" if change is None else "it was undone already"
        raise InvalidRequest("change_id", f"{change_id}: {reason}", "See entity_changes().")
    ours = {change.moved.entity_id, change.moved.other_id} - {""}
    for other in later:
        if not other.undone and ours & {other.moved.entity_id, other.moved.other_id}:
            raise InvalidRequest("change_id", f"change {other.id} stands on it", f"Undo {other.id} first.")
    return change


# Which names are an entity's for certain, and which were only found alike (decision 095).
def exact_names(entity_id: str, name: str, log: Sequence[LoggedChange]) -> frozenset[str]:
    """The normalised name an entity goes by, and those that somebody gave it by hand.

    Every other name it answers to came by resolution, which takes names for one that look alike. An entity merged into it
    by hand brings what was certain of that entity then, and no more: who merged two may not have seen a third inside.

    Args:
        entity_id: whose names.
        name: what it is called.
        log: all changes by hand in the bank, oldest first.
    """
    exact = {normalise_name(name)}
    for place, change in enumerate(log):
        moved = change.moved
        if change.undone:
            continue
        if change.kind is EntityChangeKind.SPLIT and moved.other_id == entity_id:
            exact |= set(moved.names)
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.ALIAS:
            exact |= {*moved.names, *moved.other_names}
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.MERGE:
            exact |= exact_names(moved.other_id, moved.name, log[:place])
    return frozenset(exact)


class EntityReader(BankReads):
    """The part of `LedgerReader` about entities."""

    def entities_named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Entity by name or alias; of several the most mentioned, then the lowest id."""
        best: dict[str, int] = {}
        with self._at(bank) as (connection, row):
            for some in batches(names):
                found = raw(connection).execute(
                    "SELECT entity_names.name, entities.id FROM entity_names JOIN entities ON entities.id = entity "
                    f"WHERE entity_names.bank = ? AND entity_names.name IN ({marks(len(some))}) "
                    "ORDER BY mentions DESC, entity_id",
                    (row, *some),
                )
                for name, entity in found:
                    best.setdefault(name, entity)
            entities = _by_row(connection, set(best.values()))
        return {name: entities[entity] for name, entity in best.items()}

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """Entities of that id or exact normalised name, by falling mentions, then id."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = :bank AND (entity_id = :name OR id IN "
                "(SELECT entity FROM entity_names WHERE entity_names.bank = :bank AND entity_names.name = :name)) "
                "ORDER BY mentions DESC, entity_id",
                {"bank": row, "name": name},
            )
            return [entity_from(each) for each in found]

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities with a name that starts so, the most mentioned first, then by name and id."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                f"SELECT {ENTITY_COLUMNS} FROM entities WHERE bank = :bank AND (:prefix = '' OR id IN "
                "(SELECT entity FROM entity_names WHERE entity_names.bank = :bank AND entity_names.name >= :prefix "
                "AND substr(entity_names.name, 1, length(:prefix)) = :prefix)) "
                "ORDER BY mentions DESC, name, entity_id LIMIT :limit",
                {"bank": row, "prefix": prefix, "limit": limit},
            )
            return [entity_from(each) for each in found]

    def entity_candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """For each name the entities sharing a block with it, at most `limit`; see the port for the order."""
        with self._at(bank) as (connection, row):
            rare = _rare(connection, row, {block for name in names for block in blocks(name)})
            rows = {name: _blocked(connection, row, name, blocks(name) & rare, limit) for name in names}
            found = _by_row(connection, {entity for some in rows.values() for entity in some})
        return {name: [found[entity] for entity in some] for name, some in rows.items()}

    def entity_neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Names each entity was mentioned with in its latest units, the most frequent ones."""
        met: dict[str, list[str]] = {}
        with self._at(bank) as (connection, row):
            names = {entity: key for key, entity in entity_rows(connection, row, entity_ids).items()}
            for entity, name in raw(connection).execute(
                "SELECT given.value, json_extract(entities.names, '$[0]') FROM json_each(?) AS given "
                "CROSS JOIN mentions AS other ON other.unit IN "
                "(SELECT unit FROM mentions WHERE entity = given.value "
                "AND NOT EXISTS (SELECT 1 FROM observations WHERE observations.unit = mentions.unit) "
                "ORDER BY unit DESC LIMIT ?) "
                "AND other.entity <> given.value JOIN entities ON entities.id = other.entity "
                "GROUP BY given.value, other.entity ORDER BY given.value, count(*) DESC, other.entity",
                (json.dumps(sorted(names)), NEIGHBOUR_UNITS),
            ):
                if name is not None and len(known := met.setdefault(names[entity], [])) < NEIGHBOUR_LIMIT:
                    known.append(name)
        return {entity_id: frozenset(known) for entity_id, known in met.items()}

    def entities_of(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """The entities each unit mentions, by name."""
        found: dict[int, list[Entity]] = {}
        read: dict[str, Entity] = {}  # an entity that many units mention is read once
        with self._at(bank) as (connection, row):
            # The + keeps the planner from walking the whole bank by the feed's index.
            rows = raw(connection).execute(
                f"SELECT mentions.unit, {ENTITY_COLUMNS} FROM json_each(?) AS given "
                "CROSS JOIN mentions ON mentions.unit = given.value CROSS JOIN entities ON entities.id = mentions.entity "
                "WHERE +mentions.bank = ? ORDER BY entities.name, entity_id",
                (json.dumps(sorted(set(ids.tolist()))), row),
            )
            for unit, *fields in rows:
                entity = read.get(fields[0]) or read.setdefault(fields[0], entity_from(tuple(fields)))
                found.setdefault(unit, []).append(entity)
        return found

    def entity_rows(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of entities, as the graph names them."""
        with self._at(bank) as (connection, row):
            return entity_rows(connection, row, entity_ids)

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        with self._at(bank) as (connection, row):
            return mention_texts(connection, row, entity_id)

    def exact_names(self, bank: str, entity_id: str) -> frozenset[str]:
        """Names that are the entity's for certain; see the port."""
        with self._at(bank) as (connection, row):
            query = "SELECT name FROM entities WHERE bank = ? AND entity_id = ?"
            (name,) = raw(connection).execute(query, (row, entity_id)).fetchone()
            return exact_names(entity_id, name, logged_changes(connection, row))

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """The audit log, oldest first."""
        with self._at(bank) as (connection, row):
            return [change.public() for change in logged_changes(connection, row)]


def mention_texts(connection: Connection, bank: int, entity_id: str) -> list[tuple[str, str]]:
    """(unit id, text as written) of an entity's mentions, in unit order."""
    rows = raw(connection).execute(
        "SELECT unit_id, mentions.text FROM entities JOIN mentions ON entity = entities.id "
        "JOIN units ON units.id = mentions.unit WHERE entities.bank = ? AND entity_id = ? ORDER BY units.id",
        (bank, entity_id),
    )
    return [(unit, text) for unit, text in rows]


def logged_changes(connection: Connection, bank: int) -> list[LoggedChange]:
    """The audit log of entity changes, oldest first."""
    rows = raw(connection).execute(
        "SELECT id, kind, detail, made_at, undone FROM entity_changes WHERE bank = ? ORDER BY id", (bank,)
    )
    return [
        LoggedChange(number, EntityChangeKind(kind), detail, from_micros(made_at), bool(undone))
        for number, kind, detail, made_at, undone in rows
    ]


def _rare(connection: Connection, bank: int, keys: set[str]) -> frozenset[str]:
    """The keys that some entity has, and not too many; counting stops at the limit."""
    rows = raw(connection).execute(
        "SELECT given.value, (SELECT count(*) FROM (SELECT 1 FROM entity_blocks WHERE bank = ? AND block = given.value "
        "LIMIT ?)) AS size FROM json_each(?) AS given",
        (bank, COMMON_BLOCK + 1, json.dumps(sorted(keys))),
    )
    return frozenset(key for key, size in rows if 0 < size <= COMMON_BLOCK)


def _blocked(connection: Connection, bank: int, name: str, keys: frozenset[str], limit: int) -> list[int]:
    """Rows of the entities named `name` or sharing a key with it, best first."""
    if limit <= 0:
        return []
    shared: Counter[int] = Counter()
    for some in batches(sorted(keys)):
        query = (
            f"SELECT entity, count(*) FROM entity_blocks WHERE bank = ? AND block IN ({marks(len(some))}) "
            "GROUP BY entity"
        )
        shared.update(dict(raw(connection).execute(query, (bank, *some)).fetchall()))
    query = "SELECT entity FROM entity_names WHERE bank = ? AND name = ?"
    exact = {row[0] for row in raw(connection).execute(query, (bank, name))}
    near = json.dumps(sorted(exact | shared.keys()))
    rows = (
        raw(connection)
        .execute(
            "SELECT id, mentions, entity_id FROM entities WHERE id IN (SELECT value FROM json_each(?))",
            (near,),
        )
        .fetchall()
    )
    rows.sort(key=lambda row: (row[0] not in exact, -shared[row[0]], -row[1], row[2]))
    return [row[0] for row in rows[:limit]]


def _by_row(connection: Connection, rows: Iterable[int]) -> dict[int, Entity]:
    found = raw(connection).execute(
        f"SELECT entities.id, {ENTITY_COLUMNS} FROM entities WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(rows)),),
    )
    return {row[0]: entity_from(row[1:]) for row in found}


class _Editor:
    """One change on one bank: row ids at hand, revision to be."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection, self.name = connection, name
        bank = find_bank(connection, name)
        self.bank, self.revision = bank.id, bank.revision + 1
        self.target = Target(connection, self.bank, self.revision)

    def row(self, entity_id: str) -> int:
        rows = entity_rows(self.connection, self.bank, [entity_id])
        check_known("entity", [entity_id], rows, self.name)
        return rows[entity_id]

    def facts(self, row: int) -> tuple[str, str, str, tuple[str, ...]]:
        """Name, type, role and names of an entity."""
        query = "SELECT name, type, role, names FROM entities WHERE id = ?"
        name, kind, role, names = raw(self.connection).execute(query, (row,)).fetchone()
        return name, kind, role, tuple(json.loads(names))

    def create(self, entity_id: str, name: str, kind: str, role: str) -> int:
        raw(self.connection).execute(
            "INSERT INTO entities (bank, entity_id, name, type, role, names) VALUES (?, ?, ?, ?, ?, '[]') "
            "ON CONFLICT DO NOTHING",
            (self.bank, entity_id, name, kind, role),
        )
        return self.row(entity_id)

    def set_names(self, row: int, names: Iterable[str]) -> None:
        """Exactly these names, findable by them alone."""
        given = tuple(names)
        for table in ("entity_names", "entity_blocks"):
            raw(self.connection).execute(f"DELETE FROM {table} WHERE entity = ?", (row,))
        raw(self.connection).execute("UPDATE entities SET names = ? WHERE id = ?", (json.dumps(given), row))
        write_names(self.connection, self.bank, ((name, row) for name in given))

    def move(self, source: int, target: int, units: Sequence[str]) -> None:
        """Mentions of these units from one entity to another; a unit that mentions both already keeps both."""
        rows = unit_rows(self.connection, self.bank, units)
        raw(self.connection).executemany(
            "UPDATE OR IGNORE mentions SET entity = ?, revision = ? WHERE entity = ? AND unit = ?",
            [(target, self.revision, source, unit) for unit in rows.values()],
        )

    def recount(self, *rows: int) -> None:
        raw(self.connection).executemany(
            "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
            f"JOIN units ON units.id = unit WHERE entity = entities.id AND {NOT_OBSERVED}) WHERE id = ?",
            [(row,) for row in rows],
        )

    def end_observations(self, *rows: int) -> None:
        """What was made of facts that were, or will be, another entity's says something of both: it goes before they move."""
        remove_units(self.target, observations_of(self.connection, rows))

    def note_changed(self, *rows: int) -> None:
        """Their facts are others from now on."""
        note_changed(self.target, rows)

    def remove(self, row: int) -> None:
        raw(self.connection).execute(
            "DELETE FROM tasks WHERE bank = ? AND kind = ? AND key <> '' "
            "AND key = (SELECT entity_id FROM entities WHERE id = ?)",
            (self.bank, TaskKind.OBSERVE, row),
        )
        raw(self.connection).execute("DELETE FROM entities WHERE id = ?", (row,))

    def log(self, kind: EntityChangeKind, moved: Moved, made_at: datetime) -> EntityChange:
        set_graph_epoch(self.connection, self.bank, self.revision)
        added = raw(self.connection).execute(
            "INSERT INTO entity_changes (bank, kind, detail, made_at) VALUES (?, ?, ?, ?)",
            (self.bank, kind.value, moved.text(), to_micros(made_at)),
        )
        return LoggedChange(int(added.lastrowid or 0), kind, moved.text(), made_at).public()


class SqliteEntityChanges:
    """The part of `LedgerMaintenance` that corrects who is who, each change with a log row from which it can be undone."""

    _database: Database

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity to another; the merged one is removed."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            target, source = editor.row(keep), editor.row(merged)
            editor.end_observations(target, source)
            texts = dict(mention_texts(connection, editor.bank, merged))
            both = {unit for unit, _ in mention_texts(connection, editor.bank, keep)} & texts.keys()
            other, kind, role, names = editor.facts(source)
            own = editor.facts(target)[3]
            moved = Moved(
                keep,
                merged,
                tuple(each for each in names if each not in own),
                tuple(unit for unit in texts if unit not in both),
                tuple((unit, texts[unit]) for unit in texts if unit in both),
                other,
                kind,
                role,
                names,
            )
            editor.move(source, target, moved.units)
            editor.remove(source)
            editor.set_names(target, merged_names(own, names))
            if role:
                raw(connection).execute(
                    "UPDATE entities SET role = ? WHERE id = ? AND role = ''", (role, target)
                )
            editor.recount(target)
            editor.note_changed(target)
            return self._logged(editor, EntityChangeKind.MERGE, moved, made_at)

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity of some names and mentions of another."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            source = editor.row(split.entity_id)
            editor.end_observations(source)
            _, kind, _, names = editor.facts(source)
            target = editor.create(split.new_id, split.name, kind, EntityRole.NONE.value)
            editor.set_names(source, [each for each in names if each not in split.names])
            editor.set_names(target, split.names)
            editor.move(source, target, split.units)
            editor.recount(source, target)
            editor.note_changed(source, target)
            moved = Moved(split.entity_id, split.new_id, split.names, split.units, name=split.name, type=kind)
            return self._logged(editor, EntityChangeKind.SPLIT, moved, made_at)

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            row = editor.row(entity_id)
            own = editor.facts(row)[3]
            editor.set_names(row, merged_names(own, names))
            given = tuple(each for each in names if each not in own)
            # A name it had by likeness is one given by hand from now on.
            moved = Moved(entity_id, names=given, other_names=tuple(names))
            return editor.log(EntityChangeKind.ALIAS, moved, made_at)

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did; see the port."""
        with self._database.writing() as connection:
            editor = _Editor(connection, bank)
            log = logged_changes(connection, editor.bank)
            found = next((change for change in log if change.id == change_id), None)
            change = check_undoable(found, change_id, [other for other in log if other.id > change_id])
            moved = change.moved
            row = editor.row(moved.entity_id)
            own = editor.facts(row)[3]
            if change.kind is EntityChangeKind.SPLIT:
                _join(editor, row, own, moved)
            else:
                editor.set_names(row, [each for each in own if each not in moved.names])
            if change.kind is EntityChangeKind.MERGE:
                _part(editor, row, moved)
            raw(connection).execute("UPDATE entity_changes SET undone = 1 WHERE id = ?", (change_id,))
            set_graph_epoch(connection, editor.bank, editor.revision)
            observe_changed(self._database, connection, editor.bank, editor.revision)
            return change.as_undone().public()

    def _logged(
        self, editor: _Editor, kind: EntityChangeKind, moved: Moved, made_at: datetime
    ) -> EntityChange:
        """The change, logged, and a task for each entity whose facts it changed."""
        change = editor.log(kind, moved, made_at)
        observe_changed(self._database, editor.connection, editor.bank, editor.revision)
        return change


def set_graph_epoch(connection: Connection, bank: int, revision: int) -> None:
    """Graphs older than this revision start over; the bank stands at it from now on."""
    raw(connection).execute("INSERT OR REPLACE INTO graph_epochs VALUES (?, ?)", (bank, revision))
    raw(connection).execute("UPDATE banks SET revision = ? WHERE id = ?", (revision, bank))


def _join(editor: _Editor, row: int, own: tuple[str, ...], moved: Moved) -> None:
    """Undo a split: everything the new entity has by now goes back."""
    other = editor.row(moved.other_id)
    editor.end_observations(row, other)
    texts = mention_texts(editor.connection, editor.bank, moved.other_id)
    names = editor.facts(other)[3]
    editor.move(other, row, [unit for unit, _ in texts])
    editor.remove(other)
    editor.set_names(row, merged_names(own, names))
    editor.recount(row)
    editor.note_changed(row)


def _part(editor: _Editor, row: int, moved: Moved) -> None:
    """Undo a merge: the merged entity comes back with its names and the mentions it had."""
    editor.end_observations(row)
    other = editor.create(moved.other_id, moved.name, moved.type, moved.role)
    editor.set_names(other, moved.other_names)
    editor.move(row, other, moved.units)
    units = unit_rows(editor.connection, editor.bank, [unit for unit, _ in moved.shared])
    raw(editor.connection).executemany(
        "INSERT INTO mentions (unit, entity, bank, revision, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (units[unit], other, editor.bank, editor.revision, text)
            for unit, text in moved.shared
            if unit in units
        ],
    )
    editor.recount(row, other)
    editor.note_changed(row, other)
