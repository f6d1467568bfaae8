"""Contract of history marks, which distinguish commits, banks and ledgers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from builders import (
    make_units,
    make_write_set,
)
from ledger_history import EVERY_CHANGE, mark_of
from ledger_support import commit, rich_write_set

from hindsight_integrations.errors import LedgerLost
from hindsight_integrations.ledger.feed import Feed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.watermark import Watermark


def _knows(feed: Feed, mark: Watermark) -> bool:
    """Whether a feed knows a mark: SQLite's ledger raises for unknown ones, PostgreSQL's causes a rebuild of the indexes."""
    try:
        return feed.knows(mark)
    except LedgerLost:
        return False


class TestHistory:
    """An index can distinguish the history it followed from any other, even at the same revision."""

    def test_a_feed_knows_its_own_marks_and_no_others(self, ledger: Ledger, bank: str) -> None:
        """Later feeds recognise the mark of every commit; an unknown mark is reported as a loss."""
        marks = [mark_of(ledger, bank)]
        for number in range(3):
            commit(ledger, make_write_set(number, units=make_units(f"u{number}")))
            marks.append(mark_of(ledger, bank))
        assert [mark.revision for mark in marks] == [0, 1, 2, 3]
        assert len({mark.token for mark in marks}) == 4
        other = replace(marks[1], token=marks[2].token)
        strangers = (
            other,
            replace(other, token=""),
            replace(marks[0], token=marks[1].token),
            replace(marks[3], revision=4),
            replace(marks[2], generation=marks[2].generation + 1),
            replace(marks[2], ledger="0" * 32),
        )
        with ledger.feed(bank) as feed:
            assert [feed.knows(mark) for mark in marks] == [True] * 4
            assert not any(_knows(feed, stranger) for stranger in strangers)

    def test_a_bank_made_again_has_another_history(self, ledger: Ledger, bank: str) -> None:
        """Indexes of a forgotten bank are never taken for those of a new bank with the same name, nor for a loss."""
        commit(ledger, make_write_set(units=make_units("u1")))
        before, earlier = mark_of(ledger, bank), ledger.bank(bank)
        ledger.erasure.drop_bank(bank)
        again = ledger.create_bank(bank)
        assert again.generation > earlier.generation
        with ledger.feed(bank) as feed:
            assert not feed.knows(before)
        commit(ledger, make_write_set(units=make_units("u1")))
        with ledger.feed(bank) as feed:
            assert (feed.mark.generation, feed.mark.revision) == (again.generation, before.revision)
            assert not feed.knows(before)

    @pytest.mark.parametrize("change", EVERY_CHANGE.values(), ids=EVERY_CHANGE)
    def test_every_change_has_a_mark_of_its_own(
        self, ledger: Ledger, bank: str, change: Callable[[Ledger, str], object]
    ) -> None:
        """Every change of the revision gets its own mark, not only retain commits."""
        commit(ledger, rich_write_set())
        before = mark_of(ledger, bank)
        change(ledger, bank)
        after = mark_of(ledger, bank)
        assert after.revision == before.revision + 1
        assert after.token not in ("", before.token)
        assert (ledger.units.damaged(bank), ledger.units.damaged_vectors(bank), ledger.problems()) == (
            (),
            (),
            (),
        )

    def test_a_restored_bank_goes_on_from_its_archive(self, ledger: Ledger, bank: str) -> None:
        """An import raises the revision to the archive's in one commit, which has a mark too."""
        for number in range(3):
            commit(ledger, make_write_set(number, units=make_units(f"u{number}")))
        ledger.create_bank("copy")
        ledger.archive.restore("copy", iter(list(ledger.archive.rows(bank))))
        original, copy = mark_of(ledger, bank), mark_of(ledger, "copy")
        assert (copy.ledger, copy.revision) == (original.ledger, 3)
        assert copy.token not in ("", original.token)
        assert (ledger.units.damaged("copy"), ledger.units.damaged_vectors("copy")) == ((), ())
