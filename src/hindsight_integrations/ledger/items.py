"""Items written into tables, each write a transaction of its own (decision 151)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from hindsight_integrations.errors import MemoryDamaged, RevisionConflict
from hindsight_integrations.ledger import tasks
from hindsight_integrations.ledger.commit import FLOAT_BYTES, write_units
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.observations import remove_units
from hindsight_integrations.ledger.records import digest
from hindsight_integrations.ledger.rows import BankReads, Row, Target, fetched, find_bank, unit_rows
from hindsight_integrations.ledger.rules import check_shape
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.items import Item, ItemDelete, ItemKey, ItemWrite, Namespace
from hindsight_integrations.model.namespaces import namespace_from, namespace_range, namespace_text
from hindsight_integrations.model.tasks import TaskClaim, TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import MICROSECOND, from_micros, to_micros
from hindsight_integrations.model.writes import UnitWrite, WriteSet

_COLUMNS = "items.id, namespace, items.key, items.value, created_at, updated_at, expires_at, checksum"
ALIVE = "(expires_at IS NULL OR expires_at > :now)"
UNDER = "namespace >= :first AND (:after IS NULL OR namespace < :after)"
NAMED = (
    "json_each(:keys) AS given CROSS JOIN items ON items.bank = :bank "
    "AND namespace = given.value ->> 0 AND items.key = given.value ->> 1"
)


class ItemReads(BankReads):
    """The part of `LedgerReader` about items."""

    def items(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> list[Item | None]:
        """The item of each key, or None."""
        with self._at(bank) as (connection, row):
            query = f"SELECT {_COLUMNS} FROM {NAMED} WHERE {ALIVE}"
            values = {"keys": keys_text(keys), "bank": row, "now": to_micros(now)}
            found = [item for _, item in _sound(bank, fetched(connection, query, values))]
        by_key = {(item.namespace, item.key): item for item in found}
        return [by_key.get((tuple(namespace), key)) for namespace, key in keys]

    def items_at(self, bank: str, rows: Sequence[int], now: datetime) -> dict[int, Item]:
        """Items by row id."""
        query = (
            f"SELECT {_COLUMNS} FROM json_each(:rows) AS given CROSS JOIN items ON items.id = given.value "
            f"WHERE items.bank = :bank AND {ALIVE}"
        )
        with self._at(bank) as (connection, row):
            values = {"rows": json.dumps(list(rows)), "bank": row, "now": to_micros(now)}
            return dict(_sound(bank, fetched(connection, query, values)))

    def listed_items(
        self,
        bank: str,
        prefix: Namespace,
        now: datetime,
        *,
        searchable: bool | None = None,
        limit: int,
        offset: int = 0,
    ) -> list[tuple[int, Item]]:
        """Items under a prefix, the newest first."""
        has_texts = "EXISTS (SELECT 1 FROM item_units WHERE item = items.id)"
        chosen = "" if searchable is None else f" AND {has_texts}" if searchable else f" AND NOT {has_texts}"
        query = (
            f"SELECT {_COLUMNS} FROM items WHERE bank = :bank AND {UNDER} AND {ALIVE}{chosen} "
            "ORDER BY updated_at DESC, namespace, key LIMIT :limit OFFSET :offset"
        )
        with self._at(bank) as (connection, row):
            values = {**_under(prefix, row, now), "limit": limit, "offset": offset}
            return _sound(bank, fetched(connection, query, values))

    def damaged_items(self, bank: str) -> tuple[str, ...]:
        """Key and namespace of the items that are not what was written."""
        with self._at(bank) as (connection, row):
            return damaged_items(connection, row)

    def item_namespaces(self, bank: str, prefix: Namespace, now: datetime) -> list[Namespace]:
        """Namespaces under a prefix, in order."""
        query = f"SELECT DISTINCT namespace FROM items WHERE bank = :bank AND {UNDER} AND {ALIVE}"
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(query, _under(prefix, row, now)).fetchall()
        return sorted(namespace_from(text) for (text,) in found)

    def item_unit_ids(self, bank: str, keys: Sequence[ItemKey]) -> frozenset[str]:
        """Ids of the units that are texts of these items."""
        query = (
            f"SELECT unit_id FROM {NAMED} JOIN item_units ON item = items.id JOIN units ON units.id = unit"
        )
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(query, {"keys": keys_text(keys), "bank": row}).fetchall()
        return frozenset(unit for (unit,) in found)


def damaged_items(connection: Connection, bank: int) -> tuple[str, ...]:
    """Key and namespace of the bank's items that are not what was written."""
    rows = fetched(connection, f"SELECT {_COLUMNS} FROM items WHERE bank = ? ORDER BY id", (bank,))
    return tuple(_name(each) for each in rows if not _is_sound(each))


