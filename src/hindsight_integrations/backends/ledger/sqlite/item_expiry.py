"""When the items of a bank are next to be erased because their time has run out: a task without a key."""

from __future__ import annotations

from datetime import datetime, timedelta
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.sqlite import tasks
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import MICROSECOND, to_micros

SOONEST = timedelta(seconds=1)  # items that expire together go together; what has expired is hidden anyway


def enqueue_expiry(connection: Connection, bank: int, clock: datetime, now: datetime) -> None:
    """Enqueue a task for the first item to expire, unless one waits that is due by then. In the writer's transaction.

    It has no key: what has a key is done early by `settle`, and this waits for its time.

    Args:
        connection: the writer.
        bank: row id.
        clock: the time by which tasks are due.
        now: the time by which items expire.
    """
    kind, named = TaskKind.EXPIRE_ITEMS.value, "FROM tasks WHERE bank = ? AND kind = ? AND state = ?"
    (first,) = connection.execute("SELECT min(expires_at) FROM items WHERE bank = ?", (bank,)).fetchone()
    if first is None:
        return
    delay = max((first - to_micros(now)) * MICROSECOND, SOONEST)
    query = f"SELECT min(not_before) {named}"
    (due,) = connection.execute(query, (bank, kind, TaskState.PENDING.value)).fetchone()
    if due is not None and due <= to_micros(clock + delay):
        return
    connection.execute(f"DELETE {named}", (bank, kind, TaskState.DONE.value))
    tasks.enqueue(connection, bank, [TaskWrite(TaskKind.EXPIRE_ITEMS, "{}", delay)], clock)
