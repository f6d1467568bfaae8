"""Contract of the task that assesses new facts as evidence: when it is enqueued."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from builders import BANK, make_unit, make_units, make_write_set, with_vector
from ledger_opinions import (
    add,
    close,
    evidence,
    form,
    log_of,
    restore,
)
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.opinions import OpinionsWrite
from hindsight_integrations.model.tasks import REINFORCED, Task, TaskKind, TaskState
from hindsight_integrations.model.units import FactType


def waiting(ledger: Ledger) -> list[Task]:
    """Return the tasks that wait for facts to be assessed."""
    return [
        task
        for task in ledger.tasks.of_bank(BANK)
        if task.kind is TaskKind.REINFORCE and task.state is TaskState.PENDING
    ]


def assessed(ledger: Ledger, opinion: str = "o") -> None:
    """Assess all facts and complete the task."""
    task = ledger.tasks.lease((TaskKind.REINFORCE,), lasting=timedelta(seconds=60), bank=BANK, early=True)
    assert task is not None
    revision = ledger.revision(BANK)
    writes = replace(
        make_write_set(revision),
        opinions=OpinionsWrite(assessed={opinion: revision}),
        completed_tasks=(task.claim,),
    )
    commit(ledger, writes)


class TestReinforcing:
    """One task per bank assesses facts that held opinions have not seen."""

    @pytest.fixture
    def looked_at(self, ledger: Ledger, bank: str) -> Ledger:
        """An opinion that was assessed with all existing facts."""
        assert bank == BANK
        commit(ledger, make_write_set(units=make_units("f1", "f2")))
        assert waiting(ledger) == []
        form(ledger, "o", "f1")
        return ledger

    def test_new_facts_are_to_be_assessed_once(self, looked_at: Ledger) -> None:
        """New facts enqueue one task; opinions, observations and evidence rows enqueue none."""
        for unit_id in ("f3", "f4"):
            commit(looked_at, make_write_set(looked_at.revision(BANK), units=make_units(unit_id)))
        (task,) = waiting(looked_at)
        assert (task.key, task.payload) == (REINFORCED, "{}")
        assessed(looked_at)
        assert waiting(looked_at) == []
        assert log_of(looked_at).assessed_to > 0
        observed = with_vector(make_unit("seen", fact_type=FactType.OBSERVATION))
        commit(looked_at, make_write_set(looked_at.revision(BANK), units=[observed]))
        add(looked_at, evidence("o", "f3"))
        assert waiting(looked_at) == []

    def test_restored_facts_are_to_be_assessed(self, looked_at: Ledger) -> None:
        """Restored facts enqueue the task; closing a fact does not."""
        commit(looked_at, make_write_set(looked_at.revision(BANK), units=make_units("f3")))
        close(looked_at, "f3")
        assessed(looked_at)
        close(looked_at, "f2")
        assert waiting(looked_at) == []
        restore(looked_at, "f3")
        assert len(waiting(looked_at)) == 1

    def test_an_opinion_that_is_held_no_more_asks_for_nothing(self, looked_at: Ledger) -> None:
        """A closed opinion needs no evidence until it is restored."""
        close(looked_at, "f1")
        commit(looked_at, make_write_set(looked_at.revision(BANK), units=make_units("f5")))
        assert waiting(looked_at) == []