def seal_items(connection: Connection, bank: int) -> None:
    """Give a bank's items the checksum of what is stored now."""
    rows = fetched(connection, f"SELECT {_COLUMNS} FROM items WHERE bank = ?", (bank,))
    query = "UPDATE items SET checksum = ? WHERE id = ?"
    raw(connection).executemany(
        query, [(item_checksum(each[1], each[2], each[3], each[5]), each[0]) for each in rows]
    )


def item_checksum(namespace: str, key: str, value: str, updated_at: int) -> int:
    """The checksum of an item as it is stored. Times to live are left out: a read begins them anew."""
    return digest((namespace, key, value, updated_at))


def _name(row: Row) -> str:
    return f"item {row[2]!r} in {namespace_from(row[1])}"


def _is_sound(row: Row) -> bool:
    _, namespace, key, value, _, updated, _, checksum = row
    return item_checksum(namespace, key, value, updated) == int(checksum)


def _sound(bank: str, rows: Sequence[Row]) -> list[tuple[int, Item]]:
    """Row ids and items of rows.

    Raises:
        MemoryDamaged: some are not what was written.
    """
    if damaged := [row for row in rows if not _is_sound(row)]:
        raise MemoryDamaged(bank, tuple(map(_name, damaged)))
    return [(row[0], _item(row)) for row in rows]


def keys_text(keys: Sequence[ItemKey]) -> str:
    """(namespace text, key) of each, as JSON: what NAMED binds as `:keys`."""
    return json.dumps([(namespace_text(tuple(namespace)), key) for namespace, key in keys])


def _under(prefix: Namespace, bank: int, now: datetime) -> dict[str, Any]:
    first, after = namespace_range(prefix)
    return {"bank": bank, "first": first, "after": after, "now": to_micros(now)}


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


SOONEST = timedelta(seconds=1)  # items that expire together go together; what has expired is hidden anyway


def enqueue_expiry(connection: Connection, bank: int, clock: datetime, now: datetime) -> None:
    """Enqueue a task for the first item to expire, unless one waits that is due by then. In the writer's transaction.

    It has no key: what has a key is done early by `settle`, and this waits for its time.

    Args:
        connection: the writer.
        bank: row id.
        clock: the time by which tasks are due.
        now: the time by which items expire.
    """
    kind, named = TaskKind.EXPIRE_ITEMS.value, "FROM tasks WHERE bank = ? AND kind = ? AND state = ?"
    (first,) = raw(connection).execute("SELECT min(expires_at) FROM items WHERE bank = ?", (bank,)).fetchone()
    if first is None:
        return
    delay = max((first - to_micros(now)) * MICROSECOND, SOONEST)
    query = f"SELECT min(not_before) {named}"
    (due,) = raw(connection).execute(query, (bank, kind, TaskState.PENDING.value)).fetchone()
    if due is not None and due <= to_micros(clock + delay):
        return
    raw(connection).execute(f"DELETE {named}", (bank, kind, TaskState.DONE.value))
    tasks.enqueue(connection, bank, [TaskWrite(TaskKind.EXPIRE_ITEMS, "{}", delay)], clock)


_PUT = """
INSERT INTO items (bank, namespace, key, value, created_at, updated_at, ttl, expires_at, checksum)
VALUES (:bank, :namespace, :key, :value, :now, :now, :ttl, :now + :ttl, :checksum)
ON CONFLICT DO UPDATE SET value = excluded.value, checksum = excluded.checksum, updated_at = excluded.updated_at, ttl = excluded.ttl,
    created_at = iif(expires_at <= :now, excluded.created_at, created_at), expires_at = excluded.expires_at
RETURNING id
"""


