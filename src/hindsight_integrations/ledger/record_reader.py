"""Reads of records and their categories: the part of `LedgerReader` about what is added up (decision 112)."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.ledger.reader import BankReads
from hindsight_integrations.ledger.record_categories import listed_categories
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.records import RecordCategory, RecordKind, spelling_key
from hindsight_integrations.ports.arrays import IntArray


class RecordReader(BankReads):
    """The part of `LedgerReader` about records."""

    def record_rows(
        self, bank: str, *, kind: RecordKind | None = None, category: str | None = None
    ) -> IntArray:
        """Row ids of every unit with a record of this kind and category, ascending."""
        with self._at(bank) as (connection, row):
            values = {
                "bank": row,
                "kind": kind.value if kind else None,
                "name": None if category is None else spelling_key(category),
            }
            of_kind = " AND kind = :kind" if kind else ""
            named = f"SELECT category FROM record_category_names WHERE bank = :bank{of_kind} AND name = :name"
            if values["name"] == "":
                of_category = " AND category IS NULL"
            else:
                of_category = f" AND category IN ({named})" if category is not None else ""
            found = raw(connection).execute(
                f"SELECT DISTINCT unit FROM records WHERE bank = :bank{of_kind}{of_category} ORDER BY unit",
                values,
            )
            return np.fromiter((each[0] for each in found), np.int64)

    def categories(self, bank: str, kind: RecordKind | None = None) -> list[RecordCategory]:
        """Categories of records: by kind, the most used first, then by name."""
        with self._at(bank) as (connection, row):
            return list(listed_categories(connection, row, kind).values())

    def category_units(
        self, bank: str, kind: RecordKind | None = None
    ) -> dict[tuple[RecordKind, str], tuple[str, ...]]:
        """Units of the values of each category's records, by kind and name, the most used first."""
        with self._at(bank) as (connection, row):
            found = (
                raw(connection)
                .execute(
                    "SELECT record_categories.kind, name, measure FROM records "
                    "JOIN record_categories ON record_categories.id = category "
                    "WHERE records.bank = :bank AND (:kind IS NULL OR records.kind = :kind) AND measure <> '' "
                    "GROUP BY category, measure ORDER BY count(*) DESC, measure",
                    {"bank": row, "kind": kind.value if kind else None},
                )
                .fetchall()
            )
        units: dict[tuple[RecordKind, str], tuple[str, ...]] = {}
        for of_kind, name, unit in found:
            key = RecordKind(of_kind), name
            units[key] = (*units.get(key, ()), unit)
        return units
