"""Items: reading, writing, expiry and erasure. Each write is a transaction of its own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, exists, func, or_, select, union, update

from hindsight_integrations.errors import MemoryDamaged, RevisionConflict
from hindsight_integrations.ledger.commit import FLOAT_BYTES, write_units
from hindsight_integrations.ledger.copies import note_erasure
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.observations import remove_units
from hindsight_integrations.ledger.records import digest
from hindsight_integrations.ledger.rows import At, CommitTarget, Reader, Row, fetched, find_bank, unit_rows
from hindsight_integrations.ledger.rules import check_shape
from hindsight_integrations.ledger.sql import among, count_many, in_bank, insert, refers, run_many, unindexed
from hindsight_integrations.ledger.tables import (
    Int,
    String,
    banks,
    item_residue,
    item_units,
    items,
    tasks,
    units,
    unscrubbed,
)
from hindsight_integrations.ledger.tasks import complete, enqueue
from hindsight_integrations.model.items import (
    Item,
    ItemDelete,
    ItemKey,
    ItemWrite,
    Namespace,
    namespace_from,
    namespace_range,
    namespace_text,
)
from hindsight_integrations.model.tasks import TaskClaim, TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import MICROSECOND, from_micros, to_micros
from hindsight_integrations.model.writes import UnitWrite, WriteSet

_OF_BANK = items.c.bank == bindparam("of")
_IN_NAMESPACE = items.c.namespace == bindparam("within")
_NAMED = _OF_BANK, _IN_NAMESPACE, items.c.key == bindparam("named")
_KEYS = _OF_BANK, _IN_NAMESPACE, among(items.c.key, "keys")
_after = bindparam("after", type_=String)
_UNDER = _OF_BANK, items.c.namespace >= bindparam("first"), or_(_after.is_(None), items.c.namespace < _after)
_ALIVE = or_(items.c.expires_at.is_(None), items.c.expires_at > bindparam("now"))
# The second condition lets SQLite use the index of expiring items, which are few.
_EXPIRING = unindexed(items.c.bank) == bindparam("of"), items.c.expires_at.is_not(None)

_COLUMNS = "id", "namespace", "key", "value", "created_at", "updated_at", "expires_at", "checksum"
_ITEMS = select(*items.c[_COLUMNS])
_ALL = _ITEMS.where(_OF_BANK).order_by(items.c.id)
_BY_KEYS = _ITEMS.where(*_KEYS, _ALIVE)
_BY_ROWS = _ITEMS.where(unindexed(items.c.bank) == bindparam("of"), among(items.c.id, "rows"), _ALIVE)
_LISTED = (
    _ITEMS.where(*_UNDER, _ALIVE)
    .order_by(items.c.updated_at.desc(), items.c.namespace, items.c.key)
    .limit(bindparam("limit", type_=Int))
    .offset(bindparam("offset", type_=Int))
)
_has_texts = exists().where(refers(item_units.c.item, items))
_LISTINGS = {None: _LISTED, True: _LISTED.where(_has_texts), False: _LISTED.where(~_has_texts)}
_NAMESPACES = select(items.c.namespace).distinct().where(*_UNDER, _ALIVE)
_ROWS_UNDER = select(items.c.id).where(*_UNDER)
_NAMED_ITEM = select(items.c.id, items.c.value).where(*_NAMED)
_UNIT_IDS = (
    select(units.c.unit_id)
    .join_from(item_units, items, refers(item_units.c.item, items))
    .join(units, refers(item_units.c.unit, units))
    .where(*_KEYS)
)
_UNITS = select(item_units.c.unit).where(in_bank(item_units), among(item_units.c.item, "rows"))
_OTHER_UNITS = (
    select(item_units.c.unit)
    .join_from(item_units, units, refers(item_units.c.unit, units))
    .where(in_bank(item_units), item_units.c.item == bindparam("item"), ~among(units.c.unit_id, "kept"))
)
_EXPIRED = select(items.c.id).where(*_EXPIRING, items.c.expires_at <= bindparam("now"))
_FIRST_TO_EXPIRE = select(items.c.expires_at).where(*_EXPIRING).order_by(items.c.expires_at).limit(1)
_EXPIRED_BANKS = (
    select(banks.c.name)
    .where(
        banks.c.id.in_(
            union(
                select(items.c.bank).where(items.c.expires_at <= bindparam("now")),
                select(item_residue.c.bank),
            )
        )
    )
    .order_by(banks.c.name)
)
_RESIDUE = select(item_residue.c.texts).where(item_residue.c.bank == bindparam("of"))

_SEAL = (
    update(items)
    .where(in_bank(items, "of"), items.c.id == bindparam("row"))
    .values(checksum=bindparam("sum"))
)
_REFRESH = (
    update(items)
    .where(*_KEYS, items.c.ttl.is_not(None), _ALIVE)
    .values(expires_at=items.c.ttl + bindparam("now"))
)
_DELETE = delete(items).where(in_bank(items), among(items.c.id, "rows"))
_new = insert(items).excluded
_PUT = (
    insert(items)
    .on_conflict_do_update(
        index_elements=["bank", "namespace", "key"],
        set_={
            **{name: _new[name] for name in ("value", "checksum", "updated_at", "ttl", "expires_at")},
            "created_at": case(
                (items.c.expires_at <= _new.updated_at, _new.created_at), else_=items.c.created_at
            ),
        },
    )
    .returning(items.c.id)
)
_ADD_UNITS = (
    insert(item_units)
    .from_select(
        ["unit", "bank", "item"],
        select(units.c.id, units.c.bank, items.c.id)
        .join_from(items, units, units.c.bank == items.c.bank)
        .where(*_NAMED, among(units.c.unit_id, "units")),
    )
    .on_conflict_do_nothing()
)
_new_residue = insert(item_residue).excluded
_ADD_RESIDUE = insert(item_residue).on_conflict_do_update(
    index_elements=["bank"], set_={"texts": item_residue.c.texts + _new_residue.texts}
)
_DELETE_RESIDUE = delete(item_residue).where(item_residue.c.bank == bindparam("of"))
_MARK_UNSCRUBBED = insert(unscrubbed).on_conflict_do_nothing()
_expiry_tasks = tasks.c.bank == bindparam("of"), tasks.c.kind == TaskKind.EXPIRE_ITEMS.value
_NEXT_EXPIRY = select(func.min(tasks.c.not_before)).where(
    *_expiry_tasks, tasks.c.state == TaskState.PENDING.value
)
_DELETE_DONE = delete(tasks).where(*_expiry_tasks, tasks.c.state == TaskState.DONE.value)

SOONEST = timedelta(
    seconds=1
)  # tolerance by which items are deleted together; expired items are hidden until then


class ItemReader(Reader):
    """Reads of items."""

    def get(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> list[Item | None]:
        """Return the item of each key, or None if it does not exist."""
        with self._at(bank) as (connection, row):
            rows = [
                item
                for values in _by_namespace(row, keys)
                for item in fetched(connection, _BY_KEYS, {**values, "now": to_micros(now)})
            ]
        by_key = {(item.namespace, item.key): item for _, item in _sound(bank, rows)}
        return [by_key.get((tuple(namespace), key)) for namespace, key in keys]

    def at_rows(self, bank: str, rows: Sequence[int], now: datetime) -> dict[int, Item]:
        """Return items by row id; unknown row ids are omitted."""
        with self._at(bank) as (connection, row):
            values = {"rows": rows, "of": row, "now": to_micros(now)}
            return dict(_sound(bank, fetched(connection, _BY_ROWS, values)))

    def listed(
        self,
        bank: str,
        prefix: Namespace,
        now: datetime,
        *,
        searchable: bool | None = None,
        limit: int,
        offset: int = 0,
    ) -> list[tuple[int, Item]]:
        """Return items whose namespace starts with a prefix, newest first, then by namespace and key.

        Args:
            bank: the bank.
            prefix: first labels of the namespaces; empty means all.
            now: the current time.
            searchable: True selects items with indexed texts, False items without, None both.
            limit: maximum number of items.
            offset: number of items to skip.
        """
        with self._at(bank) as (connection, row):
            values = {**_under(prefix, row), "now": to_micros(now), "limit": limit, "offset": offset}
            return _sound(bank, fetched(connection, _LISTINGS[searchable], values))

    def damaged(self, bank: str) -> tuple[str, ...]:
        """Return the key and namespace of damaged items, including expired ones. Reads all items."""
        with self._at(bank) as (connection, row):
            return damaged_items(connection, row)

    def namespaces(self, bank: str, prefix: Namespace, now: datetime) -> list[Namespace]:
        """Return the namespaces that start with a prefix and contain at least one item, sorted."""
        with self._at(bank) as (connection, row):
            texts = connection.execute(_NAMESPACES, {**_under(prefix, row), "now": to_micros(now)}).scalars()
            return sorted(map(namespace_from, texts))

    def unit_ids(self, bank: str, keys: Sequence[ItemKey]) -> frozenset[str]:
        """Return the ids of the units that are texts of these items, including expired ones."""
        with self._at(bank) as (connection, row):
            return frozenset(
                unit
                for values in _by_namespace(row, keys)
                for unit in connection.execute(_UNIT_IDS, values).scalars()
            )


def damaged_items(connection: Connection, bank: int) -> tuple[str, ...]:
    """Return the key and namespace of the bank's damaged items."""
    return tuple(_name(row) for row in fetched(connection, _ALL, {"of": bank}) if not _is_sound(row))


