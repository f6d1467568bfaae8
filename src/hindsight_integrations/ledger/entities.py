"""Entities: writing; lookup by name, shared token and unit; and logged manual changes."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, and_, bindparam, case, delete, exists, func, literal, or_, select, update

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.observations import (
    note_changed,
    observations_of,
    observe_changed,
    remove_units,
)
from hindsight_integrations.ledger.rows import (
    At,
    CommitTarget,
    Reader,
    Row,
    entity_from,
    entity_rows,
    fetched,
    find_bank,
    is_not_observation,
    unit_rows,
)
from hindsight_integrations.ledger.rules import (
    COMMON_BLOCK,
    NEIGHBOUR_LIMIT,
    NEIGHBOUR_UNITS,
    check_known,
    merged_names,
    merged_role,
)
from hindsight_integrations.ledger.sql import (
    among,
    in_bank,
    insert,
    numbers,
    refers,
    run_many,
    strings,
    unindexed,
)
from hindsight_integrations.ledger.tables import (
    String,
    entities,
    entity_blocks,
    entity_changes,
    entity_names,
    graph_epochs,
    mentions,
    observations,
    tasks,
    units,
)
from hindsight_integrations.ledger.tasks import Schedule
from hindsight_integrations.ledger.values import EntitySplit
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.entities import Entity, EntityChange, EntityChangeKind, EntityRole
from hindsight_integrations.model.names import blocking_keys, normalise_name
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.units import OBSERVED_NETWORKS, UnitKind
from hindsight_integrations.model.writes import EntityWrite, WriteSet

_ENTITY = entities.c["id", "entity_id", "name", "type", "role", "names", "mentions", "last_seen"]
"""An entity's row id, and the columns that `entity_from` reads."""

_BY_IDS = select(*_ENTITY).where(entities.c.bank == bindparam("bank"), among(entities.c.entity_id, "ids"))
_ADD_ENTITIES = insert(entities).returning(entities.c.entity_id, entities.c.id)
_UPDATE_ENTITY = update(entities).where(in_bank(entities, "of"), entities.c.id == bindparam("row"))


def write_entities(target: CommitTarget, writes: Mapping[str, EntityWrite]) -> None:
    """Insert new entities; add missing names and roles to existing ones."""
    if not writes:
        return
    rows, changes = {}, []
    known = target.connection.execute(_BY_IDS, {"bank": target.bank, "ids": list(writes)})
    for row, entity_id, _, _, role, names, *_ in known:
        rows[entity_id] = row
        before, write = (EntityRole(role), tuple(json.loads(names))), writes[entity_id]
        after = merged_role(before[0], write.role), merged_names(before[1], write.names)
        if after != before:
            changed = {"role": after[0].value, "names": json.dumps(after[1])}
            changes.append({"of": target.bank, "row": row, **changed})
    run_many(target.connection, _UPDATE_ENTITY, changes)
    new = [
        {
            "bank": target.bank,
            "entity_id": write.id,
            "name": write.name,
            "type": write.type.value,
            "role": write.role.value,
            "names": json.dumps(write.names),
        }
        for write in writes.values()
        if write.id not in rows
    ]
    if new:
        rows |= {row.entity_id: row.id for row in target.connection.execute(_ADD_ENTITIES, new)}
    pairs = ((name, rows[write.id]) for write in writes.values() for name in write.names)
    _write_names(target.connection, target.bank, pairs)


_ADD_NAME = insert(entity_names).on_conflict_do_nothing()
_ADD_BLOCK = insert(entity_blocks).on_conflict_do_nothing()


def _write_names(connection: Connection, bank: int, pairs: Iterable[tuple[str, int]]) -> None:
    """Index (normalised name, entity row id) pairs by name and by block."""
    names = set(pairs)
    keys = {(block, row) for name, row in names for block in blocking_keys(name)}
    name_rows = [{"bank": bank, "name": name, "entity": row} for name, row in sorted(names)]
    block_rows = [{"bank": bank, "block": block, "entity": row} for block, row in sorted(keys)]
    run_many(connection, _ADD_NAME, name_rows)
    run_many(connection, _ADD_BLOCK, block_rows)


