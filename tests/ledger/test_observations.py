"""Contract of observations made from facts."""

from __future__ import annotations

import time

import numpy as np
import pytest
from archived import without_numbers
from builders import (
    BANK,
    at,
    make_event,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_observations import ALICE, BOB, WITHDRAWALS, observation, observe, rows, seen, tell
from ledger_support import (
    CLOSED,
    RESTORED,
    changes,
    commit,
)
from table import every_row

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import EntitySplit, Observed
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.units import FactType


class TestObservations:
    """Observations are based on facts, become outdated, and end with their grounds."""

    @pytest.fixture
    def told(self, ledger: Ledger, bank: str) -> Ledger:
        """A bank with three facts about Alice, one of them about Bob too."""
        assert bank == BANK
        tell(ledger, *make_units("f1", "f2", "f3"))
        tell(ledger, *make_units("f2", "b1"), of=BOB)
        return ledger

    def test_facts_of_an_entity_are_its_valid_world_and_experience_memories(self, told: Ledger) -> None:
        """Opinions, observations and closed facts are not summarised."""
        others = [
            with_vector(make_unit("o", fact_type=FactType.OPINION)),
            with_vector(make_unit("s", fact_type=FactType.OBSERVATION)),
            with_vector(make_unit("e", fact_type=FactType.EXPERIENCE)),
        ]
        tell(told, *others)
        commit(told, make_write_set(told.revision(BANK), events=[make_event("f1", CLOSED, 5)]))
        assert told.observations.entity_facts(BANK, ALICE).tolist() == rows(told, "f2", "f3", "e")
        assert told.observations.entity_facts(BANK, "nobody").tolist() == []

    def test_an_entity_waits_until_it_is_observed(self, told: Ledger) -> None:
        """Observations, their facts, the omitted facts and the revision are read back as written."""
        assert seen(told) == (True, ())
        revision = told.revision(BANK)
        observe(told, {"o1": ("f1", "f2")}, ("f3",))
        assert told.observations.get(BANK, [ALICE, "nobody"]) == {
            ALICE: Observed(ALICE, revision, stale=False, left_out=("f3",), units=("o1",))
        }
        (row,) = rows(told, "o1")
        assert told.observations.grounds_of(BANK, np.array([row, *rows(told, "f1")])) == {row: ("f1", "f2")}
        assert seen(told, BOB) == (True, ())

    def test_a_new_fact_makes_it_stale_and_leaves_it(self, told: Ledger) -> None:
        """A new fact makes observations stale but keeps them until they are rebuilt."""
        observe(told, {"o1": ("f1",)})
        tell(told, *make_units("b2"), of=BOB)
        assert seen(told) == (False, ("o1",))
        tell(told, *make_units("f4"))
        assert seen(told) == (True, ("o1",))
        observe(told, {"o1": ("f1",), "o2": ("f4",)})
        assert seen(told) == (False, ("o1", "o2"))

    def test_what_is_no_fact_changes_nothing(self, told: Ledger) -> None:
        """An opinion, a caller's observation, or closing either, does not make observations stale."""
        observe(told, {"o1": ("f1",)})
        tell(told, with_vector(make_unit("op", fact_type=FactType.OPINION)), observation("given"))
        commit(told, make_write_set(told.revision(BANK), events=[make_event("op", CLOSED, 5)]))
        assert seen(told) == (False, ("o1",))

    def test_observations_made_again_take_the_place_of_the_old(self, told: Ledger) -> None:
        """Rebuilt observations replace the old ones, without counting as erasure; a caller's observations stay."""
        tell(told, observation("given"))
        observe(told, {"o1": ("f1",), "o2": ("f2",)})
        old, before = rows(told, "o1"), told.revision(BANK)
        observe(told, {"o2": ("f2", "f3"), "o3": ("f1",)})
        assert seen(told) == (False, ("o2", "o3"))
        assert told.observations.grounds_of(BANK, np.array(rows(told, "o2"))) == {
            rows(told, "o2")[0]: ("f2", "f3")
        }
        new = changes(told, BANK, before)
        assert (new.removed.tolist(), new.erased) == (old, False)
        assert rows(told, "given")
        observe(told, {})
        assert seen(told) == (False, ())

    @pytest.mark.parametrize("withdrawal", WITHDRAWALS)
    def test_a_withdrawn_fact_takes_what_stands_on_it_along(self, told: Ledger, withdrawal: str) -> None:
        """Withdrawing a fact ends the observations based on it immediately."""
        observe(told, {"o1": ("f1", "f2"), "o2": ("f3",)}, ("f2",))
        observe(told, {"p1": ("b1", "f2")}, entity=BOB)
        gone, before = rows(told, "o1"), told.revision(BANK)
        WITHDRAWALS[withdrawal](told)
        erased = withdrawal == "erased"
        assert seen(told) == (True, () if erased else ("o2",))
        assert seen(told, BOB) == (False, ("p1",))
        new = changes(told, BANK, before)
        assert set(gone) <= set(new.removed.tolist())
        assert new.erased is erased
        assert told.observations.grounds_of(BANK, np.array(gone)) == {}

    def test_an_erased_fact_takes_along_all_that_was_made_of_its_entity(self, told: Ledger) -> None:
        """Erasing a fact erases all observations of its entity, since their author had read it; the receipt lists them."""
        observe(told, {"o1": ("f1",), "o2": ("f3",)})
        receipt = told.erasure.erase(BANK, Erasure(unit="f1"))
        assert set(receipt.unit_ids) == {"f1", "o1", "o2"}
        assert told.observations.entity_facts(BANK, ALICE).tolist() == rows(told, "f2", "f3")

    def test_an_erased_observation_is_made_again(self, told: Ledger) -> None:
        """Erasing an observation enqueues its entity, whose facts still exist."""
        observe(told, {"o1": ("f1",), "o2": ("f3",)})
        told.erasure.erase(BANK, Erasure(unit="o1"))
        assert seen(told) == (True, ("o2",))

    def test_a_restored_fact_is_news(self, told: Ledger) -> None:
        """A restored fact makes observations stale."""
        commit(told, make_write_set(told.revision(BANK), events=[make_event("f1", CLOSED, 5)]))
        observe(told, {"o1": ("f2",)})
        commit(told, make_write_set(told.revision(BANK), events=[make_event("f1", RESTORED, 6)]))
        assert seen(told) == (True, ("o1",))

    def test_entities_merged_lose_what_was_made_of_each(self, told: Ledger) -> None:
        """Merging entities ends both sets of observations; undoing enqueues both."""
        observe(told, {"o1": ("f1",)})
        observe(told, {"p1": ("b1",)}, entity=BOB)
        change = told.entities.merge(BANK, ALICE, BOB, at(7))
        assert seen(told) == (True, ())
        assert rows(told, "o1", "p1") == []
        assert told.observations.entity_facts(BANK, ALICE).tolist() == rows(told, "f1", "f2", "f3", "b1")
        observe(told, {"o2": ("b1",)})
        told.entities.undo(BANK, change.id)
        assert (seen(told), seen(told, BOB)) == ((True, ()), (True, ()))

    def test_an_entity_split_loses_what_was_made_of_it(self, told: Ledger) -> None:
        """Splitting an entity ends its observations."""
        tell(told, *make_units("f4"))
        observe(told, {"o1": ("f1",)})
        change = told.entities.split(BANK, EntitySplit(ALICE, "ali", "Ali", ("ali",), ("f4", "f3")), at(7))
        assert (seen(told), seen(told, "ali")) == ((True, ()), (True, ()))
        observe(told, {"o2": ("f4",)}, entity="ali")
        told.entities.undo(BANK, change.id)
        assert (seen(told), rows(told, "o2")) == ((True, ()), [])

    def test_observations_are_not_counted_among_mentions(self, told: Ledger) -> None:
        """Observations do not count as mentions of an entity."""
        before = told.entities.find(BANK, ALICE), told.entities.neighbours(BANK, [ALICE])
        observe(told, {f"o{number}": ("f1",) for number in range(60)})
        assert (told.entities.find(BANK, ALICE), told.entities.neighbours(BANK, [ALICE])) == before

    def test_what_was_made_of_facts_that_changed_since_is_refused(self, told: Ledger) -> None:
        """Observations from facts withdrawn meanwhile are rejected; a new fact only makes them stale."""
        revision = told.revision(BANK)
        tell(told, *make_units("f4"))
        observe(told, {"o1": ("f1",)}, at_revision=revision)
        assert seen(told) == (True, ("o1",))
        revision = told.revision(BANK)
        for withdrawal in WITHDRAWALS.values():
            withdrawal(told)
            with pytest.raises(RevisionConflict):
                observe(told, {"o2": ("f1",)}, at_revision=revision)
        assert seen(told) == (True, ())

    @every_row(
        ("facts", "entity"),
        [
            ({"o1": ()}, ALICE),
            ({"o1": ("b1",)}, ALICE),
            ({"o1": ("f1",)}, "nobody"),
            ({"f2": ("f1",)}, ALICE),
        ],
        ids=["nothing", "another's fact", "unknown entity", "no observation"],
    )
    def test_what_cannot_be_an_observation_is_refused_whole(
        self, told: Ledger, facts: dict[str, tuple[str, ...]], entity: str
    ) -> None:
        """An invalid observation rejects the whole commit, with the reason."""
        revision = told.revision(BANK)
        with pytest.raises(InvalidRequest):
            observe(told, facts, entity=entity)
        assert told.revision(BANK) == revision
        assert rows(told, "o1") == []

    def test_observing_twice_changes_nothing(self, told: Ledger) -> None:
        """Committing the same observations again does not raise the revision."""
        revision = told.revision(BANK)
        observe(told, {"o1": ("f1",)}, ("f2",), at_revision=revision)
        after = told.revision(BANK)
        observe(told, {"o1": ("f1",)}, ("f2",), at_revision=revision)
        assert told.revision(BANK) == after

    def test_observations_are_archived(self, told: Ledger) -> None:
        """Observations, grounds, omitted facts and waiting entities survive an archive."""
        observe(told, {"o1": ("f1", "f2"), "o2": ("f2",)}, ("f3",))
        rows_there = list(told.archive.rows(BANK))
        told.create_bank("copy")
        told.archive.restore("copy", iter(rows_there))
        assert without_numbers(told.archive.rows("copy")) == without_numbers(rows_there)
        for entity in (ALICE, BOB):
            assert told.observations.get("copy", [entity]) == told.observations.get(BANK, [entity])
        (row,) = told.units.row_ids("copy", ["o1"]).values()
        assert told.observations.grounds_of("copy", np.array([row])) == {row: ("f1", "f2")}

    def test_a_forgotten_bank_leaves_nothing_made(self, told: Ledger) -> None:
        """Erasing everything or dropping the bank leaves no observations."""
        observe(told, {"o1": ("f1",)}, ("f2",))
        told.erasure.erase(BANK, Erasure(everything=True))
        assert told.observations.get(BANK, [ALICE]) == {}
        told.erasure.drop_bank(BANK)
        told.create_bank(BANK)
        tell(told, *make_units("f1"))
        assert seen(told) == (True, ())

    def test_banks_are_observed_apart(self, told: Ledger) -> None:
        """Observations of one bank do not affect another with the same rows and entities."""
        observe(told, {"o1": ("f1",)})
        told.create_bank("other")
        assert told.observations.get("other", [ALICE]) == {}
        assert told.observations.grounds_of("other", np.array(rows(told, "o1"))) == {}
        assert told.observations.entity_facts("other", ALICE).tolist() == []

    def test_facts_of_a_hub_are_read_quickly(self, ledger: Ledger, bank: str) -> None:
        """An entity with 5,000 facts is read in a fraction of a second, and one more fact costs constant time."""
        tell(ledger, *make_units(*(f"f{number}" for number in range(5_000))))
        started = time.perf_counter()
        assert len(ledger.observations.entity_facts(bank, ALICE)) == 5_000
        assert time.perf_counter() - started < 1
        observe(ledger, {"o1": ("f0",)}, tuple(f"f{number}" for number in range(1, 5_000)))
        assert len(ledger.observations.get(bank, [ALICE])[ALICE].left_out) == 4_999
