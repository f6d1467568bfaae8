"""The tables of records and their categories: version 7 of the schema (decision 112)."""

from __future__ import annotations

RECORDS = (
    """
CREATE TABLE record_categories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL
)
""",
    # `name` as spelling_key compares it; a spelling is one category's alone.
    """
CREATE TABLE record_category_names (
    bank INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES record_categories ON DELETE CASCADE,
    PRIMARY KEY (bank, kind, name)
) WITHOUT ROWID
""",
    "CREATE INDEX record_categories_bank ON record_categories (bank, kind)",
    "CREATE INDEX record_category_names_category ON record_category_names (category)",
    """
CREATE TABLE records (
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    bank INTEGER NOT NULL,
    kind TEXT NOT NULL,
    category INTEGER REFERENCES record_categories,
    value TEXT NOT NULL,
    is_number INTEGER NOT NULL,
    measure TEXT NOT NULL,
    stated TEXT NOT NULL,
    closed_at INTEGER,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (unit, ordinal)
) WITHOUT ROWID
""",
    # With `kind` and `category` again, so that a record whose row is damaged is still found, and whoever sums hears of it.
    "CREATE INDEX records_kind ON records (bank, kind, category, unit)",
    "CREATE INDEX records_category ON records (category, unit) WHERE category IS NOT NULL",
    "ALTER TABLE validity_events ADD COLUMN record INTEGER",
    "DROP INDEX validity_once",
    (
        "CREATE UNIQUE INDEX validity_once ON validity_events "
        "(unit, kind, effective_at, coalesce(by_unit, 0), reason, coalesce(record, -1))"
    ),
    "ALTER TABLE units ADD COLUMN records INTEGER NOT NULL DEFAULT 0",
)
ONE_RECORD_ENDS = ("DROP INDEX units_record", "ALTER TABLE units DROP COLUMN record")
"""Version 7: any number of records a unit, each with its own validity, of categories that have several spellings."""