_ADD_MENTION = insert(mentions).on_conflict_do_nothing()
_IS_VALID_FACT = and_(
    units.c.kind == UnitKind.MEMORY.value,
    or_(*(units.c.fact_type == network.value for network in OBSERVED_NETWORKS)),
    units.c.closed_at.is_(None),
)
_NEW_MENTIONS = (
    select(
        mentions.c.entity,
        func.count().label("count"),
        func.max(units.c.mentioned_at).label("latest"),
        func.max(case((_IS_VALID_FACT, 1), else_=0)).label("facts"),
    )
    .join(units, refers(mentions.c.unit, units))
    .where(
        mentions.c.bank == bindparam("of_bank"),
        mentions.c.revision == bindparam("revision"),
        is_not_observation,
    )
    .group_by(mentions.c.entity)
    .subquery()
)
_COUNT_MENTIONS = (
    update(entities)
    .values(
        mentions=entities.c.mentions + _NEW_MENTIONS.c.count,
        last_seen=case(
            (entities.c.last_seen > _NEW_MENTIONS.c.latest, entities.c.last_seen),
            else_=_NEW_MENTIONS.c.latest,
        ),
        facts_changed=case(
            (_NEW_MENTIONS.c.facts == 1, bindparam("revision")), else_=entities.c.facts_changed
        ),
    )
    .where(in_bank(entities, "of_bank"), entities.c.id == _NEW_MENTIONS.c.entity)
)


def write_mentions(target: CommitTarget, writes: WriteSet, units: Mapping[str, int]) -> None:
    """Insert new mentions and count them on their entities. Mentions in observations are not counted.

    Entities that gain valid facts are marked as changed by this revision.

    Args:
        target: the commit.
        writes: the write set. Its units and entities must already be stored.
        units: row ids of the units that the write set mentions, by unit id.

    Raises:
        InvalidRequest: a mention refers to an entity that the bank does not contain.
    """
    if not writes.mentions:
        return
    ids = sorted({mention.entity_id for mention in writes.mentions})
    rows = entity_rows(target.connection, target.bank, ids)
    check_known("mentions", ids, rows, writes.bank)
    new = ((units[mention.unit_id], rows[mention.entity_id], mention.text) for mention in writes.mentions)
    _add_mentions(target, new)
    target.connection.execute(_COUNT_MENTIONS, {"of_bank": target.bank, "revision": target.revision})


def _add_mentions(target: CommitTarget, new: Iterable[tuple[int, int, str]]) -> None:
    """Insert mentions (unit row id, entity row id, text) that do not exist yet."""
    common = {"bank": target.bank, "revision": target.revision}
    rows = [{"unit": unit, "entity": entity, "text": text, **common} for unit, entity, text in new]
    run_many(target.connection, _ADD_MENTION, rows)


