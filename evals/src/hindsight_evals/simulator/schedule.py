"""The number of sessions per day, the share that changes memory, and their operations (Memora A.3, Table 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from hindsight_evals.simulator.memories import Operation


@dataclass(frozen=True, slots=True)
class Pressure:
    """The rates of statements and changes.

    Attributes:
        sessions: number per day.
        grounded: share of the sessions that change memory, in [0, 1].
        update: share of the operations that change a memory, in [0, 1].
        delete: share of the operations that end one; update + delete < 1.
        expenses: purchases per day; sums are computed over these and the steps.
    """

    sessions: float
    grounded: float
    update: float
    delete: float
    expenses: float = 3.4

    def scaled(self, *, mutation: float = 1.0, consolidation: float = 1.0) -> Pressure:
        """Return rates multiplied by the given factors.

        Args:
            mutation: factor for the shares of updates and deletions, whose sum stays below 0.9.
            consolidation: factor for purchases; sessions grow accordingly, so that all other rates stay the
                same.
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
    """A period for which Memora publishes figures."""

    days: int
    pressure: Pressure


PERIODS: Mapping[str, Period] = {
    "week": Period(7, Pressure(155 / 7, 103.2 / 155, 0.13, 0.19)),
    "month": Period(30, Pressure(615 / 30, 374.3 / 615, 0.16, 0.21)),
    "quarter": Period(90, Pressure(1991 / 90, 1171.4 / 1991, 0.18, 0.19)),
    "year": Period(365, Pressure(1991 / 90, 1171.4 / 1991, 0.18, 0.19)),
}
"""The figures of Memora, Table 2; a year has the rates of the quarter."""


@dataclass(frozen=True, slots=True)
class DayPlan:
    """The sessions of one day.

    Attributes:
        expenses: number of purchases.
        operations: other operations, in order; the day's steps are stated in addition.
        neutral: number of sessions that do not change memory.
    """

    expenses: int
    operations: tuple[Operation, ...]
    neutral: int


def day_plans(days: int, pressure: Pressure, random: Random) -> Iterator[DayPlan]:
    """Yield plans whose totals follow the rates, while single days vary by a third."""
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
    """Return the operation that is furthest below its share, and count it."""
    shares = {Operation.UPDATE: pressure.update, Operation.DELETE: pressure.delete}
    shares[Operation.ADD] = 1 - sum(shares.values())
    total = sum(done.values()) + 1
    due = max(shares, key=lambda operation: shares[operation] * total - done[operation])
    done[due] += 1
    return due