def seal_items(connection: Connection, bank: int) -> None:
    """Recompute the checksums of a bank's items from their stored values."""
    rows = fetched(connection, _ALL, {"of": bank})
    run_many(connection, _SEAL, [{"of": bank, "row": row[0], "sum": _checksum(row)} for row in rows])


def item_checksum(namespace: str, key: str, value: str, updated_at: int) -> int:
    """Compute an item's checksum. The time to live is not covered, because reads restart it."""
    return digest((namespace, key, value, updated_at))


def _checksum(row: Row) -> int:
    _, namespace, key, value, _, updated, *_ = row
    return item_checksum(namespace, key, value, updated)


def _name(row: Row) -> str:
    return f"item {row[2]!r} in {namespace_from(row[1])}"


def _is_sound(row: Row) -> bool:
    return _checksum(row) == int(row[-1])


def _sound(bank: str, rows: Sequence[Row]) -> list[tuple[int, Item]]:
    """Return the row ids and items of these rows.

    Raises:
        MemoryDamaged: an item is damaged.
    """
    if damaged := [row for row in rows if not _is_sound(row)]:
        raise MemoryDamaged(bank, tuple(map(_name, damaged)))
    return [(row[0], _item(row)) for row in rows]


def _by_namespace(bank: int, keys: Iterable[ItemKey]) -> list[dict[str, Any]]:
    """Return the parameters that select these items, one set per namespace."""
    by_namespace: dict[str, list[str]] = {}
    for namespace, key in keys:
        by_namespace.setdefault(namespace_text(tuple(namespace)), []).append(key)
    return [{"of": bank, "within": text, "keys": keys} for text, keys in by_namespace.items()]


