"""Contract of tasks with a key, of which there is one each."""

from __future__ import annotations

import pytest
from ledger_support import Passes
from ledger_tasks import (
    MINUTE,
    NOW,
    OBSERVE,
    completed,
    enqueued,
    idle,
    leased,
    state,
    work,
)

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import TaskState, TaskWrite


class TestKeyedTasks:
    """A bank has one task per kind and key, however often it is enqueued."""

    @pytest.mark.usefixtures("bank")
    def test_enqueued_again_it_stays_due_when_it_was(self, ledger: Ledger, passes: Passes) -> None:
        """Repeated changes give one task, due a fixed time after the first change, with the last payload."""
        (first,) = enqueued(ledger, work("1", MINUTE, OBSERVE, "a"))
        passes(MINUTE / 2)
        (again, other) = enqueued(ledger, work("2", MINUTE, OBSERVE, "a"), work("3", MINUTE, OBSERVE, "b"))
        assert (again.id, again.not_before, again.payload) == (first.id, first.not_before, "2")
        assert again.reason == "because of 2"
        assert other.id != first.id
        passes(MINUTE / 2)
        assert (leased(ledger).payload, idle(ledger)) == ("2", True)

    def test_the_same_of_another_kind_or_bank_is_another_task(self, ledger: Ledger, bank: str) -> None:
        """Tasks of another kind or bank are separate, and so is every task without a key."""
        ledger.create_bank("other")
        enqueued(ledger, work("1", key="a"), work("2", kind=OBSERVE, key="a"), work("3"), work("3"))
        enqueued(ledger, work("4", key="a"), bank="other")
        assert (len(ledger.tasks.of_bank(bank)), len(ledger.tasks.of_bank("other"))) == (4, 1)

    def test_why_it_rests_is_not_forgotten(self, ledger: Ledger, bank: str) -> None:
        """Enqueueing without a reason keeps the reason of the last failure."""
        enqueued(ledger, TaskWrite(OBSERVE, "{}", key="a"))
        ledger.tasks.fail(leased(ledger).claim, reason="bitter", retry_in=MINUTE)
        enqueued(ledger, TaskWrite(OBSERVE, "{}", MINUTE, key="a"))
        (task,) = ledger.tasks.of_bank(bank)
        assert (task.reason, task.attempts, ledger.revision(bank)) == ("bitter", 1, 1)
        (task,) = enqueued(ledger, work("{}", kind=OBSERVE, key="a"))
        assert task.reason == "because of {}"

    def test_enqueuing_the_same_again_is_no_revision(self, ledger: Ledger, bank: str) -> None:
        """A commit that leaves the waiting task unchanged does not raise the revision."""
        for _ in range(3):
            enqueued(ledger, work("{}", MINUTE, OBSERVE, "a"))
        assert ledger.revision(bank) == 1

    def test_a_delay_is_not_waited_out_by_who_settles(self, ledger: Ledger, bank: str) -> None:
        """An early caller gets a keyed task that was never started; a pause after a failure, and other tasks' delays, still apply."""
        enqueued(ledger, work("keyed", 9 * MINUTE, OBSERVE, "a"), work("parked", 9 * MINUTE))
        assert idle(ledger)
        claim = leased(ledger, bank=bank, early=True).claim
        ledger.tasks.fail(claim, reason="", retry_in=MINUTE, counted=False)
        assert idle(ledger, early=True)

    def test_enqueued_while_leased_it_is_done_again(self, ledger: Ledger, bank: str, passes: Passes) -> None:
        """A task enqueued while leased runs again after its delay once it is completed."""
        enqueued(ledger, work("1", kind=OBSERVE, key="a"))
        task = leased(ledger)
        (same,) = enqueued(ledger, work("2", 5 * MINUTE, OBSERVE, "a"))
        assert (same.id, same.state, same.lease) == (task.id, TaskState.LEASED, 1)
        completed(ledger, task.claim, unit="u")
        (more,) = ledger.tasks.of_bank(bank)
        assert (more.state, more.payload, more.attempts) == (TaskState.PENDING, "2", 0)
        assert idle(ledger)
        passes(4 * MINUTE)
        assert idle(ledger)
        passes(MINUTE)
        last = leased(ledger)
        completed(ledger, last.claim)
        assert (last.lease, state(ledger, task.id)) == (2, TaskState.DONE)

    @pytest.mark.usefixtures("bank")
    def test_done_or_dead_it_begins_again(self, ledger: Ledger) -> None:
        """A done or dead task that is enqueued again has all its attempts."""
        (first,) = enqueued(ledger, work("1", kind=OBSERVE, key="a"))
        completed(ledger, leased(ledger).claim)
        enqueued(ledger, work("2", kind=OBSERVE, key="a"))
        ledger.tasks.fail(leased(ledger).claim, reason="enough", retry_in=None)
        (third,) = enqueued(ledger, work("3", kind=OBSERVE, key="a"))
        assert (third.id, third.state, third.attempts, third.lease) == (first.id, TaskState.PENDING, 0, 2)
        assert leased(ledger).payload == "3"

    def test_failed_while_enqueued_again_it_is_done_once(self, ledger: Ledger, bank: str) -> None:
        """If a task is enqueued while running and then fails, the next attempt has the new payload and runs once."""
        (task,) = enqueued(ledger, work("1", kind=OBSERVE, key="a"))
        claim = leased(ledger).claim
        enqueued(ledger, work("2", kind=OBSERVE, key="a"))
        ledger.tasks.fail(claim, reason="bitter", retry_in=NOW)
        second = leased(ledger, bank=bank)
        assert (second.payload, second.attempts) == ("2", 2)
        completed(ledger, second.claim)
        assert state(ledger, task.id) is TaskState.DONE

    def test_given_up_while_enqueued_again_it_begins_again(self, ledger: Ledger, bank: str) -> None:
        """If a task is enqueued during its last attempt, it is not abandoned."""
        enqueued(ledger, work("1", kind=OBSERVE, key="a"))
        claim = leased(ledger).claim
        enqueued(ledger, work("2", kind=OBSERVE, key="a"))
        assert ledger.tasks.fail(claim, reason="enough", retry_in=None)
        (task,) = ledger.tasks.of_bank(bank)
        assert (task.state, task.attempts, leased(ledger).payload) == (TaskState.PENDING, 0, "2")
