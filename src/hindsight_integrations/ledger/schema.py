"""The ledger's tables, schema version 1, and how a database is recognised as a ledger.

All instants are INTEGER microseconds since 1970 UTC; structured values are JSON text.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from hindsight_integrations.errors import LedgerFailed, SchemaMismatch

APPLICATION_ID = 0x484D454D  # "HMEM", of ledgers from schema version 1 on
DEVELOPMENT_ID = (
    0x48494E44  # "HIND", of ledgers of development versions, whose schemas 1 to 14 had other tables
)
SCHEMA_VERSION = 1

_BANKS = """
CREATE TABLE banks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL DEFAULT 0,
    dimension INTEGER,
    embedder TEXT,
    profile TEXT NOT NULL
);
CREATE TABLE profile_changes (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    number INTEGER NOT NULL,
    profile TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (bank, number)
) WITHOUT ROWID;
"""
"""A bank's `revision` counts its commits. Row ids of units and entities are AUTOINCREMENT, so that an id once given to
an index is never given again."""

_HISTORY = """
CREATE TABLE ledger (
    id TEXT NOT NULL,
    transactions INTEGER NOT NULL,
    token BLOB NOT NULL,
    bank INTEGER
);
INSERT INTO ledger VALUES (lower(hex(randomblob(16))), 0, randomblob(8), NULL);
-- Ledgers whose end, or whose later part, was lost, and the user said to go on without.
CREATE TABLE losses (
    ledger TEXT PRIMARY KEY,
    accepted_at INTEGER NOT NULL,
    report TEXT NOT NULL
);
CREATE TABLE commits (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    token BLOB NOT NULL,
    PRIMARY KEY (bank, revision)
) WITHOUT ROWID;
CREATE TRIGGER banks_commit AFTER UPDATE OF revision ON banks WHEN new.revision <> old.revision BEGIN
    INSERT INTO commits VALUES (new.id, new.revision, randomblob(8));
    UPDATE ledger SET bank = new.id;
END;
"""
"""Whose history this is: an id for the ledger and a random token for each commit of a bank. A trigger draws the token,
because every way to raise a revision must: a commit without one would make an index look foreign."""

_SOURCES = """
CREATE TABLE documents (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    context TEXT NOT NULL,
    mentioned_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    PRIMARY KEY (bank, id)
) WITHOUT ROWID;
CREATE TABLE chunks (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    document TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (bank, document, ordinal)
);
CREATE TABLE message_keys (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (bank, thread, message, content_hash)
) WITHOUT ROWID;
-- Where a message is a unit word for word, `unit` names it and the rest is empty.
CREATE TABLE turns (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    unit INTEGER REFERENCES units ON DELETE CASCADE,
    text TEXT NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL,
    said_at INTEGER NOT NULL,
    tags TEXT NOT NULL,
    PRIMARY KEY (bank, thread, message)
) WITHOUT ROWID;
CREATE INDEX turns_unit ON turns (unit) WHERE unit IS NOT NULL;
-- `seen` and `digest`: the list of messages as it was last followed. `head`: the last message of its branch.
CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    seen INTEGER NOT NULL,
    digest TEXT NOT NULL,
    head TEXT,
    UNIQUE (bank, thread, namespace)
);
-- A tree: `parent` is the message before this one, when it was first seen. `gone`: a fork dropped it.
CREATE TABLE thread_messages (
    id INTEGER PRIMARY KEY,
    list INTEGER NOT NULL REFERENCES threads ON DELETE CASCADE,
    message TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    parent TEXT,
    gone INTEGER NOT NULL DEFAULT 0,
    UNIQUE (list, message)
);
"""
"""Documents with their chunks, known messages, the text of retained messages, and threads."""

_UNITS = """
CREATE TABLE units (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    unit_id TEXT NOT NULL,
    text TEXT NOT NULL,
    fact_type TEXT NOT NULL,
    mentioned_at INTEGER NOT NULL,
    occurred_start INTEGER,
    occurred_end INTEGER,
    closed_at INTEGER,
    context TEXT NOT NULL,
    confidence REAL,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    document TEXT,
    chunk INTEGER NOT NULL,
    thread TEXT NOT NULL,
    sources TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL,
    records INTEGER NOT NULL DEFAULT 0,
    compact INTEGER,
    compact_tokens INTEGER,
    head INTEGER REFERENCES units ON DELETE SET NULL,
    number INTEGER NOT NULL DEFAULT 0,
    lasting INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bank, unit_id)
);
CREATE INDEX units_created ON units (bank, created);
CREATE INDEX units_changed ON units (bank, changed);
CREATE INDEX units_document ON units (bank, document) WHERE document IS NOT NULL;
CREATE INDEX units_waiting ON units (bank, id) WHERE kind = 'turn';
CREATE INDEX units_items ON units (bank, created) WHERE kind = 'item';
CREATE INDEX units_document_items ON units (bank, created) WHERE kind = 'document_item';
CREATE INDEX units_head ON units (head) WHERE head IS NOT NULL;
CREATE TRIGGER units_closed AFTER UPDATE OF closed_at ON units WHEN new.closed_at IS NOT old.closed_at BEGIN
    UPDATE units SET checksum = checksum - coalesce(old.closed_at, 2305843009213693952)
        + coalesce(new.closed_at, 2305843009213693952) WHERE id = new.id;
