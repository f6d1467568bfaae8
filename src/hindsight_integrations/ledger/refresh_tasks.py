"""Mental models that are refreshed by themselves get a task when facts of their bank change, in the same transaction.

Whether anything in a model's scope changed is for the task to find out: a commit pays for one select where there are none.
"""

from __future__ import annotations

from sqlalchemy import Connection

from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.model.mental_models import RefreshTrigger
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.model.units import OBSERVED_NETWORKS
from hindsight_integrations.model.writes import WriteSet

NO_PAYLOAD = "{}"  # all there is to know of it is the model, its key

_AUTO = (
    f"SELECT model_id FROM mental_models WHERE bank = :bank AND refreshes = '{RefreshTrigger.AUTO.value}' "
    "AND model_id = coalesce(:only, model_id) ORDER BY id"
)


def changes_facts(writes: WriteSet) -> bool:
    """Whether a write set brings, closes or restores what mental models are answered from."""
    return bool(writes.events) or any(write.unit.fact_type in OBSERVED_NETWORKS for write in writes.units)


def enqueue_refreshes(
    database: SqliteDatabase, connection: Connection, bank: int, only: str | None = None
) -> None:
    """Enqueue the models of a bank that are refreshed by themselves.

    Args:
        database: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that changes facts.
        bank: row id of the bank.
        only: this model alone.
    """
    keys = raw(connection).execute(_AUTO, {"bank": bank, "only": only}).fetchall()
    if keys:
        delay = database.refreshing
        writes = [TaskWrite(TaskKind.REFRESH_MODEL, NO_PAYLOAD, delay, key=key) for (key,) in keys]
        enqueue_keys(connection, bank, writes, database.clock.now())
