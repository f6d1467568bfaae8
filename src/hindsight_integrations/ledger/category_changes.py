"""Categories of records put together and apart by hand. Each record keeps the spelling it was given in, so nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.record_categories import category_rows, listed_categories
from hindsight_integrations.ledger.records import move_record
from hindsight_integrations.ledger.rows import RECORD_COLUMNS, Row, fetched, find_bank
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.records import RecordCategory, RecordKind, spelling_key

_STATED = RECORD_COLUMNS.split(", ").index("records.stated")


class SqliteCategoryChanges:
    """The part of `LedgerMaintenance` that says which spellings are one category."""

    _database: SqliteDatabase

    def merge_categories(self, bank: str, kind: RecordKind, keep: str, merged: str) -> RecordCategory:
        """Move all records and spellings of one category to another; the merged one is removed."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            target, source = (_known(connection, found.id, kind, name) for name in (keep, merged))
            if target == source:
                raise InvalidRequest("merge", f"{merged!r} is {keep!r} already", "Name two categories.")
            for row in _records(connection, source):
                move_record(connection, row, target)
            raw(connection).execute(
                "UPDATE record_category_names SET category = ? WHERE category = ?", (target, source)
            )
            raw(connection).execute("DELETE FROM record_categories WHERE id = ?", (source,))
            raw(connection).execute("UPDATE banks SET revision = revision + 1 WHERE id = ?", (found.id,))
            return listed_categories(connection, found.id, kind)[target]

    def split_category(
        self, bank: str, kind: RecordKind, name: str, spellings: Sequence[str]
    ) -> RecordCategory:
        """Make a new category of some spellings of another, with the records that were given in them."""
        with self._database.writing() as connection:
            found = find_bank(connection, bank)
            source = _known(connection, found.id, kind, name)
            before = listed_categories(connection, found.id, kind)[source]
            keys = [spelling_key(text) for text in spellings]
            _check_split(before, keys)
            made = raw(connection).execute(
                "INSERT INTO record_categories (bank, kind, name) VALUES (?, ?, ?)",
                (found.id, kind.value, " ".join(spellings[0].split())),
            )
            target = int(made.lastrowid or 0)
            raw(connection).executemany(
                "UPDATE record_category_names SET category = ? WHERE category = ? AND name = ?",
                [(target, source, key) for key in keys],
            )
            for row in _records(connection, source):
                if spelling_key(str(row[_STATED])) in keys:
                    move_record(connection, row, target)
            raw(connection).execute("UPDATE banks SET revision = revision + 1 WHERE id = ?", (found.id,))
            return listed_categories(connection, found.id, kind)[target]


def _known(connection: Connection, bank: int, kind: RecordKind, name: str) -> int:
    """The row of the category that has this spelling."""
    key = kind, spelling_key(name)
    rows = category_rows(connection, bank, [key])
    if key not in rows:
        raise InvalidRequest(
            "category",
            f"no {kind} has the category {name!r}",
            "See categories(); any spelling of one will do.",
        )
    return rows[key]


def _records(connection: Connection, category: int) -> list[Row]:
    """The category's records, each with its checksum."""
    return fetched(
        connection, f"SELECT {RECORD_COLUMNS}, checksum FROM records WHERE category = ?", (category,)
    )


def _check_split(category: RecordCategory, keys: Sequence[str]) -> None:
    unknown = [key for key in keys if key not in category.spellings]
    if not keys or unknown:
        reason = f"{category.name!r} is not given as {unknown[0]!r}" if unknown else "none is given"
        raise InvalidRequest("spellings", reason, f"It has {', '.join(category.spellings)}.")
    if spelling_key(category.name) in keys:
        raise InvalidRequest(
            "spellings", f"{category.name!r} is its name, which stays", "Split off the other spellings."
        )