class SqliteItems:
    """`ItemWriter` over the writer's connection; see the port."""

    _database: SqliteDatabase

    def write_items(self, bank: str, writes: Sequence[ItemWrite | ItemDelete], now: datetime) -> int:
        """Put and delete, all or nothing; the bank's revision afterwards."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            target = Target(connection, found.id, found.revision + 1)
            units = _checked_units(target, bank, writes, found.dimension)
            changed = sum(
                _put(target, write, now) if isinstance(write, ItemWrite) else _deleted(target, write)
                for write in writes
            )
            _own(target, bank, writes, units)
            enqueue_expiry(connection, found.id, self._database.clock.now(), now)
            return _raised(target, bank, units) if changed or units else found.revision

    def refresh_items(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> int:
        """Items with a time to live begin it anew."""
        with self._database.writing() as connection:
            values = {"keys": keys_text(keys), "bank": find_bank(connection, bank).id, "now": to_micros(now)}
            return (
                raw(connection)
                .execute(
                    f"UPDATE items SET expires_at = :now + ttl WHERE ttl IS NOT NULL AND {ALIVE} "
                    f"AND id IN (SELECT items.id FROM {NAMED})",
                    values,
                )
                .rowcount
            )

    def expire_items(self, bank: str, now: datetime, claims: Collection[TaskClaim] = ()) -> int:
        """Delete what has expired, complete these tasks, and enqueue the next."""
        with self._database.writing() as connection:
            found, clock = find_bank(connection, bank), self._database.clock.now()
            tasks.complete(connection, found.id, claims, clock)
            target = Target(connection, found.id, found.revision + 1)
            query = "SELECT id FROM items WHERE bank = ? AND expires_at <= ?"
            rows = [row for (row,) in raw(connection).execute(query, (found.id, to_micros(now)))]
            if _delete_rows(target, rows):
                _raised(target, bank, ())
            enqueue_expiry(connection, found.id, clock, now)
            return len(rows)

    def forget_items(self, bank: str, namespace: Namespace, key: str | None) -> int:
        """Delete an item, or all under a prefix, as an erasure."""
        first, after = namespace_range(namespace)
        values = {
            "bank": 0,
            "first": first,
            "after": after,
            "key": key,
            "namespace": namespace_text(namespace),
        }
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            chosen = UNDER if key is None else "namespace = :namespace AND key = :key"
            query = f"SELECT id FROM items WHERE bank = :bank AND {chosen}"
            rows = [row for (row,) in raw(connection).execute(query, {**values, "bank": found.id})]
            target = Target(connection, found.id, found.revision + 1)
            if rows:
                _delete_rows(target, rows)
                _begin_scrub(target)
            return len(rows)

    def item_residue(self, bank: str) -> int:
        """How many values and texts wait to be scrubbed."""
        with self._database.reading() as connection:
            return _residue(connection, find_bank(connection, bank).id)

    def begin_item_scrub(self, bank: str) -> bool:
        """Make the indexes write what was removed, and have `scrub` made up for after a kill."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            if not _residue(connection, found.id):
                return False
            _begin_scrub(Target(connection, found.id, found.revision + 1))
            return True

    def expired_banks(self, now: datetime) -> list[str]:
        """Banks that hold expired items or residue."""
        query = (
            "SELECT name FROM banks WHERE EXISTS (SELECT 1 FROM items WHERE bank = banks.id AND expires_at <= :now) "
            "OR EXISTS (SELECT 1 FROM item_residue WHERE bank = banks.id) ORDER BY name"
        )
        with self._database.reading() as connection:
            return [name for (name,) in raw(connection).execute(query, {"now": to_micros(now)})]


def _put(target: Target, write: ItemWrite, now: datetime) -> int:
    """Insert or replace an item; how many units it had that are no texts of it any more."""
    values: dict[str, Any] = {
        "bank": target.bank,
        "namespace": namespace_text(write.namespace),
        "key": write.key,
        "value": write.value,
        "now": to_micros(now),
        "ttl": None if write.ttl is None else write.ttl // MICROSECOND,
        "checksum": item_checksum(namespace_text(write.namespace), write.key, write.value, to_micros(now)),
    }
    before = (
        raw(target.connection)
        .execute(
            "SELECT id FROM items WHERE bank = :bank AND namespace = :namespace AND key = :key AND value <> :value",
            values,
        )
        .fetchone()
    )
    ((row,),) = raw(target.connection).execute(_PUT, values).fetchall()
    kept = json.dumps([unit.unit.id for unit in write.units])
    gone = raw(target.connection).execute(
        "SELECT unit FROM item_units JOIN units ON units.id = unit WHERE item = ? "
        "AND unit_id NOT IN (SELECT value FROM json_each(?))",
        (row, kept),
    )
    rows = [unit for (unit,) in gone]
    remove_units(target, rows)
    _leave_residue(target, len(rows) + (before is not None))
    return len(rows)


