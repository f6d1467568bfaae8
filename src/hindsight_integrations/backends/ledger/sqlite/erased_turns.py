"""Which source turns an erasure reaches, and how they go: with a memory made from them, or by what they are themselves."""

from __future__ import annotations

import json
from collections.abc import Collection
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.sqlite.entity_writing import Target
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.identifiers import identifies_any
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.model.whole_names import WholeNames
from hindsight_integrations.model.writes import Place


def reached_turns(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, names: WholeNames
) -> set[Place]:
    """The messages whose text goes: those the units were made from, and those the erasure names.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        erasure: what is to be erased.
        names: of the entity to be erased, if it names one.
    """
    found = connection.execute(
        "SELECT thread, message FROM json_each(?) AS given CROSS JOIN unit_sources ON unit = given.value",
        (json.dumps(rows),),
    ).fetchall()
    if erasure.message is not None:
        found.append((erasure.thread or "", erasure.message))
    elif erasure.thread is not None:
        query = "SELECT thread, message FROM message_keys WHERE bank = ? AND thread = ?"
        found += connection.execute(query, (bank, erasure.thread)).fetchall()
    if erasure.before is not None:
        found += _said_before(connection, bank, erasure)
    if erasure.window is not None:
        span = to_micros(erasure.window.start), to_micros(erasure.window.end)
        query = "SELECT thread, message FROM turns WHERE bank = ? AND unit IS NULL AND said_at >= ? AND said_at < ?"
        found += connection.execute(query, (bank, *span)).fetchall()
    return set(found) | _naming(connection, bank, names, erasure.identifiers)


def waiting_of(connection: Connection, bank: int, places: set[Place]) -> list[int]:
    """Row ids of the turns of these messages that wait for extraction."""
    rows = connection.execute(
        "SELECT units.id FROM json_each(?) AS given CROSS JOIN unit_sources AS source "
        "ON source.thread = json_extract(given.value, '$[0]') AND message = json_extract(given.value, '$[1]') "
        "JOIN units ON units.id = source.unit WHERE source.bank = ? AND kind = ? ORDER BY units.id",
        (json.dumps(sorted(places)), bank, UnitKind.TURN),
    )
    return [row for (row,) in rows]


def erase_turns(target: Target, places: set[Place]) -> int:
    """Erase the texts of these messages; how many were kept, beside those that are units.

    Memories made from them that stay are to be indexed again, without their words.
    """
    connection, bank = target.connection, target.bank
    connection.executemany(
        "INSERT INTO retold SELECT unit, bank, ? FROM unit_sources WHERE bank = ? AND thread = ? AND message = ? "
        "ON CONFLICT DO UPDATE SET revision = excluded.revision",
        [(target.revision, bank, *place) for place in places],
    )
    connection.executemany(
        "DELETE FROM turns WHERE bank = ? AND thread = ? AND message = ? AND unit IS NOT NULL",
        [(bank, *place) for place in places],
    )
    return connection.executemany(
        "DELETE FROM turns WHERE bank = ? AND thread = ? AND message = ?",
        [(bank, *place) for place in places],
    ).rowcount


def _said_before(connection: Connection, bank: int, erasure: Erasure) -> list[Place]:
    """The messages kept as text that were said before a moment, all or those with one of the tags."""
    rows = connection.execute(
        "SELECT thread, message, tags FROM turns WHERE bank = ? AND unit IS NULL AND said_at < ?",
        (bank, to_micros(erasure.before)) if erasure.before else (),
    )
    wanted = set(erasure.tags)
    return [
        (thread, message) for thread, message, tags in rows if not wanted or wanted & set(json.loads(tags))
    ]


def _naming(connection: Connection, bank: int, names: WholeNames, identifiers: Collection[str]) -> set[Place]:
    """The messages kept as text, or waiting, in which a name stands as whole words, or whose speaker bears it, or an identifier."""
    if not names and not identifiers:
        return set()

    def is_meant(text: str) -> bool:
        return names.stand_in(text) or identifies_any(text, identifiers)

    kept = connection.execute(
        "SELECT thread, message, speaker || ': ' || text FROM turns WHERE bank = ? AND unit IS NULL", (bank,)
    )
    found = {(thread, message) for thread, message, text in kept if is_meant(text)}
    waiting = connection.execute(
        "SELECT source.thread, message, text FROM units JOIN unit_sources AS source ON unit = units.id "
        "WHERE units.bank = ? AND kind = ?",
        (bank, UnitKind.TURN),
    )
    return found | {(thread, message) for thread, message, text in waiting if is_meant(text)}
