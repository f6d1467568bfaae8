"""The rerank deadline: kept if batches cost the same, and exceeded by less than a batch otherwise."""

from __future__ import annotations

from itertools import accumulate
from unittest.mock import patch

import numpy as np
from builders import make_unit
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.recall import rerank
from hindsight_integrations.recall.rerank import BATCH, score_until
from hindsight_integrations.testing.doubles import FixedReranker

COSTS = st.lists(st.integers(1, 400), min_size=1, max_size=10)  # milliseconds of each batch


class Stopwatch:
    """A clock that a reranker of known cost advances, in place of `time`."""

    def __init__(self, costs: list[int]) -> None:
        self.milliseconds, self.batches, self._costs = 0, 0, costs

    def perf_counter(self) -> float:
        return self.milliseconds / 1000

    def spend(self, pairs: int) -> None:
        assert 1 <= pairs <= BATCH
        self.milliseconds += self._costs[self.batches]
        self.batches += 1


def scored(watch: Stopwatch, count: int, deadline: float) -> int:
    """The number of scored units; their scores must be those of the first units, in order."""
    units = [make_unit(f"u{n}", "kayak " * (n % 7 + 1)) for n in range(count)]
    reranker = FixedReranker(lambda _, text: float(len(text)), on_call=watch.spend)
    with patch.object(rerank, "time", watch):
        scores = score_until(reranker, "kayak", units, deadline)
    assert scores.dtype == np.float32
    assert scores.tolist() == [float(len(rerank.rerank_text(unit))) for unit in units[: len(scores)]]
    return len(scores)


@given(
    cost=st.integers(1, 400),
    batches=st.integers(1, 10),
    short=st.integers(0, BATCH - 1),
    deadline=st.integers(0, 1500),
)
def test_with_even_batches_the_deadline_holds(cost: int, batches: int, short: int, deadline: int) -> None:
    """With equal batches, exactly those that end in time are scored, at least one."""
    watch = Stopwatch([cost] * batches)
    count = batches * BATCH - short
    in_time = min(batches, max(1, deadline // cost))
    assert scored(watch, count, deadline) == min(count, in_time * BATCH)
    assert watch.milliseconds <= max(deadline, cost)


@given(costs=COSTS, deadline=st.integers(0, 1500))
def test_uneven_batches_overrun_by_less_than_one(costs: list[int], deadline: int) -> None:
    """No batch is started that would end too late at the pace of the slowest, and none is left out that would end in time."""
    watch = Stopwatch(costs)
    done = scored(watch, len(costs) * BATCH, deadline) // BATCH
    spent = list(accumulate(costs, initial=0))
    assert all(spent[n] + max(costs[:n]) <= deadline for n in range(1, done))
    assert done == len(costs) or spent[done] + max(costs[:done]) > deadline
    assert watch.milliseconds <= max(deadline + costs[done - 1] - 1, costs[0])


def test_nothing_to_score_takes_no_time() -> None:
    """Without units the reranker is not called."""
    assert scored(Stopwatch([]), 0, 1000.0) == 0
