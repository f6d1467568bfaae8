"""Contract of every Ledger: subclass `LedgerContract` and provide a fixture `ledger`."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from builders import (
    DIMENSION,
    at,
    make_unit,
    make_units,
    make_vector,
    make_write_set,
    with_vector,
)
from ledger_support import NO_IDS, changes, commit, rich_write_set
from table import every_row

from hindsight_integrations.errors import BankNotFound, EngineClosed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.writes import MessageKey


class TestBanks:
    """Banks: creation, names and isolation. The fixture `ledger` yields an empty, writable ledger and closes it."""

    def test_a_new_bank_is_empty(self, ledger: Ledger) -> None:
        """A new bank has revision 0, a neutral profile and no content."""
        header = ledger.create_bank("new")
        assert (header.name, header.revision, header.embedder) == ("new", 0, None)
        assert header.profile == BankProfile()
        assert ledger.units.count("new") == 0
        new = changes(ledger, "new")
        assert new.columns.tags == new.removed.tolist() == []
        assert new.vectors[1].shape == (0, 0)

    def test_an_unknown_bank_is_an_error_naming_those_known(self, ledger: Ledger, bank: str) -> None:
        """A misspelt bank name raises an error that lists the existing banks, and creates nothing."""
        for call in (
            lambda: ledger.bank("nobody"),
            lambda: ledger.revision("nobody"),
            lambda: changes(ledger, "nobody", 0).columns,
            lambda: ledger.units.get("nobody", NO_IDS),
            lambda: commit(ledger, make_write_set(bank="nobody")),
        ):
            with pytest.raises(BankNotFound, match=bank):
                call()
        assert [header.name for header in ledger.banks()] == [bank]

    @every_row("name", ["a/b/../c", "x" * 512, "日本語 🦉", " ", "'; DROP TABLE units; --"])
    def test_any_name_makes_a_bank(self, ledger: Ledger, name: str) -> None:
        """Any name works as a bank name, and its key is safe as a file name."""
        key = ledger.create_bank(name).key
        commit(ledger, make_write_set(bank=name, units=make_units("u", bank=name)))
        assert ledger.units.row_ids(name, ["u"])
        assert key.isalnum()
        assert len(key) == 32
        assert ledger.bank(name).name == name

    def test_banks_are_listed_by_name(self, ledger: Ledger) -> None:
        """Banks are listed in a stable order, each once."""
        for name in ("b", "a", "c", "a"):
            ledger.create_bank(name)
        assert [header.name for header in ledger.banks()] == ["a", "b", "c"]

    def test_the_latest_mention_is_of_the_last_commit(self, ledger: Ledger, bank: str) -> None:
        """The latest mention is that of the last commit, even if an earlier commit has a later mention; None for an empty bank."""
        assert ledger.units.latest_mention(bank) is None
        for revision, hours in enumerate([(9, 4), (7, 2)]):
            units = [with_vector(make_unit(f"u{hour}", hours=hour)) for hour in hours]
            commit(ledger, make_write_set(revision, units=units))
        assert ledger.units.latest_mention(bank) == at(7)

    def test_banks_do_not_mix(self, ledger: Ledger) -> None:
        """Banks with the same unit, entity and message ids stay separate."""
        for name in ("one", "two"):
            ledger.create_bank(name)
        commit(ledger, rich_write_set(bank="one"))
        assert ledger.units.count("two") == 0
        assert ledger.units.row_ids("two", ["u1"]) == {}
        assert ledger.turns.known("two", [MessageKey("thread", "m1", "h1")]) == frozenset()
        assert ledger.entities.candidates("two", ["alice"], 5) == {"alice": []}
        one = changes(ledger, "one").columns.ids
        for found in (
            ledger.units.get("two", one),
            ledger.units.unit_ids("two", one),
            ledger.entities.of_units("two", one),
        ):
            assert found == {}
        commit(ledger, rich_write_set(bank="two"))
        two = changes(ledger, "two").columns.ids
        assert not set(one.tolist()) & set(two.tolist())
        assert ledger.entities.named("two", ["alice"])["alice"].mentions == 2
        assert {unit.bank for unit in ledger.units.get("two", two).values()} == {"two"}

    def test_ten_thousand_units_go_through_quickly(self, ledger: Ledger, bank: str) -> None:
        """A large import and a full load take less than 20 seconds of CPU time."""
        started = time.process_time()
        keys = [f"unit {number}" for number in range(10_000)]
        vector = make_vector("any").tobytes()
        units = [replace(with_vector(make_unit(key)), vector=vector) for key in keys]
        links = tuple(Link(one, two, LinkType.SEMANTIC, 0.9) for one, two in itertools.pairwise(keys))
        commit(ledger, replace(make_write_set(units=units), links=links))
        new = changes(ledger, bank)
        assert (
            ledger.units.count(bank)
            == len(new.columns.ids)
            == len(ledger.units.row_ids(bank, keys))
            == 10_000
        )
        assert new.vectors[1].shape == (10_000, DIMENSION)
        assert len(new.graph[1].sources) == 9_999
        assert len(ledger.units.get(bank, new.columns.ids)) == 10_000
        assert time.process_time() - started < 20

    def test_a_closed_ledger_says_so(self, ledger: Ledger, bank: str) -> None:
        """Use after close raises a clear error; closing twice does not."""
        ledger.close()
        ledger.close()
        with pytest.raises(EngineClosed):
            ledger.revision(bank)
        with pytest.raises(EngineClosed):
            commit(ledger, make_write_set())
