"""Categories of records in tables: found by any of their spellings, made where they are missing (decision 112)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from hindsight_integrations.ledger.rows import batches, marks
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.records import Record, RecordCategory, RecordKind, spelling_key
from hindsight_integrations.model.writes import CategoryWrite

CategoryRows = dict[tuple[RecordKind, str], int]
"""Row ids of categories by kind and spelling key."""


def category_rows(
    connection: Connection, bank: int, wanted: Iterable[tuple[RecordKind, str]]
) -> CategoryRows:
    """Row ids of the categories of these kinds and spelling keys; unknown ones are left out."""
    by_kind: dict[RecordKind, list[str]] = {}
    for kind, key in wanted:
        by_kind.setdefault(kind, []).append(key)
    found: CategoryRows = {}
    for kind, keys in by_kind.items():
        for some in batches(keys):
            rows = raw(connection).execute(
                "SELECT name, category FROM record_category_names "
                f"WHERE bank = ? AND kind = ? AND name IN ({marks(len(some))})",
                (bank, kind.value, *some),
            )
            found.update({(kind, name): row for name, row in rows})
    return found


def categories_of(records: Iterable[Record]) -> list[CategoryWrite]:
    """The categories that records name, with the spellings they were given in."""
    return [CategoryWrite(r.kind, r.category, (r.stated,)) for r in records if spelling_key(r.category)]


def write_categories(connection: Connection, bank: int, writes: Sequence[CategoryWrite]) -> CategoryRows:
    """Make the categories that are not there, and give all of them their further spellings; row ids of those named.

    A spelling that is another category's stays that one's.
    """
    keys = [
        (write.kind, key)
        for write in writes
        for key in map(spelling_key, (write.name, *write.spellings))
        if key
    ]
    rows = category_rows(connection, bank, keys)
    for write in writes:
        name, *others = [(write.kind, spelling_key(text)) for text in (write.name, *write.spellings)]
        if not name[1]:
            continue
        if name not in rows:
            made = raw(connection).execute(
                "INSERT INTO record_categories (bank, kind, name) VALUES (?, ?, ?)",
                (bank, write.kind.value, " ".join(write.name.split())),
            )
            rows[name] = int(made.lastrowid or 0)
            _add_spelling(connection, bank, name, rows[name])
        for other in others:
            if other[1] and other not in rows:
                rows[other] = rows[name]
                _add_spelling(connection, bank, other, rows[name])
    return rows


def _add_spelling(connection: Connection, bank: int, spelling: tuple[RecordKind, str], category: int) -> None:
    kind, key = spelling
    raw(connection).execute(
        "INSERT INTO record_category_names (bank, kind, name, category) VALUES (?, ?, ?, ?)",
        (bank, kind.value, key, category),
    )


def listed_categories(
    connection: Connection, bank: int, kind: RecordKind | None = None
) -> dict[int, RecordCategory]:
    """The bank's categories by row id: by kind, the most used first, then by name."""
    where, values = ("bank = ?", (bank,)) if kind is None else ("bank = ? AND kind = ?", (bank, kind.value))
    spellings: dict[int, list[str]] = {}
    for category, name in raw(connection).execute(
        f"SELECT category, name FROM record_category_names WHERE {where} ORDER BY name", values
    ):
        spellings.setdefault(category, []).append(name)
    found = raw(connection).execute(
        "SELECT id, kind, name, (SELECT count(*) FROM records WHERE category = record_categories.id) AS held "
        f"FROM record_categories WHERE {where} ORDER BY kind, held DESC, name",
        values,
    )
    return {
        row: RecordCategory(RecordKind(kind), name, tuple(spellings.get(row, ())), held)
        for row, kind, name, held in found
    }


def touched_categories(connection: Connection, given: str) -> list[int]:
    """Row ids of the categories of the records of units, whose row ids are given as JSON."""
    rows = raw(connection).execute(
        "SELECT DISTINCT category FROM records WHERE unit IN (SELECT value FROM json_each(?)) "
        "AND category IS NOT NULL ORDER BY category",
        (given,),
    )
    return [row[0] for row in rows]


def erase_unused(connection: Connection, touched: Sequence[int]) -> int:
    """Of categories some of whose records were erased, erase what nothing says any more; how many went wholly.

    A category without records goes, and a spelling in which no record is given. A name whose words no record says gives
    way to the commonest spelling that is left.
    """
    gone = 0
    for category in touched:
        stated = dict(
            raw(connection)
            .execute("SELECT stated, count(*) FROM records WHERE category = ? GROUP BY stated", (category,))
            .fetchall()
        )
        if not stated:
            gone += (
                raw(connection).execute("DELETE FROM record_categories WHERE id = ?", (category,)).rowcount
            )
            continue
        (name,) = (
            raw(connection).execute("SELECT name FROM record_categories WHERE id = ?", (category,)).fetchone()
        )
        kept = kept_name(name, stated)
        raw(connection).execute("UPDATE record_categories SET name = ? WHERE id = ?", (kept, category))
        keys = sorted({spelling_key(text) for text in (kept, *stated)})
        raw(connection).execute(
            f"DELETE FROM record_category_names WHERE category = ? AND name NOT IN ({marks(len(keys))})",
            (category, *keys),
        )
    return gone


def kept_name(name: str, stated: Mapping[str, int]) -> str:
    """What a category is called of which only these spellings are left, each with how many records are given in it."""
    words = set(re.findall(r"\w+", spelling_key(name)))
    if any(words <= set(re.findall(r"\w+", spelling_key(text))) for text in stated) or not any(stated):
        return name
    return min((text for text in stated if text), key=lambda text: (-stated[text], text))
