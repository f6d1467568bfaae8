"""Several projections can follow one ledger, and each decides on an up-to-date view."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from builders import (
    BANK,
    make_entity,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_support import commit

from hindsight_integrations.errors import LedgerLost
from hindsight_integrations.indexes.exact import ExactVectorIndex
from hindsight_integrations.indexes.fts5 import Fts5Keywords
from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.projection import BankProjection, Indexes
from hindsight_integrations.indexes.store_pool import MEMORY
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    opened = Ledger.open(":memory:")
    opened.create_bank(BANK)
    yield opened
    opened.close()


@pytest.fixture
def keywords() -> Iterator[Fts5Keywords]:
    opened = Fts5Keywords(MEMORY)
    yield opened
    opened.close()


@pytest.fixture
def elsewhere() -> Iterator[Ledger]:
    """Another ledger with a bank of the same name."""
    opened = Ledger.open(":memory:")
    opened.create_bank(BANK)
    yield opened
    opened.close()


def following(ledger: Ledger, keywords: Fts5Keywords, name: str) -> BankProjection:
    """A projection with its own indexes, as in a separate process."""
    index = ExactVectorIndex(BANK)
    made = BankProjection(BANK, ledger, Indexes(index, index, keywords.open(name), RustworkxMemoryGraph()))
    made.open()
    return made


def test_who_is_behind_catches_up_before_deciding(ledger: Ledger, keywords: Fts5Keywords) -> None:
    """A projection catches up with other writers before deciding, so that its commit is accepted."""
    here, there = (following(ledger, keywords, name) for name in ("here", "there"))
    for revision in range(3):
        writer = (here, there)[revision % 2]
        with writer.transaction() as (view, transaction):
            assert view.revision == revision == len(view.columns) == view.scorer.count()
            assert view.keywords.count() == view.graph.counts()[0] == revision
            assert view.ledger.units.count(BANK) == revision
            transaction.commit(make_write_set(view.revision, units=make_units(f"u{revision}")))
        writer.catch_up()
    assert here.view().revision == 3
    assert there.behind()
    assert not here.behind()


def test_a_decision_not_to_write_leaves_the_view_caught_up(ledger: Ledger, keywords: Fts5Keywords) -> None:
    """Catching up inside a transaction persists even without a commit."""
    here = following(ledger, keywords, "here")
    commit(
        ledger,
        make_write_set(units=make_units("u1", "u2"), entities=[make_entity("e")], mentions=[("u1", "e")]),
    )
    with here.transaction():
        pass
    assert len(here.view().columns) == here.view().scorer.count() == 2
    ledger.erasure.erase(BANK, Erasure(unit="u1"))
    with here.transaction() as (view, _):
        assert len(view.columns) == view.keywords.count() == view.graph.counts()[0] == 1


def test_an_index_of_another_history_is_not_believed(
    ledger: Ledger, elsewhere: Ledger, keywords: Fts5Keywords
) -> None:
    """An index with another history is not used, even at the same numbers, and is left unchanged."""
    for there, text in ((elsewhere, "a quartz clock"), (ledger, "a copper kettle")):
        commit(there, make_write_set(units=[with_vector(make_unit("u1", text))]))
    following(elsewhere, keywords, "shared")
    with pytest.raises(LedgerLost, match="accept_loss"):
        following(ledger, keywords, "shared")
    assert [len(keywords.open("shared").search(word, 5)) for word in ("quartz", "kettle")] == [1, 0]


def test_an_index_of_a_bank_made_again_is_not_believed(ledger: Ledger, keywords: Fts5Keywords) -> None:
    """An index of a forgotten bank is dropped for a new bank with the same name."""
    for text in ("a quartz clock", "a copper kettle"):
        ledger.erasure.drop_bank(BANK)
        ledger.create_bank(BANK)
        commit(ledger, make_write_set(units=[with_vector(make_unit("u1", text))]))
        view = following(ledger, keywords, "index").view()
    assert [len(view.keywords.search(word, 5)) for word in ("quartz", "kettle")] == [0, 1]


def test_a_writer_does_not_wait_for_the_graph_to_load(ledger: Ledger, keywords: Fts5Keywords) -> None:
    """A commit during the load is published at once, and the graph of that view contains it."""
    here = following(ledger, keywords, "here")
    commit(ledger, make_write_set(units=make_units("u1")))
    assert here.view().graph.counts()[0] == 1
    with here._graph._lock:  # as during a load on another thread
        commit(ledger, make_write_set(1, units=make_units("u2")))
        here.catch_up()
        view = here.view()
        assert view.revision == 2
    assert view.graph.counts()[0] == 2
    commit(ledger, make_write_set(2, units=make_units("u3")))
    here.catch_up()
    assert here.view().graph.counts()[0] == 3
