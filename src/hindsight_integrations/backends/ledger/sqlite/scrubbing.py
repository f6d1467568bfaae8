"""Rewriting the ledger's files after an erasure, so that no free page and no log frame keeps what was erased."""

from __future__ import annotations

from sqlite3 import Connection


def waiting(connection: Connection) -> bool:
    """Whether an erasure is not yet scrubbed from the files."""
    return connection.execute("SELECT 1 FROM unscrubbed LIMIT 1").fetchone() is not None


def scrub(connection: Connection) -> bool:
    """Vacuum and empty the write-ahead log; False if another process still reads an older state.

    To be called outside any transaction, with no other connection of this process inside one.
    """
    connection.execute("VACUUM")
    if not _truncated(connection):
        return False
    connection.execute("DELETE FROM unscrubbed")
    return _truncated(connection)


def _truncated(connection: Connection) -> bool:
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy
