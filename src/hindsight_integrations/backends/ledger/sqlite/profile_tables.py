"""What the ledger keeps of profiles beside the present one: part of version 8 of the schema (decision 122)."""

from __future__ import annotations

from sqlite3 import Connection

from hindsight_integrations.backends.ledger.sqlite.rows import fields_text, profile_from
from hindsight_integrations.model.time import FIRST_INSTANT, to_micros

NEUTRAL = (
    '{"name": "", "background": "", "disposition": {"skepticism": 3, "literalism": 3, "empathy": 3}, '
    '"bias_strength": 0.5}'
)
"""The profile of a bank that was never given one, as it is stored."""

KEEP_AS_FIRST = f"""
INSERT INTO profile_changes (bank, number, profile, effective_at, recorded_at, reason)
SELECT id, 1, profile, {to_micros(FIRST_INSTANT)}, CAST(strftime('%s', 'now') AS INTEGER) * 1000000,
    'before changes were recorded'
FROM banks WHERE profile <> '{NEUTRAL}' AND id NOT IN (SELECT bank FROM profile_changes)
"""
"""Profiles of before changes were recorded: when they were given nobody knows, so they hold since ever."""


def with_numbers(connection: Connection) -> None:
    """Write anew the profiles of before booleans were refused: an archive of them could not be loaded."""
    for bank, text in connection.execute("SELECT id, profile FROM banks").fetchall():
        connection.execute(
            "UPDATE banks SET profile = ? WHERE id = ?", (fields_text(profile_from(text)), bank)
        )


PROFILES = (
    with_numbers,
    """
CREATE TABLE profile_changes (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    number INTEGER NOT NULL,
    profile TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (bank, number)
) WITHOUT ROWID
""",
    KEEP_AS_FIRST,
)
