"""The ledger's task queue behaves like a linearly searched list under any sequence of operations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from builders import make_write_set
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_support import commit
from task_queue import LASTING, TaskQueue

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import TaskClaim, TaskKind, TaskWrite
from hindsight_integrations.testing.doubles import FrozenClock

KINDS = (TaskKind.OBSERVE,)
BANKS = ("one", "two")
SECOND = timedelta(seconds=1)

# Most operations concern one task of one bank, because the interesting cases happen to the same task at
# several times.
BANK, HELD = st.sampled_from(["one", "one", "one", "two"]), st.sampled_from([0, 0, 1])
DELAYS = st.sampled_from([0, 5, 60])
ENQUEUE = st.tuples(st.just("enqueue"), BANK, st.sampled_from(["a", "a", "b", ""]), DELAYS)
ADVANCE = st.tuples(st.just("advance"), st.sampled_from([1, 30, 61, 61]))
LEASE = st.tuples(st.just("lease"), st.none() | BANK, st.booleans())
END = st.one_of(
    st.tuples(st.just("renew"), HELD),
    st.tuples(st.just("fail"), HELD, st.none() | DELAYS, st.booleans()),
    st.tuples(st.just("complete"), HELD),
)
REST = st.tuples(st.just("make_due"), BANK)
STEPS = st.one_of(ENQUEUE, ADVANCE, LEASE, ENQUEUE, ADVANCE, LEASE, END, END, REST)


@dataclass
class Both:
    """A ledger and its reference model."""

    clock: FrozenClock = field(default_factory=FrozenClock)
    queue: TaskQueue = field(default_factory=TaskQueue)
    claims: list[tuple[TaskClaim, tuple[int, int]]] = field(default_factory=list)
    payloads: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger.open(":memory:", clock=self.clock)
        for bank in BANKS:
            self.ledger.create_bank(bank)

    def enqueue(self, bank: str, key: str, delay: int) -> None:
        self.payloads += 1
        task = TaskWrite(TaskKind.OBSERVE, str(self.payloads), delay * SECOND, key=key)
        writes = make_write_set(self.ledger.revision(bank), bank=bank)
        commit(self.ledger, replace(writes, tasks=(task,)))
        self.queue.enqueue(bank, key, str(self.payloads), delay)

    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds * SECOND)
        self.queue.now += seconds

    def lease(self, bank: str | None, early: bool) -> None:
        task = self.ledger.tasks.lease(KINDS, lasting=LASTING * SECOND, bank=bank, early=early)
        claim = self.queue.lease(bank, early=early)
        assert (task is None) == (claim is None)
        if task is not None and claim is not None:
            assert (task.payload, task.lease) == (self.queue.tasks[claim[0]].payload, claim[1])
            self.claims.append((task.claim, claim))

    def renew(self, held: int) -> None:
        if mine := self.claims[-1 - held : len(self.claims) - held]:
            assert self.ledger.tasks.renew(mine[0][0], lasting=LASTING * SECOND) == self.queue.renew(
                mine[0][1]
            )

    def fail(self, held: int, rest: int | None, counted: bool) -> None:
        if mine := self.claims[-1 - held : len(self.claims) - held]:
            retry_in = None if rest is None else rest * SECOND
            failed = self.ledger.tasks.fail(mine[0][0], reason="", retry_in=retry_in, counted=counted)
            assert failed == self.queue.fail(mine[0][1], rest, counted=counted)

    def complete(self, held: int) -> None:
        for claim, expected in self.claims[-1 - held : len(self.claims) - held]:
            bank = self.queue.tasks[expected[0]].bank
            writes = make_write_set(self.ledger.revision(bank), bank=bank)
            try:
                commit(self.ledger, replace(writes, completed_tasks=(claim,)))
            except TaskClosed:
                assert not self.queue.complete(expected)
            else:
                assert self.queue.complete(expected)

    def make_due(self, bank: str) -> None:
        assert self.ledger.tasks.make_due(bank, KINDS) == self.queue.make_due(bank)

    def check(self) -> None:
        """Check that both agree on every task and on the next due time."""
        for bank in BANKS:
            found = [
                (task.key, task.payload, task.state, task.attempts, task.uncounted, task.lease)
                for task in self.ledger.tasks.of_bank(bank)
            ]
            assert found == [
                (task.key, task.payload, task.state, task.attempts, task.uncounted, task.lease)
                for task in self.queue.tasks
                if task.bank == bank
            ]
        due, expected = self.ledger.tasks.next_due(KINDS), self.queue.next_due()
        assert due == (None if expected is None else expected * SECOND)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, min_size=20, max_size=50))
def test_the_ledger_and_a_list_do_the_same(steps: list[tuple[Any, ...]]) -> None:
    """Leases, renewals, failures, completions and keyed enqueues have the same effects in both."""
    both = Both()
    for name, *arguments in steps:
        getattr(both, name)(*arguments)
        both.check()
    both.ledger.close()
