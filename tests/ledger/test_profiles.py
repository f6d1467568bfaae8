"""Contract of profiles and their history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from builders import BANK, at, make_event, make_units, make_write_set
from ledger_support import CLOSED, commit
from table import every_row

from hindsight_integrations.errors import BankNotFound, InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition, ProfileChange
from hindsight_integrations.model.writes import ProfileWrite
from hindsight_integrations.testing.doubles import FrozenClock

ADA = BankProfile("Ada", "I like proofs.", Disposition(5, 1, 2), 0.25)
IRIS = BankProfile("Iris", "I paint.", BigFive(0.9, 0.2, 0.7, 0.3, 0.5), 0.8)


def give(
    ledger: Ledger,
    profile: BankProfile,
    effective_at: datetime,
    *,
    expected: int | None = None,
    bank: str = BANK,
) -> None:
    """Set the bank's profile, based on its newest change unless another is given."""
    newest = ledger.profiles.change(bank)
    number = (newest.number if newest else 0) if expected is None else expected
    write = ProfileWrite(profile, effective_at, "given", number)
    commit(ledger, replace(make_write_set(ledger.revision(bank), bank=bank), profile=write))


class TestProfiles:
    """The bank's current profile and its history."""

    @pytest.fixture
    def given(self, ledger: Ledger, bank: str, clock: FrozenClock) -> list[BankProfile]:
        """Profiles of a bank, set one per hour; the clock is an hour after the last."""
        profiles = [ADA, IRIS, replace(ADA, background="I like proofs and Prague.")]
        for hours, profile in enumerate(profiles):
            clock.set(at(hours))
            give(ledger, profile, at(hours), bank=bank)
        clock.set(at(len(profiles)))
        return profiles

    def test_a_profile_is_kept_with_its_time(
        self, ledger: Ledger, bank: str, given: list[BankProfile]
    ) -> None:
        """The newest profile is current; each is in the history with its number, and none raises the revision."""
        expected = [
            ProfileChange(number, profile, at(number - 1), at(number - 1), "given")
            for number, profile in enumerate(given, 1)
        ]
        assert ledger.profiles.changes(bank) == expected
        assert ledger.profiles.change(bank) == expected[-1]
        assert [ledger.profiles.change(bank, number) for number in range(5)] == [None, *expected, None]
        assert ledger.bank(bank).profile == ledger.create_bank(bank).profile == given[-1]
        assert ledger.revision(bank) == 0
        with ledger.snapshot(bank) as snapshot:
            assert snapshot.profiles.changes(bank) == expected

    def test_a_bank_that_was_given_none_is_neutral(self, ledger: Ledger, bank: str) -> None:
        """A bank without a profile is neutral at all times."""
        assert ledger.profiles.changes(bank) == []
        assert ledger.profiles.change(bank) is None
        assert ledger.profiles.at(bank, at(0)) == ledger.bank(bank).profile == BankProfile()

    def test_the_profile_of_then(self, ledger: Ledger, bank: str, given: list[BankProfile]) -> None:
        """At each time the profile is the last one set before it, or a neutral one."""
        microsecond, second = timedelta(microseconds=1), timedelta(seconds=1)
        assert ledger.profiles.at(bank, at(0) - second) == BankProfile()
        for hours, profile in enumerate(given):
            assert ledger.profiles.at(bank, at(hours)) == profile
            assert ledger.profiles.at(bank, at(hours + 1) - microsecond) == profile
        assert ledger.profiles.at(bank, at(10_000)) == given[-1]
        late = replace(ADA, name="Late")
        give(ledger, late, at(2) + timedelta(milliseconds=700))
        assert ledger.profiles.at(bank, at(2)) == late
        assert ledger.profiles.at(bank, at(2) - microsecond) == given[1]

    @pytest.mark.usefixtures("given")
    def test_its_time_never_runs_backwards_nor_ahead(
        self, ledger: Ledger, bank: str, clock: FrozenClock
    ) -> None:
        """A change dated before the last one takes its time; one dated in the future takes effect now."""
        give(ledger, replace(ADA, name="Early"), at(-500))
        give(ledger, replace(ADA, name="Ahead"), at(500))
        clock.set(at(-1000))  # a clock that was set back
        give(ledger, replace(ADA, name="Back"), at(-1000))
        times = [change.effective_at for change in ledger.profiles.changes(bank)]
        assert times[-3:] == [at(2), at(3), at(3)]
        assert all(one <= other for one, other in pairwise(times))
        assert ledger.profiles.at(bank, at(3)) == ledger.bank(bank).profile == replace(ADA, name="Back")

    @pytest.mark.parametrize("expected", [0, 2, 4])
    def test_one_decided_on_another_profile_is_refused(
        self, ledger: Ledger, bank: str, given: list[BankProfile], expected: int
    ) -> None:
        """A write set based on an outdated profile is rejected as a whole."""
        before = ledger.profiles.changes(bank)
        write = ProfileWrite(BankProfile("Mallory"), at(3), "late", expected)
        writes = replace(make_write_set(units=make_units("u1")), profile=write)
        with pytest.raises(RevisionConflict, match=f"change of its profile 3, not {expected}"):
            commit(ledger, writes)
        assert ledger.profiles.changes(bank) == before
        assert ledger.bank(bank).profile == given[-1]
        assert ledger.units.count(bank) == 0

    def test_it_stands_and_falls_with_its_commit(self, ledger: Ledger, bank: str) -> None:
        """A profile is written only together with its write set."""
        write = ProfileWrite(ADA, at(0), "merged", 0)
        broken = replace(make_write_set(events=[make_event("nothing", CLOSED)]), profile=write)
        with pytest.raises(InvalidRequest):
            commit(ledger, broken)
        assert ledger.profiles.changes(bank) == []
        receipt = commit(ledger, replace(make_write_set(units=make_units("u1")), profile=write))
        assert (receipt.revision, receipt.created) == (1, ("u1",))
        assert ledger.bank(bank).profile == ADA

    @pytest.mark.usefixtures("given")
    def test_a_transaction_sees_the_newest(self, ledger: Ledger, bank: str) -> None:
        """A transaction reads the profile that it replaces."""
        with ledger.transaction(bank) as transaction:
            newest = transaction.profiles.change(bank)
            assert newest is not None
            write = ProfileWrite(IRIS, at(3), "decided", newest.number)
            transaction.commit(replace(make_write_set(transaction.feed.revision), profile=write))
        assert ledger.bank(bank).profile == IRIS

    @pytest.mark.usefixtures("given")
    def test_banks_have_histories_of_their_own(self, ledger: Ledger) -> None:
        """Profile histories of banks are independent; a new bank with an old name has none."""
        ledger.create_bank("other")
        give(ledger, IRIS, at(0), bank="other")
        assert [change.number for change in ledger.profiles.changes("other")] == [1]
        ledger.erasure.drop_bank(BANK)
        ledger.create_bank(BANK)
        assert ledger.profiles.changes(BANK) == []
        assert ledger.bank("other").profile == IRIS

    def test_forgetting_everything_keeps_profile_and_history(
        self, ledger: Ledger, bank: str, given: list[BankProfile]
    ) -> None:
        """Forgetting everything keeps the profile and its history."""
        commit(ledger, make_write_set(units=make_units("u1")))
        before = ledger.profiles.changes(bank)
        ledger.erasure.erase(bank, Erasure(everything=True))
        assert ledger.profiles.changes(bank) == before
        assert ledger.bank(bank).profile == given[-1]

    def test_a_history_that_was_forgotten_is_gone(
        self, ledger: Ledger, bank: str, given: list[BankProfile]
    ) -> None:
        """Forgetting the history keeps only the current profile with its number; later numbers continue."""
        kept = ledger.profiles.change(bank)
        assert ledger.profiles.forget_history(bank) == 2
        assert ledger.erasure.scrub() in (Scrub.CLEAN, Scrub.NOT_OURS)  # PostgreSQL cleans its own files
        assert ledger.profiles.changes(bank) == [kept]
        assert ledger.bank(bank).profile == ledger.profiles.at(bank, at(2)) == given[-1]
        assert ledger.profiles.at(bank, at(1)) == BankProfile()
        assert ledger.profiles.forget_history(bank) == 0
        give(ledger, IRIS, at(3))
        assert [change.number for change in ledger.profiles.changes(bank)] == [3, 4]

    def test_a_whole_history_goes_through_an_archive(
        self, ledger: Ledger, bank: str, given: list[BankProfile]
    ) -> None:
        """An imported history keeps its numbers and replaces the bank's own."""
        rows = list(ledger.archive.rows(bank))
        ledger.create_bank("copy")
        give(ledger, BankProfile("Somebody"), at(0), bank="copy")
        ledger.archive.restore("copy", iter(rows))
        assert ledger.profiles.changes("copy") == ledger.profiles.changes(bank)
        assert ledger.bank("copy").profile == given[-1]

    @every_row(
        "call",
        [
            lambda ledger: ledger.profiles.changes("nobody"),
            lambda ledger: ledger.profiles.change("nobody"),
            lambda ledger: ledger.profiles.at("nobody", at(0)),
            lambda ledger: ledger.profiles.forget_history("nobody"),
        ],
    )
    def test_an_unknown_bank_has_no_profile(self, ledger: Ledger, call: Callable[[Ledger], object]) -> None:
        """Reading the profile of an unknown bank raises BankNotFound."""
        with pytest.raises(BankNotFound):
            call(ledger)