def _named(bank: int, write: ItemWrite | ItemDelete) -> dict[str, Any]:
    """Return the parameters that select an item by key."""
    return {"of": bank, "within": namespace_text(write.namespace), "named": write.key}


def _under(prefix: Namespace, bank: int) -> dict[str, Any]:
    """Return the parameters that select items under a namespace prefix."""
    first, after = namespace_range(prefix)
    return {"of": bank, "first": first, "after": after}


def _item(row: Row) -> Item:
    _, namespace, key, value, created, updated, expires, _ = row
    return Item(
        namespace=namespace_from(namespace),
        key=key,
        value=json.loads(value),
        created_at=from_micros(created),
        updated_at=from_micros(updated),
        expires_at=None if expires is None else from_micros(expires),
    )


def enqueue_expiry(connection: Connection, bank: int, clock: datetime, now: datetime) -> None:
    """Enqueue a task for the next expiry, unless a pending task is due by then.

    The task has no key, because `settle` runs keyed tasks early, and this one must not run before its time.

    Args:
        connection: the writer.
        bank: row id.
        clock: current time on the clock of tasks.
        now: current time on the clock of items.
    """
    first = connection.execute(_FIRST_TO_EXPIRE, {"of": bank}).scalar()
    if first is None:
        return
    delay = max((first - to_micros(now)) * MICROSECOND, SOONEST)
    due = connection.execute(_NEXT_EXPIRY, {"of": bank}).scalar()
    if due is not None and due <= to_micros(clock + delay):
        return
    connection.execute(_DELETE_DONE, {"of": bank})
    enqueue(connection, bank, [TaskWrite(TaskKind.EXPIRE_ITEMS, "{}", delay)], clock)


