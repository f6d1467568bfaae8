"""Ledgers in which observations were off and are switched on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from builders import BANK, make_entity, make_units, make_write_set
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.observations import _FACTS_OF, CHANGED
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.tasks import TaskKind, TaskState


def told(ledger: Ledger, *facts: str) -> None:
    """Retain facts that mention one entity each."""
    revision = ledger.create_bank(BANK).revision
    entities, mentions = (
        [make_entity(f"of {fact}") for fact in facts],
        [(fact, f"of {fact}") for fact in facts],
    )
    commit(ledger, make_write_set(revision, units=make_units(*facts), entities=entities, mentions=mentions))


def observed_entities(ledger: Ledger) -> list[str]:
    return sorted(task.key for task in ledger.tasks.of_bank(BANK) if task.kind is TaskKind.OBSERVE)


def test_what_changed_while_nobody_observed_is_made_up_for(tmp_path: Path) -> None:
    """Observations switched on later get their tasks at the next open; an abandoned task is not started again."""
    ledger = Ledger.open(tmp_path)
    told(ledger, "f1", "f2")
    ledger.close()
    ledger = Ledger.open(tmp_path, observing=timedelta(0))
    assert observed_entities(ledger) == ["of f1", "of f2"]
    told(ledger, "f3")
    assert observed_entities(ledger) == ["of f1", "of f2", "of f3"]
    task = ledger.tasks.lease([TaskKind.OBSERVE], lasting=timedelta(1))
    assert task
    ledger.tasks.fail(task.claim, reason="enough", retry_in=None)
    ledger.close()
    again = Ledger.open(tmp_path, observing=timedelta(0))
    assert {each.state for each in again.tasks.of_bank(BANK) if each.key == task.key} == {TaskState.DEAD}
    again.close()


def test_a_commit_and_an_open_look_at_nobody_who_waits_already(tmp_path: Path) -> None:
    """However many entities wait, a commit finds its own by an index, and an open reads only those without tasks."""
    ledger = Ledger.open(tmp_path, observing=timedelta(0))
    told(ledger, "f1", "f2")
    with ledger._database.reading() as connection:
        for statement, index in ((CHANGED, "entities_unobserved"), (_FACTS_OF, "mentions_entity")):
            query = str(statement.compile(connection))
            values = [0] * query.count("?")
            plan = [step[3] for step in raw(connection).execute(f"EXPLAIN QUERY PLAN {query}", values)]
            assert any(f"INDEX {index} (" in step for step in plan)
            assert not any(step.startswith("SCAN") for step in plan)
        assert raw(connection).execute("SELECT count(*) FROM unobserved").fetchone() == (0,)
    ledger.close()
