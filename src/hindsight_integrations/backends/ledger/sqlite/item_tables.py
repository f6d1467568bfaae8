"""What the ledger keeps of items: version 11 of the schema (decision 151)."""

from __future__ import annotations

ITEMS = (
    # `namespace`: each label escaped and ended by a dot, so that a prefix is a range. `ttl`: microseconds, of one that is refreshed.
    """
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ttl INTEGER,
    expires_at INTEGER,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bank, namespace, key)
)
""",
    "CREATE INDEX items_expiring ON items (expires_at, bank) WHERE expires_at IS NOT NULL",
    "CREATE INDEX items_newest ON items (bank, updated_at DESC, namespace, key)",
    """
CREATE TABLE item_units (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE
)
""",
    "CREATE INDEX item_units_item ON item_units (item)",
    "CREATE INDEX units_items ON units (bank, created) WHERE kind = 'item'",
    # How many values and texts were deleted or replaced whose words may still be in the files.
    "CREATE TABLE item_residue (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE, texts INTEGER NOT NULL)",
)