def _deleted(target: Target, write: ItemDelete) -> int:
    """Delete an item; how many units it had."""
    found = raw(target.connection).execute(
        "SELECT id FROM items WHERE bank = ? AND namespace = ? AND key = ?",
        (target.bank, namespace_text(write.namespace), write.key),
    )
    return _delete_rows(target, [row for (row,) in found])


def _delete_rows(target: Target, rows: list[int]) -> int:
    """Delete items by row id; how many units they had."""
    given = json.dumps(rows)
    query = "SELECT unit FROM item_units WHERE item IN (SELECT value FROM json_each(?))"
    units = [unit for (unit,) in raw(target.connection).execute(query, (given,))]
    remove_units(target, units)
    raw(target.connection).execute("DELETE FROM items WHERE id IN (SELECT value FROM json_each(?))", (given,))
    _leave_residue(target, len(units) + len(rows))
    return len(units)


def _checked_units(
    target: Target, bank: str, writes: Iterable[ItemWrite | ItemDelete], dimension: int | None
) -> tuple[UnitWrite, ...]:
    """The units that are not there yet."""
    given = {unit.unit.id: unit for write in writes if isinstance(write, ItemWrite) for unit in write.units}
    known = unit_rows(target.connection, target.bank, list(given))
    new = tuple(unit for unit_id, unit in given.items() if unit_id not in known)
    if any(not unit.vector for unit in new):
        raise RevisionConflict(bank, target.revision - 1, target.revision - 1)
    check_shape(WriteSet(bank, 0, units=new), dimension)
    return new


def _own(
    target: Target, bank: str, writes: Sequence[ItemWrite | ItemDelete], new: Sequence[UnitWrite]
) -> None:
    """Write the units, and whose they are."""
    write_units(target, WriteSet(bank, 0, units=tuple(new)))
    for write in writes:
        if isinstance(write, ItemWrite) and write.units:
            raw(target.connection).execute(
                "INSERT INTO item_units (unit, item) SELECT units.id, items.id FROM json_each(:units) AS given "
                "CROSS JOIN units ON units.bank = :bank AND unit_id = given.value JOIN items "
                "ON items.bank = :bank AND namespace = :namespace AND items.key = :key WHERE true ON CONFLICT DO NOTHING",
                {
                    "units": json.dumps([unit.unit.id for unit in write.units]),
                    "bank": target.bank,
                    "namespace": namespace_text(write.namespace),
                    "key": write.key,
                },
            )


def _raised(target: Target, bank: str, units: Sequence[UnitWrite]) -> int:
    """The bank at the revision of this write."""
    dimension = len(units[0].vector) // FLOAT_BYTES if units else find_bank(target.connection, bank).dimension
    query = "UPDATE banks SET revision = ?, dimension = ? WHERE id = ?"
    raw(target.connection).execute(query, (target.revision, dimension, target.bank))
    return target.revision


def _leave_residue(target: Target, texts: int) -> None:
    if texts:
        raw(target.connection).execute(
            "INSERT INTO item_residue VALUES (?, ?) ON CONFLICT DO UPDATE SET texts = texts + excluded.texts",
            (target.bank, texts),
        )


def _residue(connection: Connection, bank: int) -> int:
    row = raw(connection).execute("SELECT texts FROM item_residue WHERE bank = ?", (bank,)).fetchone()
    return int(row[0]) if row else 0


def _begin_scrub(target: Target) -> None:
    """As after an erasure: indexes write their files anew from this revision on, and a kill before the scrub is made up for."""
    raw(target.connection).execute("DELETE FROM item_residue WHERE bank = ?", (target.bank,))
    raw(target.connection).execute(
        "INSERT INTO erasures VALUES (?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision",
        (target.bank, target.revision),
    )
    raw(target.connection).execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (target.bank,))
    raw(target.connection).execute(
        "UPDATE banks SET revision = ? WHERE id = ?", (target.revision, target.bank)
    )
