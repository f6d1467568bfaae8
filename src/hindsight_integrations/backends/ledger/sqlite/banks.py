"""Banks in SQLite: headers, profiles, and whose vectors they hold."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

import numpy as np

from hindsight_integrations.backends.ledger.rules import bank_key, check_vectors
from hindsight_integrations.backends.ledger.sqlite.rows import (
    BANK_COLUMNS,
    embedder_text,
    header_from,
    profile_text,
)
from hindsight_integrations.errors import BankNotFound
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.writes import EmbedderIdentity
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.ledger import BankHeader


@dataclass(frozen=True, slots=True)
class BankRow:
    """What writing needs of a bank: its row id, its revision, and its vectors' dimension if it has any."""

    id: int
    revision: int
    dimension: int | None


def all_headers(connection: Connection) -> list[BankHeader]:
    """All banks, by name."""
    return [header_from(row) for row in connection.execute(f"SELECT {BANK_COLUMNS} FROM banks ORDER BY name")]


def find_header(connection: Connection, name: str) -> BankHeader | None:
    """One bank, None if there is none of that name."""
    row = connection.execute(f"SELECT {BANK_COLUMNS} FROM banks WHERE name = ?", (name,)).fetchone()
    return header_from(row) if row else None


def insert(connection: Connection, name: str) -> None:
    """Create a bank unless it is there."""
    connection.execute(
        "INSERT INTO banks (name, key, profile) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (name, bank_key(name), profile_text(BankProfile())),
    )


def missing(connection: Connection, name: str) -> BankNotFound:
    """The error for a bank that is not there, with the first few that are."""
    known = connection.execute("SELECT name FROM banks ORDER BY name LIMIT 5").fetchall()
    return BankNotFound(name, tuple(row[0] for row in known))


def find(connection: Connection, name: str) -> BankRow:
    """A bank's row.

    Raises:
        BankNotFound: there is no bank of that name.
    """
    row = connection.execute("SELECT id, revision, dimension FROM banks WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise missing(connection, name)
    return BankRow(*row)


def store_profile(connection: Connection, name: str, profile: BankProfile) -> None:
    """Replace a bank's profile."""
    bank = find(connection, name)
    connection.execute("UPDATE banks SET profile = ? WHERE id = ?", (profile_text(profile), bank.id))


def store_embedder(
    connection: Connection, name: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix
) -> int:
    """Record a bank's embedder and replace the vectors of `ids` (n,) by `vectors` (n, dimension); see the port.

    Returns the revision, raised by one if a vector was replaced.
    """
    bank = find(connection, name)
    given = ids.tolist()
    covers = bank.dimension in {None, embedder.dimension} or _all_of(connection, bank.id, given)
    check_vectors(ids, vectors, embedder.dimension, covers_bank=covers)
    blobs = (vector.tobytes() for vector in np.asarray(vectors, "<f4"))
    before = connection.total_changes
    connection.executemany(
        "UPDATE vectors SET vector = ?, revision = ? WHERE unit = ? AND bank = ?",
        [(blob, bank.revision + 1, unit, bank.id) for blob, unit in zip(blobs, given, strict=False)],
    )
    revision = bank.revision + (connection.total_changes > before)
    connection.execute(
        "UPDATE banks SET embedder = ?, dimension = ?, revision = ? WHERE id = ?",
        (embedder_text(embedder), embedder.dimension, revision, bank.id),
    )
    return revision


def _all_of(connection: Connection, bank: int, ids: list[int]) -> bool:
    """Whether the bank has no units besides these."""
    rows = connection.execute("SELECT id FROM units WHERE bank = ?", (bank,))
    return {row[0] for row in rows} <= set(ids)
