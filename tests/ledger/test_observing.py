"""Contract of the tasks that build observations: one per entity whose facts changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders import (
    BANK,
    at,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_observations import (
    ALICE,
    BOB,
    WITHDRAWALS,
    observation,
    rows,
    seen,
    tell,
)
from ledger_support import Passes, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import EntitySplit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ObservedWrite
from hindsight_integrations.testing.doubles import FrozenClock

OBSERVING = timedelta(minutes=1)
"""For how long the ledger collects changes before it asks for observations."""


def waiting(ledger: Ledger, bank: str = BANK) -> list[str]:
    """Return the keys of the unfinished tasks, sorted."""
    return sorted(task.key for task in ledger.tasks.of_bank(bank) if task.state is TaskState.PENDING)


def done(ledger: Ledger, facts: Mapping[str, tuple[str, ...]], passes: Passes) -> None:
    """Run the longest-due task: store these observations of its entity."""
    task = ledger.tasks.lease([TaskKind.OBSERVE], lasting=OBSERVING)
    assert task
    passes(OBSERVING / 10)
    revision = ledger.revision(BANK)
    made = ObservedWrite(task.key, facts, (), revision)
    writes = make_write_set(
        revision, units=[observation(unit) for unit in facts], mentions=[(unit, task.key) for unit in facts]
    )
    commit(ledger, replace(writes, observed=made, completed_tasks=(task.claim,)))


class TestObserving:
    """Each entity that needs observations has one task."""

    @pytest.fixture
    def ledger(self, tmp_path: Path, clock: FrozenClock) -> Iterator[Ledger]:
        """A ledger that delays observation tasks by OBSERVING."""
        opened = Ledger.open(tmp_path / "data", clock=clock, observing=OBSERVING)
        yield opened
        opened.close()

    @pytest.fixture
    def told(self, ledger: Ledger, bank: str) -> Ledger:
        """A bank with three facts about Alice and one about Bob."""
        assert bank == BANK
        tell(ledger, *make_units("f1", "f2", "f3"))
        tell(ledger, *make_units("b1"), of=BOB)
        return ledger

    @pytest.fixture
    def settled(self, told: Ledger, passes: Passes) -> Ledger:
        """The same bank, with observations of Alice and no waiting tasks."""
        passes(OBSERVING)
        for _ in range(2):
            done(told, {"o1": ("f1",)} if not rows(told, "o1") else {}, passes)
        assert waiting(told) == []
        return told

    def test_a_fact_enqueues_its_entity_once(self, told: Ledger, passes: Passes) -> None:
        """Several facts give one task, due a fixed time after the first."""
        (alice, bob) = told.tasks.of_bank(BANK)
        assert (alice.kind, alice.key, alice.payload) == (TaskKind.OBSERVE, ALICE, "{}")
        passes(OBSERVING / 2)
        tell(told, *make_units("f4"))
        assert told.tasks.of_bank(BANK) == [alice, bob]
        assert told.tasks.lease([TaskKind.OBSERVE], lasting=OBSERVING) is None
        passes(OBSERVING / 2)
        assert told.tasks.lease([TaskKind.OBSERVE], lasting=OBSERVING)

    def test_what_is_no_fact_enqueues_nobody(self, settled: Ledger) -> None:
        """Opinions, observations and repeated retains enqueue nothing."""
        tell(settled, with_vector(make_unit("op", fact_type=FactType.OPINION)), observation("given"))
        tell(settled, *make_units("f1"))
        assert waiting(settled) == []

    @pytest.mark.parametrize("withdrawal", WITHDRAWALS)
    def test_a_withdrawal_enqueues_its_entities(self, settled: Ledger, withdrawal: str) -> None:
        """A withdrawal enqueues the entities of the withdrawn fact only."""
        WITHDRAWALS[withdrawal](settled)
        assert waiting(settled) == [ALICE]

    def test_a_fact_that_comes_while_observations_are_made_is_not_lost(
        self, settled: Ledger, passes: Passes
    ) -> None:
        """A fact that arrives while a task runs makes it run again."""
        tell(settled, *make_units("f4"))
        passes(OBSERVING)
        revision = settled.revision(BANK)
        task = settled.tasks.lease([TaskKind.OBSERVE], lasting=OBSERVING)
        assert task
        tell(settled, *make_units("f5"))
        write = ObservedWrite(ALICE, {"o1": ("f1",)}, (), revision)
        writes = make_write_set(settled.revision(BANK))
        commit(settled, replace(writes, observed=write, completed_tasks=(task.claim,)))
        assert (seen(settled), waiting(settled)) == ((True, ("o1",)), [ALICE])

    def test_entities_merged_and_split_are_enqueued_and_nobody_else(self, settled: Ledger) -> None:
        """Merging and splitting enqueue only the entities concerned."""
        change = settled.entities.merge(BANK, ALICE, BOB, at(7))
        assert waiting(settled) == [ALICE]
        settled.entities.undo(BANK, change.id)
        assert waiting(settled) == [ALICE, BOB]
        settled.entities.split(BANK, EntitySplit(ALICE, "ali", "Ali", ("ali",), ("f3",)), at(7))
        assert waiting(settled) == ["ali", ALICE, BOB]

    def test_a_forgotten_entity_leaves_no_task(self, told: Ledger) -> None:
        """Forgetting an entity removes its task, whose key contains its name."""
        told.erasure.erase(BANK, Erasure(entity=BOB))
        assert {task.key for task in told.tasks.of_bank(BANK)} == {ALICE}

    def test_a_bank_that_came_in_is_observed(self, told: Ledger) -> None:
        """An imported bank enqueues the entities without observations or tasks."""
        kept = [row for row in told.archive.rows(BANK) if row.kind != "tasks"]
        told.create_bank("copy")
        told.archive.restore("copy", iter(kept))
        assert waiting(told, "copy") == [ALICE, BOB]
