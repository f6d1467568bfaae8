"""A bank whose opinions have not seen all its facts gets a task that assesses these, in the transaction that brings them."""

from __future__ import annotations

from sqlalchemy import Connection

from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import IS_FACT
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.model.tasks import REINFORCED, TaskKind, TaskWrite
from hindsight_integrations.model.units import OBSERVED_NETWORKS, ValidityKind
from hindsight_integrations.model.writes import WriteSet

NO_PAYLOAD = "{}"  # what is to be assessed, the opinions themselves say

_UNSEEN = f"""
SELECT EXISTS (SELECT 1 FROM units WHERE bank = :bank AND closed_at IS NULL AND {IS_FACT} AND changed > (
    SELECT min(assessed_to) FROM opinions WHERE bank = :bank AND EXISTS (
        SELECT 1 FROM opinion_wordings JOIN units AS wording ON wording.id = opinion_wordings.unit
        WHERE opinion = opinions.unit AND wording.closed_at IS NULL
    )
))
"""


def brings_evidence(writes: WriteSet) -> bool:
    """Whether a write set brings or restores facts, or opinions that may not have seen all of them."""
    formed = writes.opinions is not None and bool(writes.opinions.formed)
    restored = any(event.kind is ValidityKind.RESTORED for event in writes.events)
    return formed or restored or any(each.unit.fact_type in OBSERVED_NETWORKS for each in writes.units)


def enqueue_reinforcement(database: SqliteDatabase, connection: Connection, bank: int) -> None:
    """Enqueue the assessment of a bank's new facts, if an opinion is held that has not seen one of them.

    Args:
        database: the ledger's, with its clock and how long facts are collected.
        connection: the writer, inside the transaction that brings the facts.
        bank: row id of the bank.
    """
    (unseen,) = raw(connection).execute(_UNSEEN, {"bank": bank}).fetchone()
    if unseen:
        write = TaskWrite(TaskKind.REINFORCE, NO_PAYLOAD, database.reinforcing, key=REINFORCED)
        enqueue_keys(connection, bank, [write], database.clock.now())
