"""What the ledger keeps of mental models and directives: part of version 9 of the schema (decision 134)."""

from __future__ import annotations

MENTAL_MODELS = (
    # `revision`: of the bank, whose memories answered; `checked_to`: up to which changes were looked at since, not below it.
    # `forgotten`: the text went, because a memory that its writer was shown was erased, or was withdrawn before an archive.
    """
CREATE TABLE mental_models (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    name TEXT NOT NULL,
    question TEXT NOT NULL,
    tags TEXT NOT NULL,
    refreshes TEXT NOT NULL,
    max_tokens INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    text TEXT NOT NULL DEFAULT '',
    extractive INTEGER NOT NULL DEFAULT 0,
    refreshed_at INTEGER,
    revision INTEGER NOT NULL DEFAULT 0,
    checked_to INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bank, name),
    UNIQUE (bank, model_id)
)
""",
    # The memories that the text was written from: those it stands on are `cited`, whoever wrote it was shown the others.
    """
CREATE TABLE mental_model_grounds (
    model INTEGER NOT NULL REFERENCES mental_models ON DELETE CASCADE,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    cited INTEGER NOT NULL,
    PRIMARY KEY (model, unit)
) WITHOUT ROWID
""",
    "CREATE INDEX mental_model_grounds_unit ON mental_model_grounds (unit)",
    """
CREATE TABLE directives (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    directive_id TEXT NOT NULL,
    text TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (bank, directive_id),
    UNIQUE (bank, text, tags)
)
""",
)

WITHDRAWN = """(forgotten OR EXISTS (
    SELECT 1 FROM mental_model_grounds AS ground JOIN units ON units.id = ground.unit
    WHERE ground.model = mental_models.id AND cited AND (
        closed_at IS NOT NULL OR changed > mental_models.revision
        OR EXISTS (SELECT 1 FROM validity_events AS event WHERE event.unit = ground.unit
            AND event.revision > mental_models.revision)
    )
))"""
"""Of a mental model: what it stands on no longer says what it said."""
