"""Entities whose facts changed get a task that makes their observations anew, in the transaction that changed them."""

from __future__ import annotations

from collections import defaultdict
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.tasks import enqueue_keys
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite

NO_PAYLOAD = "{}"  # all there is to know of it is the entity, its key

# By the index of those that wait alone: a hub that is touched by every turn is one row.
_CHANGED = (
    "SELECT entity_id FROM entities WHERE bank = ? AND facts_changed = ? AND facts_changed > observed_at"
)
_WITHOUT_TASK = f"""
SELECT bank, entity_id FROM entities WHERE facts_changed > observed_at AND NOT EXISTS (
    SELECT 1 FROM tasks WHERE tasks.bank = entities.bank AND kind = '{TaskKind.OBSERVE.value}' AND key <> ''
    AND key = entity_id AND state <> '{TaskState.DONE.value}'
)
"""


def observe_changed(connections: Connections, connection: Connection, bank: int, revision: int) -> None:
    """Enqueue the entities whose facts this revision changes, unless the ledger enqueues none.

    Args:
        connections: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that makes the revision.
        bank: row id of the bank.
        revision: the one being made.
    """
    if connections.observing is not None:
        keys = [entity for (entity,) in connection.execute(_CHANGED, (bank, revision))]
        _enqueue(connections, connection, bank, keys)


def observe_waiting(connections: Connections) -> None:
    """Enqueue the entities that wait and have no task: of ledgers of before there were observations, or left without."""
    if connections.observing is None:
        return
    with connections.reading() as connection:
        waiting = connection.execute(f"{_WITHOUT_TASK} LIMIT 1").fetchone()
    if waiting:
        with connections.writing() as connection:
            observe_all_waiting(connections, connection)


def observe_all_waiting(connections: Connections, connection: Connection) -> None:
    """The same inside a transaction, as after an archive came in."""
    waiting: dict[int, list[str]] = defaultdict(list)
    for bank, entity in connection.execute(_WITHOUT_TASK):
        waiting[bank].append(entity)
    for bank, keys in waiting.items():
        _enqueue(connections, connection, bank, keys)


def _enqueue(connections: Connections, connection: Connection, bank: int, keys: list[str]) -> None:
    if connections.observing is not None:
        now, delay = connections.clock.now(), connections.observing
        enqueue_keys(
            connection, bank, [TaskWrite(TaskKind.OBSERVE, NO_PAYLOAD, delay, key=key) for key in keys], now
        )
