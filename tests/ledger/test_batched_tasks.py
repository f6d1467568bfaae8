"""Contract of tasks of a batch, which wait for each other and run together."""

from __future__ import annotations

import pytest
from ledger_support import Passes
from ledger_tasks import MINUTE, NOW, completed, enqueued, idle, leased, state

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import Batch, Task, TaskKind, TaskState, TaskWrite


def turn(payload: str, *, size: int = 1, room: int = 10, batch: str = "a") -> TaskWrite:
    return TaskWrite(TaskKind.EXTRACT_WAITING, payload, 2 * MINUTE, batch=Batch(batch, size, room))


def payloads(task: Task) -> list[str]:
    return [member.payload for member in task.members]


class TestBatchedTasks:
    """The tasks of a batch are postponed, leased and failed together."""

    @pytest.mark.usefixtures("bank")
    def test_a_new_task_postpones_the_others_and_one_lease_takes_all(
        self, ledger: Ledger, passes: Passes
    ) -> None:
        """Tasks of another batch or bank are neither postponed nor leased with it."""
        ledger.create_bank("other")
        enqueued(ledger, turn("1"), turn("x", batch="b"))
        enqueued(ledger, turn("y"), bank="other")
        passes(MINUTE)
        enqueued(ledger, turn("2"))
        passes(MINUTE)
        others = [leased(ledger), leased(ledger)]
        assert [payloads(task) for task in others] == [["x"], ["y"]]
        assert idle(ledger)
        for task in others:
            ledger.tasks.fail(task.claim, reason="", retry_in=None)
        passes(MINUTE)
        assert payloads(leased(ledger)) == ["1", "2"]

    @pytest.mark.usefixtures("bank")
    def test_a_full_batch_is_due_and_the_new_task_waits_for_others(
        self, ledger: Ledger, passes: Passes
    ) -> None:
        enqueued(ledger, turn("1", size=6), turn("2", size=4))
        assert idle(ledger)
        enqueued(ledger, turn("3", size=1), turn("4", size=9))
        full = leased(ledger)
        assert payloads(full) == ["1", "2"]
        assert idle(ledger)
        completed(ledger, *(member.claim for member in full.members))
        passes(2 * MINUTE)
        assert payloads(leased(ledger)) == ["3", "4"]

    @pytest.mark.usefixtures("bank")
    def test_early_the_whole_batch_is_leased(self, ledger: Ledger) -> None:
        enqueued(ledger, turn("1", size=6), turn("2", size=4), turn("3"))
        assert payloads(leased(ledger, early=True)) == ["1", "2", "3"]

    @pytest.mark.usefixtures("bank")
    def test_after_a_kill_the_batch_is_leased_again_and_completed_once(
        self, ledger: Ledger, passes: Passes
    ) -> None:
        """A holder whose lease has ended cannot complete any of it."""
        enqueued(ledger, turn("1"), turn("2"))
        late = leased(ledger, early=True)
        passes(MINUTE)
        task = leased(ledger)
        assert (payloads(task), [member.attempts for member in task.members]) == (["1", "2"], [2, 2])
        with pytest.raises(TaskClosed):
            completed(ledger, *(member.claim for member in late.members))
        completed(ledger, *(member.claim for member in task.members))
        assert {state(ledger, member.id) for member in task.members} == {TaskState.DONE}

    @pytest.mark.usefixtures("bank")
    def test_a_failed_batch_keeps_its_delay_when_a_task_joins_it(
        self, ledger: Ledger, passes: Passes
    ) -> None:
        """The new task waits for others of its own; the failed ones are tried again at their time."""
        enqueued(ledger, turn("1"), turn("2"))
        for member in leased(ledger, early=True).members:
            assert ledger.tasks.fail(member.claim, reason="down", retry_in=MINUTE, counted=False)
        enqueued(ledger, turn("3"))
        passes(MINUTE)
        assert payloads(leased(ledger)) == ["1", "2"]
        assert idle(ledger)
        assert ledger.tasks.next_due([TaskKind.EXTRACT_WAITING]) != NOW
