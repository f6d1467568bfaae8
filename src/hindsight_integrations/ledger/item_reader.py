"""Items read from tables, each compared with its checksum (decision 151)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.ledger.reader import BankReads
from hindsight_integrations.ledger.records import digest
from hindsight_integrations.ledger.rows import Row, fetched
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.items import Item, ItemKey, Namespace
from hindsight_integrations.model.namespaces import namespace_from, namespace_range, namespace_text
from hindsight_integrations.model.time import from_micros, to_micros

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