class ItemWriter(ItemReader):
    """Reads and changes items, each change in its own transaction. Adding or removing units raises the bank's revision."""

    def __init__(self, at: At, database: Database) -> None:
        super().__init__(at)
        self._database = database

    def write(self, bank: str, writes: Sequence[ItemWrite | ItemDelete], now: datetime) -> int:
        """Put and delete items, each key at most once, all or nothing; return the bank's revision.

        An item keeps the `created_at` of the item that it replaces, unless that item has expired. Units that are no longer
        texts of an item are removed and counted as residue, because their words stay in the files until a scrub. If an item
        has a time to live, a task `EXPIRE_ITEMS` is enqueued.

        Raises:
            RevisionConflict: a unit without a vector no longer exists; nothing was written.
            InvalidRequest: the vectors differ in length from those of the bank.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            target = CommitTarget(connection, row.id, row.revision + 1)
            new = _new_units(target, bank, writes, row.dimension)
            changed = sum(
                _put(target, write, now) if isinstance(write, ItemWrite) else _deleted(target, write)
                for write in writes
            )
            _write_units_of_items(target, bank, writes, new)
            enqueue_expiry(connection, row.id, self._database.clock.now(), now)
            if not changed and not new:
                return row.revision
            advance(
                target.connection,
                target.bank,
                target.revision,
                len(new[0].vector) // FLOAT_BYTES if new else None,
            )
            return target.revision

    def refresh(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> int:
        """Restart the time to live of these items; return the number of items that have one."""
        with self._database.writing(bank) as connection:
            named = _by_namespace(find_bank(connection, bank).id, keys)
            return count_many(connection, _REFRESH, [{**values, "now": to_micros(now)} for values in named])

    def expire(self, bank: str, now: datetime, claims: Collection[TaskClaim] = ()) -> int:
        """Delete expired items, complete these tasks, and enqueue the next expiry; return the number of deleted items.

        Raises:
            TaskClosed: a lease is no longer valid; nothing was deleted.
        """
        with self._database.writing(bank) as connection:
            row, clock = find_bank(connection, bank), self._database.clock.now()
            complete(connection, row.id, claims, clock)
            target = CommitTarget(connection, row.id, row.revision + 1)
            expired = connection.execute(_EXPIRED, {"of": row.id, "now": to_micros(now)}).scalars().all()
            if _delete_rows(target, expired):
                advance(target.connection, target.bank, target.revision)
            enqueue_expiry(connection, row.id, clock, now)
            return len(expired)

    def forget(self, bank: str, namespace: Namespace, key: str | None) -> int:
        """Erase an item, or, without a key, all items under a prefix; return their number. Scrub the files afterwards."""
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            if key is None:
                result = connection.execute(_ROWS_UNDER, _under(namespace, row.id))
            else:
                result = connection.execute(_NAMED_ITEM, _named(row.id, ItemDelete(namespace, key)))
            rows = result.scalars().all()
            if rows:
                target = CommitTarget(connection, row.id, row.revision + 1)
                _delete_rows(target, rows)
                _begin_scrub(target)
            return len(rows)

    def residue(self, bank: str) -> int:
        """Return the number of values and texts that were deleted or replaced since the last scrub."""
        with self._database.reading() as connection:
            return _residue(connection, find_bank(connection, bank).id)

    def begin_scrub(self, bank: str) -> bool:
        """Tell the indexes to rewrite their files, and record that a scrub is due, so that it happens even after a kill.

        Returns:
            False if there is no residue.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            if not _residue(connection, row.id):
                return False
            _begin_scrub(CommitTarget(connection, row.id, row.revision + 1))
            return True

    def expired_banks(self, now: datetime) -> list[str]:
        """Return the banks with expired items or residue."""
        with self._database.reading() as connection:
            return list(connection.execute(_EXPIRED_BANKS, {"now": to_micros(now)}).scalars())


