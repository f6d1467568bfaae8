"""Contract of records and their categories; part of `LedgerContract`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import make_unit, make_write_set, with_vector
from ledger_support import commit

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.records import Record, RecordCategory, RecordKind
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import CategoryWrite, UnitWrite

EXPENSE, TASK = RecordKind.EXPENSE, RecordKind.TASK


def paid(value: str, category: str, stated: str = "") -> Record:
    """Build an expense record."""
    return Record(EXPENSE, Decimal(value), category, "USD", stated or category)


def with_records(unit_id: str, *records: Record) -> UnitWrite:
    """Build a unit with these records, and its vector."""
    return with_vector(replace(make_unit(unit_id), records=records))


def read(ledger: Ledger, bank: str, unit_id: str) -> MemoryUnit:
    """Read the unit from the ledger."""
    rows = ledger.units.row_ids(bank, [unit_id])
    return ledger.units.get(bank, np.array([rows[unit_id]]))[rows[unit_id]]


def found(
    ledger: Ledger, bank: str, kind: RecordKind | None = None, category: str | None = None
) -> list[str]:
    """Return the ids of the units with such a record, in row order."""
    rows = ledger.records.rows(bank, kind=kind, category=category)
    names = ledger.units.unit_ids(bank, rows)
    return [names[row] for row in rows.tolist()]


def named(categories: Sequence[RecordCategory]) -> list[tuple[str, tuple[str, ...], int]]:
    """Return name, spellings and number of records of each category."""
    return [(category.name, category.spellings, category.records) for category in categories]


class TestCategory:
    """Spellings of one category are grouped until a user splits them."""

    def test_records_are_found_by_every_spelling_of_their_category(self, ledger: Ledger, bank: str) -> None:
        """A record is found by every spelling of its category, and not among other kinds."""
        units = [
            with_records("u1", paid("3", "coffee")),
            with_records(
                "u2", paid("4", "Coffee", "food (coffee)"), Record(TASK, "buy", "coffee", stated="coffee")
            ),
            with_records("u3", Record(EXPENSE, Decimal(5))),
        ]
        commit(ledger, make_write_set(units=units))
        assert read(ledger, bank, "u2").records[0] == paid("4", "coffee", "food (coffee)")
        for name in ("coffee", "COFFEE ", "food  (Coffee)"):
            assert found(ledger, bank, EXPENSE, name) == ["u1", "u2"]
        assert found(ledger, bank, TASK, "coffee") == ["u2"]
        assert found(ledger, bank, TASK, "food (coffee)") == []
        assert found(ledger, bank, EXPENSE, "") == ["u3"]
        assert found(ledger, bank, None, "food (coffee)") == ["u1", "u2"]
        assert named(ledger.records.categories(bank, EXPENSE)) == [("coffee", ("coffee", "food (coffee)"), 2)]
        assert [category.kind for category in ledger.records.categories(bank)] == [EXPENSE, TASK]

    def test_the_units_of_a_category_are_named_most_used_first(self, ledger: Ledger, bank: str) -> None:
        """A category lists its units, most used first."""
        euros = replace(paid("3", "coffee"), unit="EUR")
        records = [paid("1", "coffee"), paid("2", "coffee"), euros, Record(TASK, "buy coffee", "coffee")]
        commit(ledger, make_write_set(units=[with_records("u1", *records)]))
        expected = {(EXPENSE, "coffee"): ("USD", "EUR")}
        assert ledger.records.category_units(bank) == ledger.records.category_units(bank, EXPENSE) == expected
        assert ledger.records.category_units(bank, TASK) == {}

    def test_a_write_set_brings_spellings_and_takes_none_from_others(self, ledger: Ledger, bank: str) -> None:
        """A spelling stays with its first category; repeating a write set changes nothing."""
        categories = (
            CategoryWrite(EXPENSE, "Tea", ("chai",)),
            CategoryWrite(EXPENSE, "bread", ("Chai", "rolls")),
        )
        commit(ledger, replace(make_write_set(), categories=categories))
        expected = [("Tea", ("chai", "tea"), 0), ("bread", ("bread", "rolls"), 0)]
        assert named(ledger.records.categories(bank)) == expected
        assert commit(ledger, replace(make_write_set(1), categories=categories)).revision == 1
        commit(ledger, make_write_set(1, units=[with_records("u1", paid("1", "chai"))]))
        assert read(ledger, bank, "u1").records[0].category == "Tea"

    def test_categories_merged_and_split_again_are_as_before(self, ledger: Ledger, bank: str) -> None:
        """Merged categories share a name and all spellings; splitting restores them."""
        units = [
            with_records("u1", paid("3", "coffee")),
            with_records("u2", paid("4", "espresso"), paid("1", "coffee")),
            with_records("u3", paid("2", "tea")),
        ]
        commit(ledger, make_write_set(units=units))
        before = ledger.records.categories(bank), [read(ledger, bank, key) for key in ("u1", "u2", "u3")]
        merged = ledger.records.merge_categories(bank, EXPENSE, "coffee", "Espresso")
        assert named([merged]) == [("coffee", ("coffee", "espresso"), 3)]
        assert [r.category for r in read(ledger, bank, "u2").records] == ["coffee", "coffee"]
        assert found(ledger, bank, EXPENSE, "espresso") == ["u1", "u2"]
        split = ledger.records.split_category(bank, EXPENSE, "coffee", ["espresso"])
        assert named([split]) == [("espresso", ("espresso",), 1)]
        assert (
            ledger.records.categories(bank),
            [read(ledger, bank, key) for key in ("u1", "u2", "u3")],
        ) == before
        assert (ledger.revision(bank), ledger.units.damaged(bank)) == (3, ())

    def test_a_change_of_categories_that_makes_no_sense_is_refused(self, ledger: Ledger, bank: str) -> None:
        """Merging or splitting unknown categories, spellings or a category with itself is rejected."""
        categories = (CategoryWrite(EXPENSE, "coffee", ("espresso",)), CategoryWrite(EXPENSE, "tea"))
        commit(ledger, replace(make_write_set(), categories=categories))
        for keep, merged in (("coffee", "cake"), ("cake", "coffee"), ("coffee", "espresso")):
            with pytest.raises(InvalidRequest):
                ledger.records.merge_categories(bank, EXPENSE, keep, merged)
        for spellings in ([], ["tea"], ["coffee"], ["espresso", "coffee"]):
            with pytest.raises(InvalidRequest):
                ledger.records.split_category(bank, EXPENSE, "coffee", spellings)
        with pytest.raises(InvalidRequest):
            ledger.records.merge_categories(bank, TASK, "coffee", "tea")
        assert ledger.revision(bank) == 1


class TestRecordErasure:
    """Erasure removes records, and categories that only they used."""

    def test_categories_nobody_uses_go_with_the_unit(self, ledger: Ledger, bank: str) -> None:
        """Erasing a unit removes unused categories and spellings, and replaces an unused category name."""
        units = [
            with_records("u1", paid("3", "therapy of Bo", "therapy of Bo"), paid("9", "gifts")),
            with_records("u2", paid("4", "therapy of Bo", "therapy")),
            with_records("u3", paid("5", "coffee", "food (coffee)"), paid("6", "coffee", "coffee for Bo")),
        ]
        commit(ledger, make_write_set(units=units))
        receipt = ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert (receipt.counts["records"], receipt.counts["categories"]) == (2, 1)
        coffee = ("coffee", ("coffee", "coffee for bo", "food (coffee)"), 2)
        assert named(ledger.records.categories(bank)) == [coffee, ("therapy", ("therapy",), 1)]
        assert read(ledger, bank, "u2").records == (paid("4", "therapy"),)
        assert "Bo" not in repr(ledger.records.categories(bank)[1])
        ledger.erasure.erase(bank, Erasure(everything=True))
        assert (ledger.records.categories(bank), found(ledger, bank)) == ([], [])

    def test_records_go_round_an_archive(self, ledger: Ledger, bank: str) -> None:
        """Records keep order, values and spellings in an archive."""
        units = [
            with_records("u1", paid("3.410", "coffee", "food (coffee)"), Record(TASK, "call Ann")),
            with_records("u2", paid("4", "tea")),
        ]
        commit(ledger, make_write_set(units=units))
        ledger.records.merge_categories(bank, EXPENSE, "coffee", "tea")
        ledger.create_bank("copy")
        ledger.archive.restore("copy", iter(list(ledger.archive.rows(bank))))
        for key in ("u1", "u2"):
            assert read(ledger, "copy", key) == replace(read(ledger, bank, key), bank="copy")
        assert str(read(ledger, "copy", "u1").records[0].value) == "3.410"
        assert ledger.records.categories("copy") == ledger.records.categories(bank)
        assert ledger.units.damaged("copy") == ()
