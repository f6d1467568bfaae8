"""Entities whose facts changed get a task that makes their observations anew, in the transaction that changed them."""

from __future__ import annotations

from sqlite3 import Connection

from hindsight_integrations.ledger.connections import Connections
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


def observe_changed(connections: Connections, connection: Connection, bank: int, revision: int) -> None:
    """Enqueue the entities whose facts this revision changes; a ledger that enqueues none notes that they wait.

    Args:
        connections: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that makes the revision.
        bank: row id of the bank.
        revision: the one being made.
    """
    keys = [entity for (entity,) in connection.execute(_CHANGED, (bank, revision))]
    _enqueue(connections, connection, bank, keys)


def observe_bank(connections: Connections, connection: Connection, bank: int) -> None:
    """Enqueue the entities of a bank that wait and have no task, as after an archive came in."""
    keys = [entity for (entity,) in connection.execute(_WITHOUT_TASK, (bank,))]
    _enqueue(connections, connection, bank, keys)


def observe_unobserved(connections: Connections) -> None:
    """The same of all banks with changes that enqueued nobody; for who opens the ledger."""
    if connections.observing is None:
        return
    with connections.reading() as connection:
        banks = connection.execute("SELECT bank FROM unobserved").fetchall()
    if not banks:
        return
    with connections.writing() as connection:
        for (bank,) in banks:
            observe_bank(connections, connection, bank)
        connection.execute("DELETE FROM unobserved")


def _enqueue(connections: Connections, connection: Connection, bank: int, keys: list[str]) -> None:
    if not keys:
        return
    if connections.observing is None:
        connection.execute("INSERT INTO unobserved VALUES (?) ON CONFLICT DO NOTHING", (bank,))
        return
    now, delay = connections.clock.now(), connections.observing
    writes = [TaskWrite(TaskKind.OBSERVE, NO_PAYLOAD, delay, key=key) for key in keys]
    enqueue_keys(connection, bank, writes, now)
