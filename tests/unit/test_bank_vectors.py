"""Index and unwritten vectors together give the results of an exact search over all vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_event,
    make_unit,
    make_vector,
    make_write_set,
    with_vector,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_support import commit

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.indexes import projection as vectors
from hindsight_integrations.indexes.bank_view import BankVectors, IndexState
from hindsight_integrations.indexes.exact import ExactVectorIndex
from hindsight_integrations.indexes.fts5 import Fts5Keywords
from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.projection import BankProjection, Indexes
from hindsight_integrations.indexes.store_pool import MEMORY
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.arrays import Hits, Matrix
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.units import ValidityKind

LIMIT = 4  # the maximum number of unwritten vectors in these tests


class OnDisk(ExactVectorIndex):
    """An exact index in place of one that is written in batches."""

    @property
    def keeps_removed(self) -> bool:
        return True


class World:
    """One bank, and the ids of all units it ever contained."""

    def __init__(self) -> None:
        self.ledger, self.words = Ledger.open(":memory:"), Fts5Keywords(MEMORY)
        self.ledger.create_bank(BANK)
        self.index = OnDisk(BANK)
        self.living: list[str] = []
        self.made = 0
        self.projection = self.opened()

    def opened(self) -> BankProjection:
        """As in another process: unwritten vectors are gone, the index is as it was written."""
        keywords = self.words.open(f"process {self.made}")
        indexes = Indexes(self.index, ExactVectorIndex(BANK), keywords, RustworkxMemoryGraph())
        projection = BankProjection(BANK, self.ledger, indexes)
        projection.open()
        return projection

    def close(self) -> None:
        self.words.close()
        self.ledger.close()

    def do(self, what: str, which: int) -> None:
        """One change of the bank, committed and applied."""
        target = self.living[which % len(self.living)] if self.living else ""
        if what == "retain" or not target:
            names = [f"u{self.made + n}" for n in range(1 + which % 3)]
            self.made += len(names)
            units = tuple(with_vector(make_unit(name)) for name in names)
            commit(self.ledger, make_write_set(self.revision, units=units))
            self.living += names
        elif what == "edit":
            unit = replace(make_unit(target), text=f"edited {self.revision}")
            vector = make_vector(unit.text).tobytes()
            self.ledger.units.edit(BANK, UnitEdit(unit, vector, (), ("text",)), at(1))
        elif what == "close":
            event = make_event(target, ValidityKind.CLOSED, self.revision)
            commit(self.ledger, make_write_set(self.revision, events=[event]))
        elif what == "erase":
            self.ledger.erasure.erase(BANK, Erasure(unit=target))
            self.living.remove(target)
        elif what == "reopen":
            self.projection = self.opened()
        elif what == "continue":
            self.projection.continue_vectors()
        self.projection.catch_up()

    @property
    def revision(self) -> int:
        return self.ledger.revision(BANK)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "TAIL_LIMIT", LIMIT)
    monkeypatch.setattr(vectors, "EXACT_LIMIT", 0)


steps = st.tuples(
    st.sampled_from(["retain", "retain", "retain", "edit", "close", "erase", "reopen", "continue"]),
    st.integers(0, 9),
)


@settings(max_examples=60)
@given(st.lists(steps, max_size=25), st.sampled_from([(512, 0), (5, 3), (3, 0)]))
def test_index_and_tail_are_what_exact_search_over_everything_is(
    history: list[tuple[str, int]], sizes: tuple[int, int]
) -> None:
    """After every step of any history: the same ids in the same order with the same scores, for every limit.

    The sizes are the number of vectors written at once, and the number up to which search is exact. Nothing
    erased stays in the index.
    """
    world = World()
    patch = pytest.MonkeyPatch()
    try:
        for name, size in zip(("WRITE_AT_ONCE", "EXACT_LIMIT"), sizes, strict=True):
            patch.setattr(vectors, name, size)
        for what, which in history:
            world.do(what, which)
            view = world.projection.view()
            if sizes[0] > 500:
                assert len(view.vectors.tail) < LIMIT
            if what == "erase":
                assert set(world.index.rows.ids.tolist()) <= set(view.columns.ids.tolist())
            assert view.scorer.count() == len(world.living) == len(view.columns)
            queries = np.stack([make_vector(f"query {which}"), make_vector(f"u{which}")])
            for limit in (1, 3, 40):
                found, right = view.vectors.search(queries, limit), view.scorer.search(queries, limit)
                assert [hits.ids.tolist() for hits in found] == [hits.ids.tolist() for hits in right]
                assert [hits.scores.tolist() for hits in found] == [hits.scores.tolist() for hits in right]
        assert world.projection.problems() == {}
        for _ in range(40):
            world.projection.continue_vectors()
        assert len(world.projection.view().vectors.tail) < LIMIT
        if len(world.living) > max(LIMIT, sizes[1]):
            assert world.projection.view().vectors.index is world.index
    finally:
        patch.undo()
        world.close()


@pytest.fixture
def world() -> Iterator[World]:
    opened = World()
    yield opened
    opened.close()


def test_the_index_answers_for_what_it_has(world: World) -> None:
    """The index is used once all vectors are written, so the property above tests it."""
    for step in range(3):
        world.do("retain", 1)
        assert world.index.count() == (0, 4, 4)[step]
    view = world.projection.view().vectors
    assert (view.index, view.tail.tolist()) == (world.index, [5, 6])
    world.do("edit", 0)
    assert world.projection.view().vectors.tail.tolist() == [1, 5, 6]
    assert world.index.count() == 4


class Distracted(ExactVectorIndex):
    """Empties itself during a search, like another thread's rebuild."""

    def __init__(self, state: IndexState, problem: str = "") -> None:
        super().__init__(BANK)
        self.state, self.problem, self.asked = state, problem, 0

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        self.asked += 1
        if self.problem:
            raise IndexOutOfStep("vector", BANK, self.problem)
        self.state.clears += 1
        return [Hits(np.empty(0, np.int64), np.empty(0, np.float32)) for _ in vectors]


@pytest.mark.parametrize("problem", ["", "gone"])
def test_an_index_that_fails_or_is_emptied_meanwhile_costs_no_answer(problem: str) -> None:
    """The failed search, and later ones of the same view, are answered exactly, without using the index again."""
    scorer, state = ExactVectorIndex(BANK), IndexState()
    scorer.upsert(np.arange(5, dtype=np.int64), np.stack([make_vector(f"v{n}") for n in range(5)]))
    index = Distracted(state, problem)
    view = BankVectors(scorer, index, np.array([3]), state, state.clears)
    for _ in range(2):
        [hits] = view.search(make_vector("v2")[None], 5)
        assert (hits.ids[0], len(hits)) == (2, 5)
    assert index.asked == 1
    assert ("gone" in state.problem) is bool(problem)
