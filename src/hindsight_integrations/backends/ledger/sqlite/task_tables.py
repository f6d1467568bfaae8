"""What the table of tasks gained in version 8 of the schema (decision 120)."""

from __future__ import annotations

# `due` and `early` are computed, so that no statement that changes a task can forget them: when it is to be leased next,
# and the same for who does not wait for more of the same (`debounce`); NULL once there is nothing to be done.
LEASES = (
    "DROP INDEX tasks_due",
    "ALTER TABLE tasks ADD COLUMN key TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE tasks ADD COLUMN lease INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN debounce INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE tasks ADD COLUMN again INTEGER",  # microseconds: enqueued once more during the present lease
    "UPDATE tasks SET lease = attempts",
    "UPDATE tasks SET not_before = 0 WHERE not_before IS NULL",
    (
        "ALTER TABLE tasks ADD COLUMN due INTEGER AS (CASE state WHEN 'pending' THEN not_before "
        "WHEN 'leased' THEN lease_until END) VIRTUAL"
    ),
    (
        "ALTER TABLE tasks ADD COLUMN early INTEGER AS (CASE state WHEN 'pending' THEN not_before - debounce "
        "WHEN 'leased' THEN lease_until END) VIRTUAL"
    ),
    "CREATE UNIQUE INDEX tasks_key ON tasks (bank, kind, key) WHERE key <> ''",
    "CREATE INDEX tasks_due ON tasks (kind, due) WHERE due IS NOT NULL",
    "CREATE INDEX tasks_early ON tasks (kind, early) WHERE early IS NOT NULL",
    "CREATE INDEX tasks_bank_due ON tasks (bank, kind, due)",  # those done too: all tasks of a bank are found by it
    "CREATE INDEX tasks_bank_early ON tasks (bank, kind, early) WHERE early IS NOT NULL",
    "CREATE INDEX tasks_leased ON tasks (bank) WHERE lease_until IS NOT NULL",
)
