"""Contract of tasks: leases, failures, and commits that enqueue or complete them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from builders import make_entity, make_units, make_write_set
from ledger_support import Passes, commit
from ledger_tasks import (
    KINDS,
    MINUTE,
    NOW,
    OBSERVE,
    QUEUED,
    _all,
    completed,
    enqueued,
    idle,
    leased,
    state,
    work,
)

from hindsight_integrations.errors import BankNotFound, RevisionConflict, TaskClosed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.tasks import TaskClaim, TaskState


class TestLeases:
    """A task is leased in order, becomes available again if its holder is killed, and is completed once."""

    def test_a_task_comes_back_as_it_was_written(self, ledger: Ledger, bank: str) -> None:
        """A task has its bank, kind, key, reason and due time, and committing it raises the revision."""
        (task,) = enqueued(ledger, work("{}", MINUTE, OBSERVE, "alice"))
        assert ledger.tasks.of_bank(bank) == [task]
        assert (task.bank, task.kind, task.key, task.payload) == (bank, OBSERVE, "alice", "{}")
        assert (task.state, task.attempts, task.uncounted, task.lease) == (TaskState.PENDING, 0, 0, 0)
        assert (task.lease_until, task.reason) == (None, "because of {}")
        assert ledger.revision(bank) == 1
        assert NOW < (ledger.tasks.next_due(KINDS) or NOW) <= MINUTE

    def test_tasks_of_all_banks_are_leased_in_the_order_they_fall_due(
        self, ledger: Ledger, bank: str, passes: Passes
    ) -> None:
        """Tasks of all banks are leased in order of their due time, none early and none twice."""
        ledger.create_bank("other")
        enqueued(ledger, work("third", 3 * MINUTE), work("second", 2 * MINUTE))
        enqueued(ledger, work("first", MINUTE), work("fourth", 9 * MINUTE, QUEUED), bank="other")
        assert idle(ledger)
        passes(5 * MINUTE)
        found = [leased(ledger) for _ in range(3)]
        assert [(task.bank, task.payload) for task in found] == [
            ("other", "first"),
            (bank, "second"),
            (bank, "third"),
        ]
        assert idle(ledger)
        assert {task.attempts for task in found} == {1}
        assert {task.lease for task in found} == {1}

    def test_one_bank_can_be_asked_for(self, ledger: Ledger, bank: str) -> None:
        """Tasks of one bank cannot be seen or completed through another."""
        ledger.create_bank("other")
        (task,) = enqueued(ledger, work("x"))
        assert ledger.tasks.lease(KINDS, lasting=MINUTE, bank="other") is None
        claim = leased(ledger, bank=bank).claim
        assert (ledger.tasks.of_bank("other"), claim) == ([], TaskClaim(task.bank, task.id, 1))
        with pytest.raises(TaskClosed):
            commit(ledger, replace(make_write_set(bank="other"), completed_tasks=(claim,)))
        with pytest.raises(BankNotFound):
            ledger.tasks.lease(KINDS, lasting=MINUTE, bank="none")

    def test_busy_banks_can_be_passed_over(self, ledger: Ledger, bank: str, passes: Passes) -> None:
        """Busy banks can be excluded from leasing and from the next due time."""
        ledger.create_bank("other")
        enqueued(ledger, work("first"), work("second"))
        enqueued(ledger, work("third", MINUTE), bank="other")
        assert ledger.tasks.lease(KINDS, lasting=MINUTE, besides=(bank,)) is None
        assert NOW < (ledger.tasks.next_due(KINDS, besides=(bank, "none")) or NOW) <= MINUTE
        passes(2 * MINUTE)
        assert ledger.tasks.next_due(KINDS, besides=(bank,)) == NOW
        other = ledger.tasks.lease(KINDS, lasting=MINUTE, besides=(bank,))
        assert other is not None
        assert (other.bank, other.payload) == ("other", "third")
        assert ledger.tasks.next_due(KINDS, besides=(bank, "other")) is None
        assert ledger.tasks.lease(KINDS, lasting=MINUTE, besides=(bank, "other")) is None

    def test_tasks_are_counted_by_state(self, ledger: Ledger, bank: str) -> None:
        """Tasks are counted by state over all banks, including zero counts."""
        ledger.create_bank("other")
        enqueued(ledger, work("x"), work("y"), work("z"))
        enqueued(ledger, work("x"), bank="other")
        completed(ledger, leased(ledger, bank=bank).claim)
        ledger.tasks.fail(leased(ledger, bank=bank).claim, reason="enough", retry_in=None)
        leased(ledger, bank=bank)
        assert ledger.tasks.counts() == {
            TaskState.PENDING: 1,
            TaskState.LEASED: 1,
            TaskState.DONE: 1,
            TaskState.DEAD: 1,
        }

    def test_only_kinds_named_are_leased(self, ledger: Ledger, bank: str) -> None:
        """Only tasks of the given kinds are leased and counted as due."""
        enqueued(ledger, work("parked"))
        for kinds in ((QUEUED,), ()):
            assert ledger.tasks.lease(kinds, lasting=MINUTE) is None
            assert ledger.tasks.next_due(kinds) is None
        assert ledger.tasks.of_bank(bank)[0].attempts == 0

    @pytest.mark.usefixtures("bank")
    def test_the_next_is_known_without_waiting(self, ledger: Ledger, passes: Passes) -> None:
        """The next due time includes waiting tasks and ends of leases, but not done or dead tasks."""
        assert ledger.tasks.next_due(KINDS) is None
        (task,) = enqueued(ledger, work("x", 2 * MINUTE))
        assert MINUTE < (ledger.tasks.next_due(KINDS) or NOW) <= 2 * MINUTE
        passes(3 * MINUTE)
        assert ledger.tasks.next_due(KINDS) == NOW
        claim = leased(ledger).claim
        assert NOW < (ledger.tasks.next_due(KINDS) or NOW) <= MINUTE
        ledger.tasks.fail(claim, reason="enough", retry_in=None)
        assert (ledger.tasks.next_due(KINDS), state(ledger, task.id)) == (None, TaskState.DEAD)

    @pytest.mark.usefixtures("bank")
    def test_a_lease_ends(self, ledger: Ledger, passes: Passes) -> None:
        """A task whose lease has ended is leased again, and counts another attempt."""
        enqueued(ledger, work("x"))
        leased(ledger)
        passes(MINUTE / 2)
        assert idle(ledger)
        passes(MINUTE)
        task = leased(ledger)
        assert (task.attempts, task.lease, task.state) == (2, 2, TaskState.LEASED)
        assert task.lease_until is not None
        assert (task.lease_until - task.not_before) > MINUTE

    @pytest.mark.usefixtures("bank")
    def test_a_lease_that_is_renewed_goes_on(self, ledger: Ledger, passes: Passes) -> None:
        """A renewed lease continues as one attempt."""
        enqueued(ledger, work("x"))
        claim = leased(ledger).claim
        for _ in range(30):
            passes(MINUTE * 0.9)
            assert ledger.tasks.renew(claim, lasting=MINUTE)
            assert idle(ledger)
        completed(ledger, claim)
        assert state(ledger, claim.task) is TaskState.DONE
        assert not ledger.tasks.renew(claim, lasting=MINUTE)

    def test_a_late_holder_changes_nothing(self, ledger: Ledger, bank: str, passes: Passes) -> None:
        """A holder whose lease was taken over can neither renew, fail nor complete the task."""
        enqueued(ledger, work("x"))
        late = leased(ledger).claim
        passes(2 * MINUTE)
        holder = leased(ledger).claim
        before = ledger.tasks.of_bank(bank)
        assert not ledger.tasks.renew(late, lasting=9 * MINUTE)
        assert not ledger.tasks.fail(late, reason="late", retry_in=None)
        with pytest.raises(TaskClosed):
            completed(ledger, late, unit="twice")
        assert (ledger.tasks.of_bank(bank), ledger.units.count(bank), ledger.revision(bank)) == (before, 0, 1)
        completed(ledger, holder, unit="once")
        with pytest.raises(TaskClosed):
            completed(ledger, holder, unit="twice")
        assert (ledger.units.count(bank), state(ledger, holder.task)) == (1, TaskState.DONE)

    def test_a_holder_nobody_replaced_is_not_late(self, ledger: Ledger, bank: str, passes: Passes) -> None:
        """A holder whose lease ended can still complete the task if nobody else leased it."""
        enqueued(ledger, work("x"))
        claim = leased(ledger).claim
        passes(9 * MINUTE)
        completed(ledger, claim, unit="u")
        assert (ledger.units.count(bank), state(ledger, claim.task)) == (1, TaskState.DONE)

    def test_a_failed_task_rests_and_lets_others_pass(
        self, ledger: Ledger, bank: str, passes: Passes
    ) -> None:
        """A failed task is delayed with its reason, and other tasks are served first."""
        enqueued(ledger, work("poison"), work("sound"))
        poison = leased(ledger)
        assert ledger.tasks.fail(poison.claim, reason="bitter", retry_in=MINUTE)
        assert (leased(ledger).payload, idle(ledger, early=True)) == ("sound", True)
        task = ledger.tasks.of_bank(bank)[0]
        assert (task.state, task.reason, task.attempts) == (TaskState.PENDING, "bitter", 1)
        passes(MINUTE)
        assert leased(ledger).payload == "poison"

    def test_what_does_not_count_is_no_attempt(self, ledger: Ledger, bank: str) -> None:
        """A task that is put back without fault keeps its number of attempts, and counts the postponements."""
        enqueued(ledger, work("x"))
        for counted in (False, True, False):
            ledger.tasks.fail(leased(ledger).claim, reason="", retry_in=NOW, counted=counted)
        (task,) = ledger.tasks.of_bank(bank)
        assert (task.attempts, task.uncounted, task.lease) == (1, 2, 3)

    def test_a_dead_task_waits_until_it_is_made_due(self, ledger: Ledger, bank: str) -> None:
        """An abandoned task is listed, keeps its payload and can be retried."""
        enqueued(ledger, work("x"))
        ledger.tasks.fail(leased(ledger).claim, reason="enough", retry_in=None)
        assert (ledger.tasks.of_bank(bank)[0].state, idle(ledger)) == (TaskState.DEAD, True)
        assert ledger.tasks.make_due(bank, (QUEUED,)) == 0
        assert ledger.tasks.make_due(bank, KINDS) == 1
        task = leased(ledger)
        assert (task.attempts, task.payload) == (1, "x")
        assert ledger.tasks.make_due(bank, KINDS) == 0

    def test_completing_is_one_commit_with_the_facts(self, ledger: Ledger, bank: str, passes: Passes) -> None:
        """A task's result and its completion are one commit; a done task keeps no text."""
        enqueued(ledger, work("text"))
        claim = leased(ledger).claim
        with pytest.raises(RevisionConflict):
            commit(ledger, replace(make_write_set(7), completed_tasks=(claim,)))
        completed(ledger, claim, unit="u")
        (done,) = ledger.tasks.of_bank(bank)
        assert (done.state, done.payload, done.lease_until) == (TaskState.DONE, "", None)
        passes(60 * MINUTE)
        assert (idle(ledger), ledger.tasks.make_due(bank, KINDS)) == (True, 0)

    def test_only_what_is_leased_is_completed(self, ledger: Ledger, bank: str) -> None:
        """A task that is not leased or does not exist cannot be completed."""
        (task,) = enqueued(ledger, work("x"))
        for claim in (task.claim, TaskClaim(task.bank, task.id, 1), TaskClaim(task.bank, task.id + 99, 1)):
            with pytest.raises(TaskClosed):
                completed(ledger, claim, unit="u")
        assert (ledger.units.count(bank), state(ledger, task.id)) == (0, TaskState.PENDING)

    def test_an_erasure_takes_tasks_back(self, ledger: Ledger, bank: str) -> None:
        """An erasure revokes leases, so that results based on erased text are rejected; the task runs again without losing an attempt."""
        commit(ledger, make_write_set(units=make_units("u1")))
        enqueued(ledger, work("{}"))
        claim = leased(ledger).claim
        ledger.erasure.erase(bank, Erasure(unit="unknown"))
        assert ledger.tasks.renew(claim, lasting=MINUTE)
        ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert not ledger.tasks.renew(claim, lasting=MINUTE)
        with pytest.raises(TaskClosed):
            completed(ledger, claim)
        assert leased(ledger).attempts == 1

    def test_tasks_come_in_with_an_archive(self, ledger: Ledger, bank: str) -> None:
        """Imported tasks keep keys, attempts and reasons, but no leases."""
        enqueued(ledger, work("1", MINUTE, OBSERVE, "a"), work("2"), work("3", 9 * MINUTE), work("4"))
        completed(ledger, leased(ledger).claim)
        held = leased(ledger)
        ledger.create_bank("copy")
        ledger.archive.restore("copy", iter(list(ledger.archive.rows(bank))))
        found = {task.payload: task for task in ledger.tasks.of_bank("copy")}
        assert [task.payload for task in ledger.tasks.of_bank("copy")] == ["1", "", "3", "4"]
        assert (found["1"].kind, found["1"].key, found["1"].reason) == (OBSERVE, "a", "because of 1")
        assert (found["4"].state, found["4"].attempts) == (TaskState.PENDING, 1)
        assert ledger.tasks.of_bank(bank)[3] == held
        assert leased(ledger, bank="copy").payload == "4"
        with pytest.raises(TaskClosed):
            commit(
                ledger,
                replace(make_write_set(ledger.revision("copy"), bank="copy"), completed_tasks=(held.claim,)),
            )
        assert len(enqueued(ledger, work("5", kind=OBSERVE, key="a"), bank="copy")) == 1
        assert len(ledger.tasks.of_bank("copy")) == 4

    def test_the_tasks_of_an_entity_go_with_it(self, ledger: Ledger, bank: str) -> None:
        """Erasing an entity erases the tasks with its id."""
        writes = make_write_set(
            units=make_units("u1", "u2"),
            entities=[make_entity("e1", "alice"), make_entity("e2", "bob")],
            mentions=[("u1", "e1"), ("u2", "e2")],
        )
        commit(ledger, writes)
        enqueued(ledger, work("{}", kind=OBSERVE, key="e1"), work("{}", kind=OBSERVE, key="e2"))
        ledger.erasure.erase(bank, Erasure(entity="e1"))
        assert [task.key for task in ledger.tasks.of_bank(bank)] == ["e2"]


