"""What every ledger promises of tasks (ports/ledger/tasks.py): leases, failures, commits that enqueue or complete them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.model.tasks import Task, TaskKind, TaskState, TaskWrite
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.testing.builders import BANK, at, make_units, make_write_set
from hindsight_integrations.testing.ledger_support import LedgerFixtures, commit

PARKED, QUEUED = TaskKind.EXTRACT_PARKED, TaskKind.EXTRACT_QUEUED
BOTH = (PARKED, QUEUED)
NOW = at(10)
MINUTE = timedelta(minutes=1)


def enqueued(ledger: Ledger, *writes: TaskWrite) -> tuple[Task, ...]:
    """Commit some tasks at the bank's present revision."""
    return commit(ledger, replace(make_write_set(revision=ledger.revision(BANK)), tasks=writes)).tasks


def work(payload: str, due: datetime = NOW, kind: TaskKind = PARKED) -> TaskWrite:
    """A task."""
    return TaskWrite(kind, payload, due, f"because of {payload}")


def leased(ledger: Ledger, now: datetime = NOW) -> str:
    """Payload of the task leased at `now` for a minute; empty if none is due."""
    task = ledger.lease_task(BANK, BOTH, now=now, until=now + MINUTE)
    return task.payload if task else ""


class LedgerTasksContract(LedgerFixtures):
    """A task is leased in turn, comes back when its holder is killed, and is completed once."""

    def test_a_task_comes_back_as_it_was_written(self, ledger: Ledger, bank: str) -> None:
        """A task shows its kind, its reason and when it is due, and a commit of it is a revision."""
        (task,) = enqueued(ledger, work("{}", kind=QUEUED))
        assert ledger.tasks(bank) == [task]
        assert (task.kind, task.state, task.attempts) == (QUEUED, TaskState.PENDING, 0)
        assert (task.not_before, task.lease_until, task.reason) == (NOW, None, "because of {}")
        assert ledger.revision(bank) == 1

    def test_tasks_are_leased_in_the_order_they_fall_due(self, ledger: Ledger, bank: str) -> None:
        """The longest due comes first, none before its time, and no task twice at once."""
        enqueued(ledger, work("late", NOW + MINUTE), work("second"), work("first", NOW - MINUTE))
        assert [leased(ledger) for _ in range(3)] == ["first", "second", ""]
        assert leased(ledger, NOW + 0.5 * MINUTE) == ""
        assert [task.attempts for task in ledger.tasks(bank)] == [0, 1, 1]

    def test_only_kinds_named_are_leased(self, ledger: Ledger, bank: str) -> None:
        """Work nobody here can do stays where it is."""
        enqueued(ledger, work("parked"))
        assert ledger.lease_task(bank, (QUEUED,), now=NOW, until=NOW + MINUTE) is None
        assert ledger.lease_task(bank, (), now=NOW, until=NOW + MINUTE) is None
        assert ledger.tasks(bank)[0].attempts == 0

    def test_a_lease_ends(self, ledger: Ledger, bank: str) -> None:
        """A task whose holder was killed is taken again, and the attempts tell."""
        enqueued(ledger, work("x"))
        assert leased(ledger) == "x"
        assert leased(ledger, NOW + MINUTE) == "x"
        (task,) = ledger.tasks(bank)
        assert (task.attempts, task.state, task.lease_until) == (2, TaskState.LEASED, NOW + 2 * MINUTE)

    def test_a_failed_task_rests_and_lets_others_pass(self, ledger: Ledger, bank: str) -> None:
        """A failure is put back until its time, with the reason, and the next task is served."""
        poisoned, _ = enqueued(ledger, work("poison"), work("sound"))
        assert leased(ledger) == "poison"
        ledger.fail_task(bank, poisoned.id, reason="bitter", retry_at=NOW + MINUTE)
        assert [leased(ledger), leased(ledger)] == ["sound", ""]
        assert (ledger.tasks(bank)[0].state, ledger.tasks(bank)[0].reason) == (TaskState.PENDING, "bitter")
        assert "poison" in {leased(ledger, NOW + MINUTE) for _ in range(2)}

    def test_a_dead_task_waits_until_it_is_made_due(self, ledger: Ledger, bank: str) -> None:
        """A task given up is not lost: it is listed, keeps its payload, and can be revived."""
        (task,) = enqueued(ledger, work("x"))
        leased(ledger)
        ledger.fail_task(bank, task.id, reason="enough", retry_at=None)
        assert (ledger.tasks(bank)[0].state, leased(ledger, NOW + 60 * MINUTE)) == (TaskState.DEAD, "")
        assert ledger.make_due(bank, (QUEUED,), now=NOW) == 0
        assert ledger.make_due(bank, BOTH, now=NOW) == 1
        assert (ledger.tasks(bank)[0].attempts, leased(ledger)) == (0, "x")

    def test_completing_is_one_commit_with_the_facts(self, ledger: Ledger, bank: str) -> None:
        """What a task found and its end come together; a done task keeps no text and is never leased again."""
        (task,) = enqueued(ledger, work("text"))
        leased(ledger)
        facts = replace(make_write_set(revision=1, units=make_units("u")), completed_tasks=(task.id,))
        assert commit(ledger, facts).created == ("u",)
        (done,) = ledger.tasks(bank)
        assert (done.state, done.payload, done.lease_until) == (TaskState.DONE, "", None)
        assert leased(ledger, NOW + 60 * MINUTE) == ""
        assert ledger.make_due(bank, BOTH, now=NOW) == 0

    def test_a_task_is_completed_once(self, ledger: Ledger, bank: str) -> None:
        """Two holders of one task write its facts once: the second commit is refused whole."""
        (task,) = enqueued(ledger, work("x"))
        commit(ledger, replace(make_write_set(revision=1), completed_tasks=(task.id,)))
        second = replace(make_write_set(revision=2, units=make_units("u")), completed_tasks=(task.id,))
        with pytest.raises(TaskClosed):
            commit(ledger, second)
        with pytest.raises(TaskClosed):
            commit(ledger, replace(second, completed_tasks=(task.id + 99,)))
        assert (ledger.count(bank), ledger.revision(bank)) == (0, 2)
        ledger.fail_task(bank, task.id, reason="late", retry_at=NOW)
        assert ledger.tasks(bank)[0].state is TaskState.DONE

    def test_tasks_of_banks_do_not_mix(self, ledger: Ledger, bank: str) -> None:
        """Work of one bank is neither seen nor done nor completed in another."""
        (task,) = enqueued(ledger, work("x"))
        ledger.create_bank("other")
        assert (ledger.tasks("other"), len(ledger.tasks(bank))) == ([], 1)
        assert ledger.lease_task("other", BOTH, now=NOW, until=NOW + MINUTE) is None
        with pytest.raises(TaskClosed):
            commit(ledger, replace(make_write_set(bank="other"), completed_tasks=(task.id,)))