@dataclass(frozen=True, slots=True)
class Moved:
    """Details of an entity change, which are needed to undo it.

    Attributes:
        entity_id: the entity that was kept, split or given aliases.
        other_id: the entity that was merged into it or split off; empty for an alias.
        names: normalised names that were moved or added.
        units: ids of units whose mention moved, except units that mention both entities.
        shared: (unit id, text of the removed mention) for units that mentioned both entities of a merge.
        name: canonical name of the other entity.
        type: type of the other entity.
        role: role of the other entity.
        other_names: all names of the other entity, in order. For an alias, all names that were passed, including those that
            the entity had already.
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
        """Serialise to JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Moved:
        """Parse from JSON."""
        fields = json.loads(text)
        for name in ("names", "units", "other_names"):
            fields[name] = tuple(fields[name])
        return cls(**{**fields, "shared": tuple((unit, text) for unit, text in fields["shared"])})


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A row of the audit log. `detail` is a `Moved` as JSON."""

    id: int
    kind: EntityChangeKind
    detail: str
    made_at: datetime
    undone: bool = False

    @property
    def moved(self) -> Moved:
        """The details of the change."""
        return Moved.read(self.detail)

    def public(self) -> EntityChange:
        """Convert to the public `EntityChange`."""
        moved = self.moved
        count = len(moved.units) + len(moved.shared)
        return EntityChange(
            self.id, self.kind, moved.entity_id, moved.other_id, moved.names, count, self.made_at, self.undone
        )

    def as_undone(self) -> LoggedChange:
        """Return a copy marked as undone."""
        return replace(self, undone=True)


def check_undoable(change: LoggedChange | None, change_id: int, later: list[LoggedChange]) -> LoggedChange:
    """Return the change if it can be undone.

    Raises:
        InvalidRequest: the change is unknown or already undone, or a later change involves one of its entities and has not
            been undone.
    """
    if change is None or change.undone:
        reason = "there is no such change" if change is None else "it is already undone"
        raise InvalidRequest("change_id", f"{change_id}: {reason}", "See entity_changes().")
    ours = {change.moved.entity_id, change.moved.other_id} - {""}
    for other in later:
        if not other.undone and ours & {other.moved.entity_id, other.moved.other_id}:
            raise InvalidRequest("change_id", f"change {other.id} depends on it", f"Undo {other.id} first.")
    return change


def exact_names(entity_id: str, name: str, log: Sequence[LoggedChange]) -> frozenset[str]:
    """Return an entity's certain names: its canonical name and the aliases set by hand.

    All other names were assigned by entity resolution, which also accepts similar names. A manual merge adds the names that
    were certain for the merged entity at that time.

    Args:
        entity_id: the entity.
        name: its canonical name.
        log: all manual changes of the bank, oldest first.
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


_MOST_MENTIONED = (entities.c.mentions.desc(), entities.c.entity_id)
_BY_NAMES = (
    select(entity_names.c.name, *_ENTITY)
    .join(entities, refers(entity_names.c.entity, entities))
    .where(entity_names.c.bank == bindparam("bank"), among(entity_names.c.name, "names"))
    .order_by(*_MOST_MENTIONED)
)
_OF_NAME = select(entity_names.c.entity).where(
    entity_names.c.bank == bindparam("bank"), entity_names.c.name == bindparam("name")
)
_BY_NAME_OR_ID = (
    select(*_ENTITY)
    .where(
        or_(
            and_(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("name")),
            and_(in_bank(entities), entities.c.id.in_(_OF_NAME)),
        )
    )
    .order_by(*_MOST_MENTIONED)
)
_PREFIX = bindparam("prefix", type_=String)
_OF_PREFIX = select(entity_names.c.entity).where(
    entity_names.c.bank == bindparam("bank"),
    entity_names.c.name >= _PREFIX,
    func.substr(entity_names.c.name, 1, func.length(_PREFIX)) == _PREFIX,
)
_LIST = (
    select(*_ENTITY)
    .order_by(entities.c.mentions.desc(), entities.c.name, entities.c.entity_id)
    .limit(bindparam("limit"))
)
_LIST_OF_BANK = _LIST.where(entities.c.bank == bindparam("bank"))
_LIST_OF_PREFIX = _LIST.where(in_bank(entities), entities.c.id.in_(_OF_PREFIX))

_KEYS = strings("keys")
_SOME_OF_BLOCK = (
    select(entity_blocks.c.entity)
    .where(entity_blocks.c.bank == bindparam("bank"), entity_blocks.c.block == _KEYS.c.value)
    .limit(COMMON_BLOCK + 1)
    .correlate(_KEYS)
    .subquery()
)
_RARE = select(_KEYS.c.value).where(
    select(func.count()).select_from(_SOME_OF_BLOCK).scalar_subquery() <= COMMON_BLOCK
)
_BLOCK_MEMBERS = select(entity_blocks.c.block, entity_blocks.c.entity).where(
    entity_blocks.c.bank == bindparam("bank"), entity_blocks.c.block.in_(_RARE)
)
_BY_ROWS = select(*_ENTITY).where(in_bank(entities), among(entities.c.id, "rows"))