def _put(target: CommitTarget, write: ItemWrite, now: datetime) -> int:
    """Insert or replace an item; return the number of its units that are no longer its texts."""
    named, instant = _named(target.bank, write), to_micros(now)
    ttl = None if write.ttl is None else write.ttl // MICROSECOND
    previous = target.connection.execute(_NAMED_ITEM, named).one_or_none()
    values = {
        "bank": target.bank,
        "namespace": named["within"],
        "key": write.key,
        "value": write.value,
        "created_at": instant,
        "updated_at": instant,
        "ttl": ttl,
        "expires_at": None if ttl is None else instant + ttl,
        "checksum": item_checksum(named["within"], write.key, write.value, instant),
    }
    item = target.connection.execute(_PUT, values).scalar_one()
    if previous is None:
        return 0
    kept = [unit.unit.id for unit in write.units]
    others = {"bank": target.bank, "item": item, "kept": kept}
    dropped = target.connection.execute(_OTHER_UNITS, others).scalars().all()
    remove_units(target, dropped)
    _leave_residue(target, len(dropped) + (previous.value != write.value))
    return len(dropped)


def _deleted(target: CommitTarget, write: ItemDelete) -> int:
    """Delete an item; return the number of its units."""
    rows = target.connection.execute(_NAMED_ITEM, _named(target.bank, write)).scalars().all()
    return _delete_rows(target, rows)


def _delete_rows(target: CommitTarget, rows: Sequence[int]) -> int:
    """Delete items by row id; return the number of their units."""
    if not rows:
        return 0
    of_items = {"bank": target.bank, "rows": rows}
    dropped = target.connection.execute(_UNITS, of_items).scalars().all()
    remove_units(target, dropped)
    target.connection.execute(_DELETE, of_items)
    _leave_residue(target, len(dropped) + len(rows))
    return len(dropped)


def _new_units(
    target: CommitTarget, bank: str, writes: Iterable[ItemWrite | ItemDelete], dimension: int | None
) -> tuple[UnitWrite, ...]:
    """Return the units that do not exist yet."""
    by_id = {unit.unit.id: unit for write in writes if isinstance(write, ItemWrite) for unit in write.units}
    rows = unit_rows(target.connection, target.bank, list(by_id))
    new = tuple(unit for unit_id, unit in by_id.items() if unit_id not in rows)
    if any(not unit.vector for unit in new):
        raise RevisionConflict(bank, target.revision - 1, target.revision - 1)
    check_shape(WriteSet(bank, 0, units=new), dimension)
    return new


def _write_units_of_items(
    target: CommitTarget, bank: str, writes: Sequence[ItemWrite | ItemDelete], new: tuple[UnitWrite, ...]
) -> None:
    """Write new units and link all units to their items."""
    write_units(target, WriteSet(bank, 0, units=new))
    owners = [
        {**_named(target.bank, write), "units": [unit.unit.id for unit in write.units]}
        for write in writes
        if isinstance(write, ItemWrite) and write.units
    ]
    run_many(target.connection, _ADD_UNITS, owners)


def _leave_residue(target: CommitTarget, texts: int) -> None:
    if texts:
        target.connection.execute(_ADD_RESIDUE, {"bank": target.bank, "texts": texts})


def _residue(connection: Connection, bank: int) -> int:
    return connection.execute(_RESIDUE, {"of": bank}).scalar() or 0


def _begin_scrub(target: CommitTarget) -> None:
    """Tell the indexes to rewrite their files, and record that a scrub is due, as an erasure does."""
    target.connection.execute(_DELETE_RESIDUE, {"of": target.bank})
    note_erasure(target.connection, target.bank, target.revision)
    target.connection.execute(_MARK_UNSCRUBBED, {"bank": target.bank})
    advance(target.connection, target.bank, target.revision)
