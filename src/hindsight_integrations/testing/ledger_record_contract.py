"""What every Ledger promises of records, as tests; a part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hindsight_integrations.model.units import Record
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.testing.builders import make_event, make_unit, make_write_set, with_vector
from hindsight_integrations.testing.ledger_support import CLOSED, LedgerFixtures


class LedgerRecordContract(LedgerFixtures):
    """Promises of ports/record_book.py."""

    def test_records_are_enumerated_completely(self, ledger: Ledger, bank: str) -> None:
        """Every unit with such a record is there in order, closed ones too; case and the other units do not matter."""
        records = {
            "u1": Record("expense", Decimal("3.41"), "Coffee", "USD"),
            "u2": Record("Expense", Decimal("9.84"), "lunch", "USD"),
            "u3": Record("todo", "call Bob"),
            "u4": None,
        }
        units = [with_vector(replace(make_unit(name), record=record)) for name, record in records.items()]
        ledger.commit(make_write_set(units=units, events=[make_event("u2", CLOSED)]))
        rows = ledger.row_ids(bank, list(records))

        def found(kind: str | None, category: str | None) -> list[str]:
            wanted = ledger.record_rows(bank, kind=kind, category=category).tolist()
            return [name for row in wanted for name, own in rows.items() if own == row]

        assert found(None, None) == ["u1", "u2", "u3"]
        assert found("EXPENSE", None) == ["u1", "u2"]
        assert found("expense", "coffee") == ["u1"]
        assert found("step", None) == []
        assert (
            ledger.units(bank, ledger.record_rows(bank, kind="expense"))[rows["u1"]].record == records["u1"]
        )