_ROWS = numbers("rows")
_OTHER = mentions.alias("other")
_LATEST_UNITS = (
    select(mentions.c.unit)
    .where(
        in_bank(mentions),
        mentions.c.entity == _ROWS.c.value,
        ~exists().where(refers(mentions.c.unit, observations)),
    )
    .order_by(mentions.c.unit.desc())
    .limit(NEIGHBOUR_UNITS)
    .correlate(_ROWS)
)
_NEIGHBOURS = (
    select(_ROWS.c.value, entities.c.names)
    .select_from(_ROWS)
    .join(_OTHER, and_(in_bank(_OTHER), _OTHER.c.unit.in_(_LATEST_UNITS), _OTHER.c.entity != _ROWS.c.value))
    .join(entities, refers(_OTHER.c.entity, entities))
    .group_by(_ROWS.c.value, entities.c.bank, entities.c.id)
    .order_by(_ROWS.c.value, func.count().desc(), entities.c.id)
)
OF_UNITS = (
    select(mentions.c.unit, *_ENTITY)
    .join(entities, refers(mentions.c.entity, entities))
    .where(among(mentions.c.unit, "units"), unindexed(mentions.c.bank) == bindparam("bank"))
    .order_by(entities.c.name, entities.c.entity_id)
)
"""Selects the entities that units mention; see `by_unit`."""


def by_unit(rows: Iterable[Row]) -> dict[int, list[Entity]]:
    """Return the entities of each unit (by row id), sorted by name, from rows of OF_UNITS."""
    mentioned: dict[int, list[Entity]] = defaultdict(list)
    read: dict[int, Entity] = {}  # so that each entity is built only once
    for unit, entity, *fields in rows:
        if entity not in read:
            read[entity] = entity_from(tuple(fields))
        mentioned[unit].append(read[entity])
    return dict(mentioned)


