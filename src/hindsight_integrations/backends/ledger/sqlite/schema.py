"""The ledger's tables. All instants are INTEGER microseconds since 1970 UTC; structured values are JSON text."""

from __future__ import annotations

APPLICATION_ID = 0x48494E44  # "HIND": no other SQLite file has it

# Row ids of units and entities are AUTOINCREMENT, so that an id once given to an index is never given again.
# Vectors have a table of their own: the column and text feeds then read 100k units without paging past the blobs.
BANKS = """
CREATE TABLE banks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL DEFAULT 0,
    dimension INTEGER,
    embedder TEXT,
    profile TEXT NOT NULL
)
"""

SOURCES = (
    """
CREATE TABLE documents (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    context TEXT NOT NULL,
    mentioned_at INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    PRIMARY KEY (bank, id)
) WITHOUT ROWID
""",
    """
CREATE TABLE chunks (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    document TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (bank, document, ordinal)
)
""",
    """
CREATE TABLE message_keys (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (bank, thread, message, content_hash)
) WITHOUT ROWID
""",
)

# From a message to the units that stand on it: an edited message closes the units of its earlier version.
UNIT_SOURCES = (
    """
CREATE TABLE unit_sources (
    bank INTEGER NOT NULL,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (bank, thread, message, unit)
) WITHOUT ROWID
""",
    "CREATE INDEX unit_sources_unit ON unit_sources (unit)",
)

# `created` is the revision a unit came with; `changed` also moves when its columns do (closed, restored, re-dated).
UNITS = (
    """
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
    record TEXT,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    UNIQUE (bank, unit_id)
)
""",
    "CREATE INDEX units_created ON units (bank, created)",
    "CREATE INDEX units_changed ON units (bank, changed)",
    "CREATE INDEX units_record ON units (bank, id) WHERE record IS NOT NULL",
    "CREATE INDEX units_document ON units (bank, document) WHERE document IS NOT NULL",
    """
CREATE TABLE vectors (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    vector BLOB NOT NULL
)
""",
    "CREATE INDEX vectors_feed ON vectors (bank, revision)",
    """
CREATE TABLE validity_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    kind TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    by_unit INTEGER REFERENCES units ON DELETE SET NULL,
    reason TEXT NOT NULL
)
""",
    # The same statement retained twice is one event.
    "CREATE UNIQUE INDEX validity_once ON validity_events (unit, kind, effective_at, coalesce(by_unit, 0), reason)",
    "CREATE INDEX validity_by_unit ON validity_events (by_unit) WHERE by_unit IS NOT NULL",
    (
        "CREATE INDEX validity_amended ON validity_events (unit, by_unit, effective_at) "
        "WHERE kind = 'amended' AND by_unit IS NOT NULL"
    ),
)

# `names` keeps an entity's normalised names in order; entity_names and entity_blocks make them searchable.
ENTITIES = (
    """
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
    UNIQUE (bank, entity_id)
)
""",
    "CREATE INDEX entities_roles ON entities (bank) WHERE role <> ''",
    """
CREATE TABLE entity_names (
    bank INTEGER NOT NULL,
    name TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (bank, name, entity)
) WITHOUT ROWID
""",
    "CREATE INDEX entity_names_entity ON entity_names (entity)",
    """
CREATE TABLE entity_blocks (
    bank INTEGER NOT NULL,
    block TEXT NOT NULL,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    PRIMARY KEY (bank, block, entity)
) WITHOUT ROWID
""",
    "CREATE INDEX entity_blocks_entity ON entity_blocks (entity)",
)

# `code` is a LINK_CODES value of ports/memory_graph.py: those numbers are on disk and are never renumbered.
GRAPH = (
    """
CREATE TABLE mentions (
    unit INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (unit, entity)
) WITHOUT ROWID
""",
    "CREATE INDEX mentions_entity ON mentions (entity, unit)",
    "CREATE INDEX mentions_feed ON mentions (bank, revision, unit, entity)",
    """
CREATE TABLE links (
    source INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    code INTEGER NOT NULL,
    weight REAL NOT NULL,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (source, target, code)
) WITHOUT ROWID
""",
    "CREATE INDEX links_target ON links (target)",
    "CREATE INDEX links_feed ON links (bank, revision, source, target, code, weight)",
)

WORK = (
    """
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    not_before INTEGER,
    last_error TEXT NOT NULL DEFAULT ''
)
""",
    "CREATE INDEX tasks_due ON tasks (bank, state, not_before)",
    """
CREATE TABLE evidence (
    opinion INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    evidence INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    assessment TEXT NOT NULL,
    effective_at INTEGER NOT NULL,
    PRIMARY KEY (opinion, evidence)
) WITHOUT ROWID
""",
    "CREATE INDEX evidence_unit ON evidence (evidence)",
    """
CREATE TABLE removed (
    unit INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL
)
""",
    "CREATE INDEX removed_feed ON removed (bank, revision)",
)

