"""When something happens: how many sessions a day has, how many of them touch memory, and what they do (Memora A.3, Table 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from hindsight_evals.simulator.memories import Operation


@dataclass(frozen=True, slots=True)
class Pressure:
    """How much there is to remember and to change.

    Attributes:
        sessions: a day.
        grounded: share of the sessions that do something to memory, in [0, 1].
        update: share of the operations that change a memory, in [0, 1].
        delete: share of the operations that end one; update + delete < 1.
        expenses: purchases a day. With the day's steps these are what has to be consolidated into sums.
    """

    sessions: float
    grounded: float
    update: float
    delete: float
    expenses: float = 3.4

    def scaled(self, *, mutation: float = 1.0, consolidation: float = 1.0) -> Pressure:
        """With so many times the updates and deletions, and so many times the purchases.

        Args:
            mutation: factor on the shares of updates and deletions, which stay below 0.9 together.
            consolidation: factor on purchases, and on sessions so that all else stays as often.
        """
        mutation = min(mutation, 0.9 / (self.update + self.delete))
        expenses = self.expenses * consolidation
        return Pressure(
            self.sessions + (expenses - self.expenses) / self.grounded,
            self.grounded,
            self.update * mutation,
            self.delete * mutation,
            expenses,
        )


@dataclass(frozen=True, slots=True)
class Period:
    """A length of time of which Memora publishes the numbers."""

    days: int
    pressure: Pressure


PERIODS: Mapping[str, Period] = {
    "week": Period(7, Pressure(155 / 7, 103.2 / 155, 0.13, 0.19)),
    "month": Period(30, Pressure(615 / 30, 374.3 / 615, 0.16, 0.21)),
    "quarter": Period(90, Pressure(1991 / 90, 1171.4 / 1991, 0.18, 0.19)),
    "year": Period(365, Pressure(1991 / 90, 1171.4 / 1991, 0.18, 0.19)),
}
"""Memora, Table 2; a year goes on as the quarter."""


@dataclass(frozen=True, slots=True)
class DayPlan:
    """What one day holds.

    Attributes:
        expenses: purchases told.
        operations: what else is done, in order; the day's steps are told beside it.
        neutral: sessions that leave memory as it is.
    """

    expenses: int
    operations: tuple[Operation, ...]
    neutral: int


def day_plans(days: int, pressure: Pressure, random: Random) -> Iterator[DayPlan]:
    """Plans whose sums keep to the pressure's rates, while single days vary by a third."""
    done: Counter[str] = Counter()
    operations: Counter[Operation] = Counter()
    for day in range(1, days + 1):
        level = day + random.uniform(-0.33, 0.33) * (day < days)
        sessions = max(2, round(pressure.sessions * level) - done["sessions"])
        grounded = max(1, round(pressure.sessions * pressure.grounded * level) - done["grounded"])
        expenses = min(grounded - 1, max(0, round(pressure.expenses * level) - done["expenses"]))
        operations[Operation.ADD] += expenses + 1
        others = tuple(_due(operations, pressure) for _ in range(grounded - 1 - expenses))
        neutral = max(0, sessions - grounded)
        done.update(sessions=grounded + neutral, grounded=grounded, expenses=expenses)
        yield DayPlan(expenses, tuple(random.sample(others, len(others))), neutral)


def _due(done: Counter[Operation], pressure: Pressure) -> Operation:
    """The operation that is furthest behind its share, which is counted as done."""
    shares = {Operation.UPDATE: pressure.update, Operation.DELETE: pressure.delete}
    shares[Operation.ADD] = 1 - sum(shares.values())
    total = sum(done.values()) + 1
    due = max(shares, key=lambda operation: shares[operation] * total - done[operation])
    done[due] += 1
    return due