END;
CREATE TABLE vectors (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX vectors_feed ON vectors (bank, revision);
-- From a message to the units that stand on it: an edited message closes the units of its previous wording.
CREATE TABLE unit_sources (
    bank INTEGER NOT NULL,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (bank, thread, message, unit)
) WITHOUT ROWID;
CREATE INDEX unit_sources_unit ON unit_sources (unit);
CREATE TABLE validity_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    kind TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    by_unit INTEGER REFERENCES units ON DELETE SET NULL,
    reason TEXT NOT NULL
);
-- The same statement retained twice is one event.
CREATE UNIQUE INDEX validity_once
    ON validity_events (unit, kind, effective_at, coalesce(by_unit, 0), reason);
CREATE INDEX validity_by_unit ON validity_events (by_unit) WHERE by_unit IS NOT NULL;
-- The text before an edit is not kept: an edit is often made to get rid of it.
CREATE TABLE unit_edits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    fields TEXT NOT NULL
);
CREATE INDEX unit_edits_feed ON unit_edits (bank, revision, unit);
CREATE INDEX unit_edits_unit ON unit_edits (unit);
"""
"""`created` is the revision a unit came with; `changed` also moves when its columns do (closed, restored, re-dated).
`compact`: how many characters of the text its short form keeps, and `compact_tokens` what that costs; NULL where there is
none. `head` and `number`: of an item of a document, the document and its number there. `lasting`: it says who
somebody is. Vectors have a table of their own: the column and text feeds then read 100k units without paging past the blobs.
Whatever closes or restores a unit changes its checksum by the difference; see checksums.py."""

_RECORDS = """
CREATE TABLE record_categories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL
);
CREATE INDEX record_categories_bank ON record_categories (bank, kind);
CREATE TABLE record_category_names (
    bank INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES record_categories ON DELETE CASCADE,
    PRIMARY KEY (bank, kind, name)
) WITHOUT ROWID;
CREATE INDEX record_category_names_category ON record_category_names (category);
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
    checksum INTEGER NOT NULL,
    PRIMARY KEY (unit, ordinal)
) WITHOUT ROWID;
-- `kind` and `category` are in the index, so that a record whose row is damaged is still found and reported by a sum.
CREATE INDEX records_kind ON records (bank, kind, category, unit);
CREATE INDEX records_category ON records (category, unit) WHERE category IS NOT NULL;
"""
"""A unit's records, of categories that have several spellings. `record_category_names.name`
is as `spelling_key` compares it; a spelling belongs to one category."""

_ENTITIES = """
CREATE TABLE entities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    entity_id TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    role TEXT NOT NULL,
    names TEXT NOT NULL,
    mentions INTEGER NOT NULL DEFAULT 0,
    last_seen INTEGER,
    facts_changed INTEGER NOT NULL DEFAULT 0,
    observed_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (bank, entity_id)
);
CREATE INDEX entities_roles ON entities (bank) WHERE role <> '';
CREATE INDEX entities_mentions ON entities (bank, mentions);
CREATE INDEX entities_unobserved ON entities (bank, facts_changed) WHERE facts_changed > observed_at;
CREATE TABLE entity_names (
    bank INTEGER NOT NULL,
    name TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (bank, name, entity)
) WITHOUT ROWID;
CREATE INDEX entity_names_entity ON entity_names (entity);
CREATE TABLE entity_blocks (
    bank INTEGER NOT NULL,
    block TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (bank, block, entity)
) WITHOUT ROWID;
CREATE INDEX entity_blocks_entity ON entity_blocks (entity);
-- `detail` is JSON: entity ids, names and mentions moved, all that undoing needs.
CREATE TABLE entity_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX entity_changes_bank ON entity_changes (bank);
"""
"""`names` keeps an entity's normalised names in order; entity_names and entity_blocks make them searchable.
`facts_changed` and `observed_at` are revisions: the last that changed the entity's valid facts, and the one whose facts were
summed up."""

_GRAPH = """
CREATE TABLE mentions (
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (unit, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity, unit);
CREATE INDEX mentions_feed ON mentions (bank, revision, unit, entity);
CREATE TABLE links (
    source INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    code INTEGER NOT NULL,
    weight REAL NOT NULL,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (source, target, code)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
CREATE INDEX links_feed ON links (bank, revision, source, target, code, weight);
-- The last revision that changed links or mentions in place: a graph that has not reached it is rebuilt.
CREATE TABLE graph_epochs (
    bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL
);
"""
"""`code` is a LINK_CODES value of ports/memory_graph.py: those numbers are on disk and are never renumbered."""

_OBSERVATIONS = """
CREATE TABLE observations (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE
);
CREATE INDEX observations_entity ON observations (entity, unit);
CREATE TABLE observation_facts (
    observation INTEGER NOT NULL REFERENCES observations ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (observation, fact)
) WITHOUT ROWID;
CREATE INDEX observation_facts_fact ON observation_facts (fact);
-- `facts` is JSON: row ids, which are never given again. A row each would make two thousand of a hub's facts.
CREATE TABLE observed_left_out (
    entity INTEGER PRIMARY KEY REFERENCES entities ON DELETE CASCADE,
    facts TEXT NOT NULL
);
-- Banks with changes that were made while observations were switched off, so that nothing was enqueued.
CREATE TABLE unobserved (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE);
"""
"""The observations that were made; a unit of that network which is not here was retained by the caller."""

_OPINIONS = """
CREATE TABLE opinions (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    confidence REAL NOT NULL,
    formed_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    origin TEXT NOT NULL,
    operation TEXT NOT NULL,
    profile INTEGER NOT NULL,
    reasoning TEXT NOT NULL,
    assessed_to INTEGER NOT NULL
);
CREATE INDEX opinions_bank ON opinions (bank, formed_at, unit);
CREATE INDEX opinions_operation ON opinions (bank, operation) WHERE operation <> '';
CREATE INDEX opinions_revision ON opinions (bank, revision);
CREATE TABLE opinion_wordings (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    opinion INTEGER NOT NULL REFERENCES opinions ON DELETE CASCADE,
    number INTEGER NOT NULL,
    reason TEXT NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (opinion, number)
);
CREATE TABLE opinion_grounds (
    wording INTEGER NOT NULL REFERENCES opinion_wordings ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (wording, fact)
) WITHOUT ROWID;
CREATE INDEX opinion_grounds_fact ON opinion_grounds (fact);
-- `sources` is JSON, and so is `restates`: row ids, which are never given again. `version` is the wording judged.
CREATE TABLE evidence (
    opinion INTEGER NOT NULL REFERENCES opinions ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    sources TEXT NOT NULL,
    restates TEXT NOT NULL,
    assessment TEXT NOT NULL,
    strength TEXT NOT NULL,
    rule TEXT NOT NULL,
    step REAL NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL REFERENCES opinion_wordings ON DELETE CASCADE,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (opinion, fact)
) WITHOUT ROWID;
CREATE INDEX evidence_fact ON evidence (fact);
CREATE INDEX evidence_version ON evidence (version);
-- Reflections whose outcome is here, those that formed nothing included.
CREATE TABLE opinion_operations (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    key TEXT NOT NULL,
    PRIMARY KEY (bank, key)
) WITHOUT ROWID;
"""
"""An opinion is named by its first wording and goes with it: later wordings follow from it."""

_MENTAL_MODELS = """
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
);
-- The memories that the text was written from: those it stands on are `cited`, the others were only shown to its writer.
CREATE TABLE mental_model_grounds (
    model INTEGER NOT NULL REFERENCES mental_models ON DELETE CASCADE,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    cited INTEGER NOT NULL,
    PRIMARY KEY (model, unit)
) WITHOUT ROWID;
CREATE INDEX mental_model_grounds_unit ON mental_model_grounds (unit);
CREATE TABLE directives (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    directive_id TEXT NOT NULL,
    text TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (bank, directive_id),
    UNIQUE (bank, text, tags)
);
"""
"""`revision`: of the bank whose memories answered; `checked_to`: up to which changes were looked at since, never below
it. `forgotten`: the text is gone, because a memory that its writer was shown was erased, or was withdrawn before an
archive."""

_ITEMS = """
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
);
CREATE INDEX items_expiring ON items (expires_at, bank) WHERE expires_at IS NOT NULL;
CREATE INDEX items_newest ON items (bank, updated_at DESC, namespace, key);
CREATE TABLE item_units (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES items ON DELETE CASCADE
);
CREATE INDEX item_units_item ON item_units (item);
-- How many values and texts were deleted or replaced whose words may still be in the files.
CREATE TABLE item_residue (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE, texts INTEGER NOT NULL);
"""
"""`namespace`: each label escaped and ended by a dot, so that a prefix is a range. `ttl`: microseconds, of an item that is
refreshed."""

_TASKS = """
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    not_before INTEGER NOT NULL,
    last_error TEXT NOT NULL DEFAULT '',
    key TEXT NOT NULL DEFAULT '',
    lease INTEGER NOT NULL DEFAULT 0,
    uncounted INTEGER NOT NULL DEFAULT 0,
    debounce INTEGER NOT NULL DEFAULT 0,
    again INTEGER,
    due INTEGER AS (CASE state WHEN 'pending' THEN not_before WHEN 'leased' THEN lease_until END) VIRTUAL,
    early INTEGER AS (CASE state WHEN 'pending' THEN not_before - debounce WHEN 'leased' THEN lease_until END) VIRTUAL
);
CREATE UNIQUE INDEX tasks_key ON tasks (bank, kind, key) WHERE key <> '';
CREATE INDEX tasks_due ON tasks (kind, due) WHERE due IS NOT NULL;
CREATE INDEX tasks_early ON tasks (kind, early) WHERE early IS NOT NULL;
CREATE INDEX tasks_bank_due ON tasks (bank, kind, due);  -- completed ones too: all tasks of a bank are found by it
CREATE INDEX tasks_bank_early ON tasks (bank, kind, early) WHERE early IS NOT NULL;
CREATE INDEX tasks_leased ON tasks (bank) WHERE lease_until IS NOT NULL;
"""
"""`due` and `early` are computed, so that no statement that changes a task can forget them: when it is next to be leased,
and the same for a worker that does not wait for more of the same (`debounce`); NULL once there is nothing to do. `again`:
microseconds, of a task that was enqueued once more during the present lease."""

_ERASURE = """
CREATE TABLE removed (
    unit INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL
);
CREATE INDEX removed_feed ON removed (bank, revision);
-- Units to be indexed again because a turn they were made from was erased, and at which revision.
CREATE TABLE retold (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL
);
CREATE INDEX retold_feed ON retold (bank, revision);
-- The last revision that erased anything: an index that has not reached it has files to clean.
CREATE TABLE erasures (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE, revision INTEGER NOT NULL);
-- Banks with an erasure not yet scrubbed from the files. No foreign key: a dropped bank waits here too.
CREATE TABLE unscrubbed (bank INTEGER PRIMARY KEY);
"""
"""What indexes and files still have to forget."""

_TABLES = "".join(
    (
        _BANKS,
        _HISTORY,
        _SOURCES,
        _UNITS,
        _RECORDS,
        _ENTITIES,
        _GRAPH,
        _OBSERVATIONS,
        _OPINIONS,
        _MENTAL_MODELS,
        _ITEMS,
        _TASKS,
        _ERASURE,
    )
)

SCRIPT = f"""
BEGIN IMMEDIATE;
{_TABLES}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
"""Creates the schema in an empty database, in one transaction."""


def is_created(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether a database holds this schema; False for an empty one.

    Args:
        connection: may be read-only.
        path: the data directory, for messages.

    Raises:
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: it belongs to another application.
    """
    application, version, objects = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if not objects:
        return False
    if application == DEVELOPMENT_ID:
        raise SchemaMismatch(path, version, SCHEMA_VERSION, development=True)
    if application != APPLICATION_ID:
        raise LedgerFailed(path, "it is a database of another application")
    if version != SCHEMA_VERSION:
        raise SchemaMismatch(path, version, SCHEMA_VERSION)
    return True


def create(connection: sqlite3.Connection) -> None:
    """Create the schema in an empty database, in one transaction."""
    try:
        connection.executescript(SCRIPT)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def create_in_memory(connection: sqlite3.Connection) -> None:
    """Create the schema in an empty database in memory: copied from an image, in a fifth of the time."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as source:
        source.deserialize(_image())
        source.execute("UPDATE ledger SET id = lower(hex(randomblob(16))), token = randomblob(8)")
        source.backup(connection)


@cache
def _image() -> bytes:
    """The file of a ledger as `create` leaves it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create(connection)
        return connection.serialize()
