"""Entities whose facts changed get a task that makes their observations anew, in the transaction that changed them."""

from __future__ import annotations

from sqlalchemy import Connection

from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite

NO_PAYLOAD = "{}"  # all there is to know of it is the entity, its key

# By the index of those that wait alone: a hub that is touched by every turn is one row.
_CHANGED = (
    "SELECT entity_id FROM entities WHERE bank = ? AND facts_changed = ? AND facts_changed > observed_at"
)
_WITHOUT_TASK = f"""
SELECT entity_id FROM entities WHERE bank = ? AND facts_changed > observed_at AND NOT EXISTS (
    SELECT 1 FROM tasks WHERE tasks.bank = entities.bank AND kind = '{TaskKind.OBSERVE.value}' AND key <> ''
    AND key = entity_id AND state <> '{TaskState.DONE.value}'
)
"""


def observe_changed(database: SqliteDatabase, connection: Connection, bank: int, revision: int) -> None:
    """Enqueue the entities whose facts this revision changes; a ledger that enqueues none notes that they wait.

    Args:
        database: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that makes the revision.
        bank: row id of the bank.
        revision: the one being made.
    """
    keys = [entity for (entity,) in raw(connection).execute(_CHANGED, (bank, revision))]
    _enqueue(database, connection, bank, keys)


def observe_bank(database: SqliteDatabase, connection: Connection, bank: int) -> None:
    """Enqueue the entities of a bank that wait and have no task, as after an archive came in."""
    keys = [entity for (entity,) in raw(connection).execute(_WITHOUT_TASK, (bank,))]
    _enqueue(database, connection, bank, keys)


def observe_unobserved(database: SqliteDatabase) -> None:
    """The same of all banks with changes that enqueued nobody; for who opens the ledger."""
    if database.observing is None:
        return
    with database.reading() as connection:
        banks = raw(connection).execute("SELECT bank FROM unobserved").fetchall()
    if not banks:
        return
    with database.writing() as connection:
        for (bank,) in banks:
            observe_bank(database, connection, bank)
        raw(connection).execute("DELETE FROM unobserved")


def _enqueue(database: SqliteDatabase, connection: Connection, bank: int, keys: list[str]) -> None:
    if not keys:
        return
    if database.observing is None:
        raw(connection).execute("INSERT INTO unobserved VALUES (?) ON CONFLICT DO NOTHING", (bank,))
        return
    now, delay = database.clock.now(), database.observing
    writes = [TaskWrite(TaskKind.OBSERVE, NO_PAYLOAD, delay, key=key) for key in keys]
    enqueue_keys(connection, bank, writes, now)
