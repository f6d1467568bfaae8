"""What the ledger's statements need beyond SQLAlchemy Core."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection


def raw(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection, for what SQLAlchemy has no form for, or reads too slowly in bulk."""
    return connection.connection.driver_connection  # type: ignore[return-value] # SQLite's


def changes(connection: Connection) -> int:
    """How many rows the connection has changed since it was opened."""
    return raw(connection).total_changes
