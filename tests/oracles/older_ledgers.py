"""Ledgers as earlier releases left them: each migration undone, the newest first. A new migration is undone here alone."""

from __future__ import annotations

import sqlite3

UNDONE = {
    6: (
        "DROP TABLE turns",
        "DROP TABLE erasures",
        "DROP INDEX units_waiting",
        "ALTER TABLE units DROP COLUMN kind",
    ),
    5: ("DROP INDEX entities_mentions",),
    4: (
        "DROP TRIGGER units_closed",
        "ALTER TABLE units DROP COLUMN checksum",
        "ALTER TABLE vectors DROP COLUMN checksum",
    ),
    3: ("DROP TRIGGER banks_commit", "DROP TABLE commits", "DROP TABLE ledger", "DROP TABLE losses"),
    2: ("ALTER TABLE units DROP COLUMN speaker",),
}
"""Version to what takes a file back to the version before."""


def bring_back(ledger: sqlite3.Connection, version: int) -> None:
    """Take an open ledger file of the newest version back to an earlier one; the mark beside it, of version 3 on, stays."""
    for newer, statements in UNDONE.items():
        for statement in statements if newer > version else ():
            ledger.execute(statement)
    ledger.execute(f"PRAGMA user_version = {version}")
