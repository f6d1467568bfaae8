"""What the ledger keeps of threads: version 10 of the schema (decision 137)."""

from __future__ import annotations

THREADS = (
    # `seen` and `digest`: the list of messages as it was last followed. `head`: the last message of its branch.
    """
CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    seen INTEGER NOT NULL,
    digest TEXT NOT NULL,
    head TEXT,
    UNIQUE (bank, thread, namespace)
)
""",
    # A tree: `parent` is the message before this one, when it was first seen. `gone`: a fork dropped it.
    """
CREATE TABLE thread_messages (
    id INTEGER PRIMARY KEY,
    list INTEGER NOT NULL REFERENCES threads ON DELETE CASCADE,
    message TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    parent TEXT,
    gone INTEGER NOT NULL DEFAULT 0,
    UNIQUE (list, message)
)
""",
)
