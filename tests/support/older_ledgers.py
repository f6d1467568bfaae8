"""Ledgers as earlier releases left them: each migration undone, the newest first. A new migration is undone here alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

from hindsight_integrations.backends.ledger.sqlite.checksums import seal_units
from hindsight_integrations.backends.ledger.sqlite.one_record import SEALED_WITH_ONE_RECORD


def _one_record_each(ledger: sqlite3.Connection) -> None:
    """The first record of each unit in the unit's own row, as it was before there were several, and sealed so."""
    ledger.execute("ALTER TABLE units ADD COLUMN record TEXT")
    rows = ledger.execute(
        "SELECT records.kind, value, is_number, coalesce(name, ''), measure, unit FROM records "
        "LEFT JOIN record_categories ON record_categories.id = category WHERE ordinal = 0"
    ).fetchall()
    for kind, value, number, category, measure, unit in rows:
        text = json.dumps([kind, value, bool(number), category, measure])
        ledger.execute("UPDATE units SET record = ? WHERE id = ?", (text, unit))
    for (bank,) in ledger.execute("SELECT id FROM banks").fetchall():
        seal_units(ledger, bank, columns=SEALED_WITH_ONE_RECORD)


UNDONE: dict[int, tuple[str | Callable[[sqlite3.Connection], None], ...]] = {
    13: tuple(f"ALTER TABLE units DROP COLUMN {name}" for name in ("compact", "compact_tokens")),
    12: ("DROP TABLE retold",),
    11: (
        "DROP INDEX units_items",
        *(f"DROP TABLE {name}" for name in ("item_residue", "item_units", "items")),
    ),
    10: ("DROP TABLE thread_messages", "DROP TABLE threads"),
    9: (
        *(f"DROP TABLE {name}" for name in ("mental_model_grounds", "mental_models", "directives")),
        *(
            f"DROP TABLE {name}"
            for name in ("opinion_operations", "evidence", "opinion_grounds", "opinion_wordings", "opinions")
        ),
        (
            "CREATE TABLE evidence ( opinion INTEGER NOT NULL REFERENCES units ON DELETE CASCADE, "
            "evidence INTEGER NOT NULL REFERENCES units ON DELETE CASCADE, assessment TEXT NOT NULL, "
            "effective_at INTEGER NOT NULL, PRIMARY KEY (opinion, evidence) ) WITHOUT ROWID"
        ),
        "CREATE INDEX evidence_unit ON evidence (evidence)",
    ),
    8: (
        "DROP TABLE profile_changes",
        *(f"DROP INDEX tasks_{name}" for name in ("key", "due", "early", "bank_due", "bank_early", "leased")),
        *(
            f"ALTER TABLE tasks DROP COLUMN {name}"
            for name in ("due", "early", "key", "lease", "uncounted", "debounce", "again")
        ),
        "CREATE INDEX tasks_due ON tasks (bank, state, not_before)",
        "DROP TABLE observed_left_out",
        "DROP TABLE observation_facts",
        "DROP TABLE observations",
        "DROP INDEX entities_unobserved",
        "DROP TABLE unobserved",
        "ALTER TABLE entities DROP COLUMN observed_at",
        "ALTER TABLE entities DROP COLUMN facts_changed",
    ),
    7: (
        _one_record_each,
        "DROP TABLE records",
        "DROP TABLE record_category_names",
        "DROP TABLE record_categories",
        "ALTER TABLE units DROP COLUMN records",
        "DROP INDEX validity_once",
        "ALTER TABLE validity_events DROP COLUMN record",
        (
            "CREATE UNIQUE INDEX validity_once ON validity_events "
            "(unit, kind, effective_at, coalesce(by_unit, 0), reason)"
        ),
        "CREATE INDEX units_record ON units (bank, id) WHERE record IS NOT NULL",
    ),
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
            if isinstance(statement, str):
                ledger.execute(statement)
            else:
                statement(ledger)
    ledger.execute(f"PRAGMA user_version = {version}")
    ledger.commit()
