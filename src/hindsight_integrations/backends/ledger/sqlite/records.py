"""Reads of records: which units carry one."""

from __future__ import annotations

from sqlite3 import Connection

import numpy as np

from hindsight_integrations.backends.ledger.rules import record_key
from hindsight_integrations.ports.arrays import IntArray


def rows(connection: Connection, bank: int, kind: str | None, category: str | None) -> IntArray:
    """Row ids of units with such a record, ascending."""
    found = connection.execute(
        "SELECT id, json_extract(record, '$[0]'), json_extract(record, '$[3]') FROM units "
        "WHERE bank = ? AND record IS NOT NULL ORDER BY id",
        (bank,),
    )
    wanted = [
        row
        for row, own_kind, own_category in found
        if (kind is None or record_key(own_kind) == record_key(kind))
        and (category is None or record_key(own_category) == record_key(category))
    ]
    return np.array(wanted, np.int64)