class EntityReader(Reader):
    """Reads of entities."""

    def named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Return the entity with each normalised name or alias; unknown names are omitted.

        If several entities share a name, the most mentioned one is returned; `find` returns all of them.
        """
        return {name: entity for name, (_, entity) in self.named_rows(bank, names).items()}

    def named_rows(self, bank: str, names: Sequence[str]) -> dict[str, tuple[int, Entity]]:
        """Return the same entities with their row ids, which are also their ids in the graph. Uses one select."""
        best: dict[str, tuple[int, Entity]] = {}
        with self._at(bank) as (connection, row):
            for name, entity, *fields in connection.execute(_BY_NAMES, {"bank": row, "names": names}):
                if name not in best:
                    best[name] = entity, entity_from(tuple(fields))
        return best

    def find(self, bank: str, name: str) -> list[Entity]:
        """Return all entities with this id or exact normalised name, by mentions (descending), then id."""
        with self._at(bank) as (connection, row):
            values = {"bank": row, "name": name}
            return [entity_from(entity[1:]) for entity in connection.execute(_BY_NAME_OR_ID, values)]

    def listed(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Return entities with a normalised name starting with `prefix`, most mentioned first, then by name."""
        statement = _LIST_OF_PREFIX if prefix else _LIST_OF_BANK
        with self._at(bank) as (connection, row):
            values = {"bank": row, "prefix": prefix, "limit": limit}
            return [entity_from(entity[1:]) for entity in connection.execute(statement, values)]

    def candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """Return the entities that have each normalised name, share a whole token with it, or differ by one edit.

        Returns at most `limit` per name: exact names first, then by shared blocks, mentions and id. Tokens shared by very
        many entities are skipped, so that no lookup scans all entities.
        """
        keys = {name: blocking_keys(name) for name in names}
        exact: dict[str, set[int]] = defaultdict(set)
        members: dict[str, list[int]] = defaultdict(list)
        with self._at(bank) as (connection, row):
            for name, entity, *_ in connection.execute(_BY_NAMES, {"bank": row, "names": names}):
                exact[name].add(entity)
            values = {"bank": row, "keys": list(set().union(*keys.values()))}
            for block, entity in connection.execute(_BLOCK_MEMBERS, values).all():
                members[block].append(entity)
            near = list(set().union(*exact.values(), *members.values()))
            stored = connection.execute(_BY_ROWS, {"bank": row, "rows": near})
            rows = {entity[0]: entity for entity in stored.all()}
        candidates = {}
        for name in names:
            shared = Counter(row for key in keys[name] for row in members[key])
            ranked = sorted(
                (row not in exact[name], -shared[row], -rows[row].mentions, rows[row].entity_id, row)
                for row in exact[name] | shared.keys()
            )
            candidates[name] = [entity_from(rows[row][1:]) for *_, row in ranked[: max(limit, 0)]]
        return candidates

    def neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """Return the names recently mentioned together with each entity, at most 50 (co-occurrence, paper eq. 2).

        Unknown entities, and entities never mentioned with another, are omitted.
        """
        met: dict[str, list[str]] = {}
        with self._at(bank) as (connection, row):
            ids = {entity: key for key, entity in entity_rows(connection, row, entity_ids).items()}
            for entity, names in connection.execute(_NEIGHBOURS, {"bank": row, "rows": list(ids)}).all():
                others = met.setdefault(ids[entity], [])
                if len(others) < NEIGHBOUR_LIMIT:
                    others += json.loads(names)[:1]
        return {entity_id: frozenset(others) for entity_id, others in met.items() if others}

    def of_units(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """Return the entities that each unit (by row id) mentions, sorted by name; units without any are omitted."""
        with self._at(bank) as (connection, row):
            return by_unit(fetched(connection, OF_UNITS, {"bank": row, "units": ids.tolist()}))

    def row_ids(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Return the row ids of entities, which are also their ids in the graph."""
        with self._at(bank) as (connection, row):
            return entity_rows(connection, row, entity_ids)

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """Return (unit id, text as written) of an entity's mentions, in unit order."""
        with self._at(bank) as (connection, row):
            return mention_texts(connection, row, entity_id)

    def exact_names(self, bank: str, entity_id: str) -> frozenset[str]:
        """Return an entity's certain normalised names: its canonical name and the aliases set by hand.

        All its other names were assigned by similarity.
        """
        with self._at(bank) as (connection, row):
            (entity,) = connection.execute(_BY_IDS, {"bank": row, "ids": [entity_id]})
            return exact_names(entity_id, entity.name, logged_changes(connection, row))

    def changes(self, bank: str) -> list[EntityChange]:
        """Return every manual merge, split and alias, oldest first, including undone ones."""
        with self._at(bank) as (connection, row):
            return [change.public() for change in logged_changes(connection, row)]


_TEXTS = (
    select(units.c.unit_id, mentions.c.text)
    .join(mentions, refers(mentions.c.unit, units))
    .join(entities, refers(mentions.c.entity, entities))
    .where(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity"))
    .order_by(units.c.id)
)


def mention_texts(connection: Connection, bank: int, entity_id: str) -> list[tuple[str, str]]:
    """Return (unit id, text as written) of an entity's mentions, in unit order."""
    return [tuple(row) for row in connection.execute(_TEXTS, {"bank": bank, "entity": entity_id}).all()]


_LOG = (
    select(*entity_changes.c["id", "kind", "detail", "made_at", "undone"])
    .where(entity_changes.c.bank == bindparam("bank"))
    .order_by(entity_changes.c.id)
)


def logged_changes(connection: Connection, bank: int) -> list[LoggedChange]:
    """Return the audit log of entity changes, oldest first."""
    return [
        LoggedChange(number, EntityChangeKind(kind), detail, from_micros(made_at), bool(undone))
        for number, kind, detail, made_at, undone in connection.execute(_LOG, {"bank": bank})
    ]


@dataclass(frozen=True, slots=True)
class _EntityRow:
    """An entity's columns and row id, for a manual change."""

    row: int
    id: str
    name: str
    type: str
    role: str
    names: tuple[str, ...]


_ADD_ENTITY = insert(entities).on_conflict_do_nothing()
_DELETE_NAMES = delete(entity_names).where(
    in_bank(entity_names, "of"), entity_names.c.entity == bindparam("row")
)
_DELETE_BLOCKS = delete(entity_blocks).where(
    in_bank(entity_blocks, "of"), entity_blocks.c.entity == bindparam("row")
)
_MOVE_MENTIONS = (
    update(mentions)
    .values(entity=bindparam("target"), revision=bindparam("at"))
    .where(
        in_bank(mentions, "of_bank"),
        mentions.c.entity == bindparam("source"),
        mentions.c.unit.in_(
            select(units.c.id).where(units.c.bank == bindparam("of_bank"), among(units.c.unit_id, "units"))
        ),
        ~exists().where(
            in_bank(_OTHER, "of_bank"),
            _OTHER.c.unit == mentions.c.unit,
            _OTHER.c.entity == bindparam("target"),
        ),
    )
)
_TOTALS = (
    select(
        _ROWS.c.value.label("entity"),
        func.count(units.c.id).label("count"),
        func.max(units.c.mentioned_at).label("latest"),
    )
    .select_from(_ROWS)
    .outerjoin(mentions, and_(in_bank(mentions, "of"), mentions.c.entity == _ROWS.c.value))
    .outerjoin(units, and_(refers(mentions.c.unit, units), is_not_observation))
    .group_by(_ROWS.c.value)
    .subquery()
)
_RECOUNT = (
    update(entities)
    .values(mentions=_TOTALS.c.count, last_seen=_TOTALS.c.latest)
    .where(in_bank(entities, "of"), entities.c.id == _TOTALS.c.entity)
)
_DELETE_TASK = delete(tasks).where(
    tasks.c.bank == bindparam("bank"),
    tasks.c.kind == TaskKind.OBSERVE.value,
    tasks.c.key == bindparam("entity"),
    tasks.c.key != literal("", literal_execute=True),  # implied by the key, but needed for the partial index
)
_DELETE_ENTITY = delete(entities).where(in_bank(entities), entities.c.id == bindparam("row"))
_ADD_CHANGE = insert(entity_changes).returning(entity_changes.c.id)


class _Editor:
    """A manual change in one bank, at the revision that it will create."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection, self.name = connection, name
        bank = find_bank(connection, name)
        self.bank, self.revision = bank.id, bank.revision + 1
        self.target = CommitTarget(connection, self.bank, self.revision)

    def entity(self, entity_id: str) -> _EntityRow:
        values = {"bank": self.bank, "ids": [entity_id]}
        rows = {row.entity_id: row for row in self.connection.execute(_BY_IDS, values)}
        check_known("entity", [entity_id], rows, self.name)
        row, _, name, kind, role, names, *_ = rows[entity_id]
        return _EntityRow(row, entity_id, name, kind, role, tuple(json.loads(names)))

    def create(self, entity_id: str, name: str, kind: str, role: str) -> _EntityRow:
        values = {"bank": self.bank, "entity_id": entity_id, "name": name, "type": kind, "role": role}
        self.connection.execute(_ADD_ENTITY, {**values, "names": "[]"})
        return self.entity(entity_id)

    def set_names(self, entity: _EntityRow, names: Iterable[str]) -> None:
        """Replace the entity's names, and index them."""
        row, all_names = {"of": self.bank, "row": entity.row}, tuple(names)
        self.connection.execute(_DELETE_NAMES, row)
        self.connection.execute(_DELETE_BLOCKS, row)
        self.connection.execute(_UPDATE_ENTITY, {**row, "names": json.dumps(all_names)})
        _write_names(self.connection, self.bank, ((name, entity.row) for name in all_names))

    def move(self, source: _EntityRow, target: _EntityRow, unit_ids: Sequence[str]) -> None:
        """Move the mentions in these units to another entity. A unit that already mentions the target keeps both mentions."""
        values = {"source": source.row, "target": target.row, "units": unit_ids}
        self.connection.execute(_MOVE_MENTIONS, {**values, "of_bank": self.bank, "at": self.revision})

    def end_observations(self, *changed: _EntityRow) -> None:
        """Remove the observations of these entities. Call it before their facts move to another entity."""
        rows = [entity.row for entity in changed]
        remove_units(self.target, observations_of(self.connection, self.bank, rows))

    def recount(self, *changed: _EntityRow) -> None:
        """Recount the entities' mentions and mark their facts as changed."""
        rows = [entity.row for entity in changed]
        self.connection.execute(_RECOUNT, {"of": self.bank, "rows": rows})
        note_changed(self.target, rows)

    def remove(self, entity: _EntityRow) -> None:
        self.connection.execute(_DELETE_TASK, {"bank": self.bank, "entity": entity.id})
        self.connection.execute(_DELETE_ENTITY, {"bank": self.bank, "row": entity.row})

    def log(self, kind: EntityChangeKind, moved: Moved, made_at: datetime) -> EntityChange:
        set_graph_epoch(self.connection, self.bank, self.revision)
        advance(self.connection, self.bank, self.revision)
        values = {"kind": kind.value, "detail": moved.text(), "made_at": to_micros(made_at)}
        number = self.connection.execute(_ADD_CHANGE, {"bank": self.bank, **values}).scalar_one()
        return LoggedChange(number, kind, moved.text(), made_at).public()


_MARK_UNDONE = (
    update(entity_changes)
    .values(undone=1)
    .where(in_bank(entity_changes, "of"), entity_changes.c.id == bindparam("change"))
)


class EntityEditor(EntityReader):
    """Merges, splits and aliases entities. Each change is logged and can be undone."""

    def __init__(self, at: At, database: Database, schedule: Schedule) -> None:
        super().__init__(at)
        self._database, self._schedule = database, schedule

    def merge(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of entity `merged` to entity `keep`, and remove `merged`.

        Observations made from the facts of either entity are removed. (A split and an undo do the same.)
        """
        with self._database.writing(bank) as connection:
            editor = _Editor(connection, bank)
            target, source = editor.entity(keep), editor.entity(merged)
            editor.end_observations(target, source)
            texts = dict(mention_texts(connection, editor.bank, merged))
            both = {unit for unit, _ in mention_texts(connection, editor.bank, keep)} & texts.keys()
            moved = Moved(
                keep,
                merged,
                tuple(name for name in source.names if name not in target.names),
                tuple(unit for unit in texts if unit not in both),
                tuple((unit, texts[unit]) for unit in texts if unit in both),
                source.name,
                source.type,
                source.role,
                source.names,
            )
            editor.move(source, target, moved.units)
            editor.remove(source)
            editor.set_names(target, merged_names(target.names, source.names))
            if source.role and not target.role:
                role = {"of": editor.bank, "row": target.row, "role": source.role}
                connection.execute(_UPDATE_ENTITY, role)
            editor.recount(target)
            return self._logged(editor, EntityChangeKind.MERGE, moved, made_at)

    def split(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Move some names and mentions of an entity to a new entity of the same type."""
        with self._database.writing(bank) as connection:
            editor = _Editor(connection, bank)
            source = editor.entity(split.entity_id)
            editor.end_observations(source)
            target = editor.create(split.new_id, split.name, source.type, EntityRole.NONE.value)
            editor.set_names(source, [name for name in source.names if name not in split.names])
            editor.set_names(target, split.names)
            editor.move(source, target, split.units)
            editor.recount(source, target)
            moved = Moved(
                split.entity_id, split.new_id, split.names, split.units, name=split.name, type=source.type
            )
            return self._logged(editor, EntityChangeKind.SPLIT, moved, made_at)

    def alias(self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime) -> EntityChange:
        """Add normalised names to an entity."""
        with self._database.writing(bank) as connection:
            editor = _Editor(connection, bank)
            entity = editor.entity(entity_id)
            editor.set_names(entity, merged_names(entity.names, names))
            new = tuple(name for name in names if name not in entity.names)
            # Also log existing names: a name that was assigned by similarity is now a name set by hand.
            moved = Moved(entity_id, names=new, other_names=tuple(names))
            return editor.log(EntityChangeKind.ALIAS, moved, made_at)

    def undo(self, bank: str, change_id: int) -> EntityChange:
        """Undo a change. Mentions that were retained after it stay where they are.

        Raises:
            InvalidRequest: the change is unknown or already undone, or a later change depends on it.
        """
        with self._database.writing(bank) as connection:
            editor = _Editor(connection, bank)
            log = logged_changes(connection, editor.bank)
            change = next((change for change in log if change.id == change_id), None)
            change = check_undoable(change, change_id, [other for other in log if other.id > change_id])
            moved = change.moved
            entity = editor.entity(moved.entity_id)
            if change.kind is EntityChangeKind.SPLIT:
                _undo_split(editor, entity, moved)
            else:
                editor.set_names(entity, [name for name in entity.names if name not in moved.names])
            if change.kind is EntityChangeKind.MERGE:
                _undo_merge(editor, entity, moved)
            connection.execute(_MARK_UNDONE, {"of": editor.bank, "change": change_id})
            set_graph_epoch(connection, editor.bank, editor.revision)
            advance(connection, editor.bank, editor.revision)
            observe_changed(self._schedule, connection, editor.bank, editor.revision)
            return change.as_undone().public()

    def _logged(
        self, editor: _Editor, kind: EntityChangeKind, moved: Moved, made_at: datetime
    ) -> EntityChange:
        """Log the change and enqueue a task for each entity whose facts it changed."""
        change = editor.log(kind, moved, made_at)
        observe_changed(self._schedule, editor.connection, editor.bank, editor.revision)
        return change


_EPOCH = insert(graph_epochs)
_SET_EPOCH = _EPOCH.on_conflict_do_update(
    index_elements=[graph_epochs.c.bank], set_={"revision": _EPOCH.excluded.revision}
)


def set_graph_epoch(connection: Connection, bank: int, revision: int) -> None:
    """Record that links or mentions were changed in place, so that graphs older than this revision are rebuilt."""
    connection.execute(_SET_EPOCH, {"bank": bank, "revision": revision})


def _undo_split(editor: _Editor, entity: _EntityRow, moved: Moved) -> None:
    """Undo a split: move all names and mentions of the new entity back, including those added later."""
    other = editor.entity(moved.other_id)
    editor.end_observations(entity, other)
    texts = mention_texts(editor.connection, editor.bank, moved.other_id)
    editor.move(other, entity, [unit for unit, _ in texts])
    editor.remove(other)
    editor.set_names(entity, merged_names(entity.names, other.names))
    editor.recount(entity)


def _undo_merge(editor: _Editor, entity: _EntityRow, moved: Moved) -> None:
    """Undo a merge: restore the merged entity with its names and mentions."""
    editor.end_observations(entity)
    other = editor.create(moved.other_id, moved.name, moved.type, moved.role)
    editor.set_names(other, moved.other_names)
    editor.move(entity, other, moved.units)
    rows = unit_rows(editor.connection, editor.bank, [unit for unit, _ in moved.shared])
    shared = [(rows[unit], other.row, text) for unit, text in moved.shared if unit in rows]
    _add_mentions(editor.target, shared)
    editor.recount(entity, other)