# Audit of edits and entity changes, and erasures whose files wait to be rewritten.
MAINTENANCE = (
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

SPEAKERS = ("ALTER TABLE units ADD COLUMN speaker TEXT NOT NULL DEFAULT ''",)
"""Version 2: the speaker of a unit that is one message word for word."""

# A trigger, because every way to raise a revision must draw a token: one forgotten would make an index look foreign.
HISTORY = (
    """
CREATE TABLE ledger (
    id TEXT NOT NULL,
    transactions INTEGER NOT NULL,
    token BLOB NOT NULL,
    bank INTEGER
)
""",
    "INSERT INTO ledger SELECT lower(hex(randomblob(16))), 0, randomblob(8), NULL",
    # Ledgers whose end, or whose later part, was lost, and the user said to go on without.
    """
CREATE TABLE losses (
    ledger TEXT PRIMARY KEY,
    accepted_at INTEGER NOT NULL,
    report TEXT NOT NULL
)
""",
    """
CREATE TABLE commits (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    token BLOB NOT NULL,
    PRIMARY KEY (bank, revision)
) WITHOUT ROWID
""",
    "INSERT INTO commits SELECT id, revision, randomblob(8) FROM banks WHERE revision > 0",
    """
CREATE TRIGGER banks_commit AFTER UPDATE OF revision ON banks WHEN new.revision <> old.revision BEGIN
    INSERT INTO commits VALUES (new.id, new.revision, randomblob(8));
    UPDATE ledger SET bank = new.id;
END
""",
)
"""Version 3: whose history this is. An id for the ledger and a random token for each commit of a bank."""

# Whatever closes or restores a unit changes its checksum by the difference; see checksums.py.
CHECKSUMS = (
    "ALTER TABLE units ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE vectors ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
    """
CREATE TRIGGER units_closed AFTER UPDATE OF closed_at ON units WHEN new.closed_at IS NOT old.closed_at BEGIN
    UPDATE units SET checksum = checksum - coalesce(old.closed_at, 2305843009213693952)
        + coalesce(new.closed_at, 2305843009213693952) WHERE id = new.id;
END
""",
)
"""Version 4: a checksum of each unit and each vector."""

HUBS = ("CREATE INDEX entities_mentions ON entities (bank, mentions)",)
"""Version 5: the entities of a bank that most units mention are found without counting."""

# Units that are to be indexed again because a turn they were made from was erased, and at which revision: version 12.
RETOLD = (
    """
CREATE TABLE retold (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL,
    revision INTEGER NOT NULL
)
""",
    "CREATE INDEX retold_feed ON retold (bank, revision)",
)

# How many characters of the text its short form keeps, and what that costs; NULL where there is none: version 13.
COMPACT = (
    "ALTER TABLE units ADD COLUMN compact INTEGER",
    "ALTER TABLE units ADD COLUMN compact_tokens INTEGER",
)

TURNS = (
    "ALTER TABLE units ADD COLUMN kind TEXT NOT NULL DEFAULT 'memory'",
    "CREATE INDEX units_waiting ON units (bank, id) WHERE kind = 'turn'",
    # The text of retained messages. Where a message is a unit word for word, `unit` names it and the rest is empty.
    """
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
) WITHOUT ROWID
""",
    "CREATE INDEX turns_unit ON turns (unit) WHERE unit IS NOT NULL",
    # Messages that were retained word for word by an earlier version; a wording that an edit closed is not the latest.
    """
INSERT INTO turns SELECT bank, thread, json_extract(sources, '$[0]'), max(id), '', '',
    CASE fact_type WHEN 'experience' THEN 'assistant' ELSE 'user' END, mentioned_at, '[]'
FROM units WHERE speaker <> '' AND json_array_length(sources) = 1 AND NOT EXISTS (
    SELECT 1 FROM validity_events WHERE unit = units.id AND kind = 'closed' AND reason = 'message edited'
    AND closed_at IS NOT NULL
) GROUP BY bank, thread, json_extract(sources, '$[0]')
""",
    # The last revision that erased anything: an index older than it has files to clean.
    "CREATE TABLE erasures (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE, revision INTEGER NOT NULL)",
    "INSERT INTO erasures SELECT bank, max(revision) FROM removed GROUP BY bank",
)
"""Version 6: source turns, turns that wait for extraction, and erasures apart from other removals."""

FIRST_SCHEMA = (BANKS, *SOURCES, *UNITS, *UNIT_SOURCES, *ENTITIES, *GRAPH, *WORK, *MAINTENANCE)