class TestSharedQueue:
    """Several workers can take tasks from the queue concurrently."""

    def test_three_holders_do_each_task_once(self, ledger: Ledger, bank: str) -> None:
        """Three concurrent workers run each task once."""
        count = 30
        enqueued(ledger, *(work(f"u{number}") for number in range(count)))
        start, ends = threading.Barrier(3), threading.Lock()

        def work_off() -> list[str]:
            done = []
            start.wait(60)
            while (task := ledger.tasks.lease(KINDS, lasting=MINUTE)) is not None:
                assert ledger.tasks.renew(task.claim, lasting=MINUTE)
                with ends:  # a revision is decided on by one at a time
                    completed(ledger, task.claim, unit=task.payload)
                done.append(task.payload)
            return done

        with ThreadPoolExecutor(3) as holders:
            results = [future.result() for future in [holders.submit(work_off) for _ in range(3)]]
        assert sorted(_all(results)) == sorted(f"u{number}" for number in range(count))
        assert ledger.units.count(bank) == count
        assert {task.state for task in ledger.tasks.of_bank(bank)} == {TaskState.DONE}

    def test_of_many_who_end_one_task_one_does(self, ledger: Ledger, bank: str) -> None:
        """Of several holders that complete one task, exactly one commits its result."""
        enqueued(ledger, work("x"))
        claim = leased(ledger).claim
        start = threading.Barrier(3)

        def end(unit: str) -> bool:
            start.wait(60)
            while True:
                try:
                    completed(ledger, claim, unit=unit)
                except RevisionConflict:
                    continue
                except TaskClosed:
                    return False
                return True

        with ThreadPoolExecutor(3) as holders:
            ended = list(holders.map(end, ["u1", "u2", "u3"]))
        assert (sum(ended), ledger.units.count(bank)) == (1, 1)
