"""Tables of the verbs for care: audit of edits and entity changes, and erasures whose files wait to be rewritten."""

from __future__ import annotations

CARE = (
    # Banks with an erasure not yet scrubbed from the files. No foreign key: a dropped bank waits here too.
    "CREATE TABLE unscrubbed (bank INTEGER PRIMARY KEY)",
    # The old text is not kept: an edit is often made to get rid of it.
    """
CREATE TABLE unit_edits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    fields TEXT NOT NULL
)
""",
    "CREATE INDEX unit_edits_feed ON unit_edits (bank, revision, unit)",
    "CREATE INDEX unit_edits_unit ON unit_edits (unit)",
    # `detail` is JSON: entity ids, names and mentions moved, all that undoing needs.
    """
CREATE TABLE entity_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
)
""",
    "CREATE INDEX entity_changes_bank ON entity_changes (bank)",
    # The last revision that changed links or mentions in place: a graph older than it is built anew.
    """
CREATE TABLE graph_epochs (
    bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL
)
""",
)
