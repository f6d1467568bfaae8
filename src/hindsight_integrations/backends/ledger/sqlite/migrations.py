"""The schema's version, kept in `PRAGMA user_version`, and the steps from each version to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from hindsight_integrations.backends.ledger.sqlite.item_tables import ITEMS
from hindsight_integrations.backends.ledger.sqlite.mental_model_tables import MENTAL_MODELS
from hindsight_integrations.backends.ledger.sqlite.observation_tables import OBSERVATIONS
from hindsight_integrations.backends.ledger.sqlite.one_record import seal_everything, take_records
from hindsight_integrations.backends.ledger.sqlite.opinion_tables import OPINIONS
from hindsight_integrations.backends.ledger.sqlite.profile_tables import PROFILES
from hindsight_integrations.backends.ledger.sqlite.record_tables import ONE_RECORD_ENDS, RECORDS
from hindsight_integrations.backends.ledger.sqlite.schema import (
    APPLICATION_ID,
    CHECKSUMS,
    COMPACT,
    FIRST_SCHEMA,
    HISTORY,
    HUBS,
    RETOLD,
    SPEAKERS,
    TURNS,
)
from hindsight_integrations.backends.ledger.sqlite.task_tables import LEASES
from hindsight_integrations.backends.ledger.sqlite.thread_tables import THREADS
from hindsight_integrations.errors import LedgerFailed, LedgerReadOnly, SchemaMismatch

Step: TypeAlias = str | Callable[[sqlite3.Connection], None]
"""A statement, or what takes more than one."""

MIGRATIONS: tuple[tuple[Step, ...], ...] = (
    FIRST_SCHEMA,
    SPEAKERS,
    HISTORY,
    (*CHECKSUMS, seal_everything),
    HUBS,
    TURNS,
    (*RECORDS, take_records, *ONE_RECORD_ENDS),
    (*LEASES, *OBSERVATIONS, *PROFILES),
    (*OPINIONS, *MENTAL_MODELS),
    THREADS,
    ITEMS,
    RETOLD,
    COMPACT,
)
"""Steps that take a file from version i to version i + 1."""

SCHEMA_VERSION = len(MIGRATIONS)

WITH_HISTORY = MIGRATIONS.index(HISTORY) + 1
"""The first version whose ledgers have an id and tokens."""


def prepare(connection: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    """Bring the schema to this package's version, in one transaction.

    Raises:
        SchemaMismatch: a newer version wrote it.
        LedgerReadOnly: it is older and may not be written.
        LedgerFailed: it is some other SQLite file.
    """
    found = _version(connection, path)
    if found > SCHEMA_VERSION:
        raise SchemaMismatch(path, found, SCHEMA_VERSION)
    if found == SCHEMA_VERSION:
        return
    if read_only:
        raise LedgerReadOnly(path, f"its schema {found} must first be brought to {SCHEMA_VERSION}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in chain.from_iterable(MIGRATIONS[found:]):
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if objects and application != APPLICATION_ID:
        raise LedgerFailed(path, "it is a database of another application")
    return int(version)
