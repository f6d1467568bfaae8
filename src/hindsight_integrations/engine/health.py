"""Health: what an engine runs on, how its banks are and what waits to be done, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hindsight_integrations.bank import OpenBanks
from hindsight_integrations.bank.tasks import able_kinds
from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.display import Displayed, Table, count, fields
from hindsight_integrations.model.tasks import TaskState, WorkerMode
from hindsight_integrations.services import Services


@dataclass(frozen=True, slots=True)
class TaskHealth:
    """What waits to be done in the background, over all banks, and who does it.

    Attributes:
        worker: who does it without being called.
        working: whether this engine's own worker is at it; False where it has none, or where it was brought down.
        waiting: tasks that are to be done, those under way included.
        dead: tasks given up; `bank.tasks.list` says why, `bank.tasks.retry` makes them due again.
        next_due: how long until the next is due of those that this engine could do (passages need a model): zero if one is,
            None if none waits.
        last_failure: what went wrong last, with the worker or with a task it did; empty if nothing has since the
            engine was opened.
    """

    worker: WorkerMode
    working: bool
    waiting: int
    dead: int
    next_due: timedelta | None = None
    last_failure: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Health(Displayed):
    """What an engine runs on and how its open banks are, for people.

    Attributes:
        backends: role to what serves it.
        banks: bank to (units, revision) of every bank.
        failures: open bank to the indexes that could not be written or healed, and why; empty when all is well.
        rebuilt: open bank to what failed since it was opened and was healed from the ledger.
        tasks: what waits, and who does it.
        damaged: bank to the ids of memories whose text, times or vector, and to the items whose value, are not what was written; a deep look alone
            finds them.
        ledger: what is wrong with the ledger's file; likewise.
        latest: bank to the mention time of its latest memory, that is the one retained last; None for an empty bank.
    """

    backends: dict[str, str]
    banks: dict[str, tuple[int, int]]
    failures: dict[str, str]
    rebuilt: dict[str, str]
    tasks: TaskHealth
    damaged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ledger: tuple[str, ...] = ()
    latest: dict[str, datetime | None] = field(default_factory=dict)

    def _display_facts(self) -> tuple[str, ...]:
        damaged = sum(map(len, self.damaged.values()))
        problems = {
            "banks with failed indexes": len(self.failures),
            "damaged memories": damaged,
            "problems of the ledger": len(self.ledger),
            "dead tasks": self.tasks.dead,
        }
        said = [f"{number:,} {what}" for what, number in problems.items() if number]
        waiting = f"{count(self.tasks.waiting, 'task')} waiting" if self.tasks.waiting else ""
        return count(len(self.banks), "bank"), *(said or ["no failures"]), waiting

    def _display_tables(self) -> tuple[Table, ...]:
        banks = [
            (name, units, revision, self.failures.get(name), self.damaged.get(name))
            for name, (units, revision) in self.banks.items()
        ]
        return (
            Table(("bank", "memories", "revision", "failures", "damaged"), banks),
            Table(("backend", ""), list(self.backends.items())),
            Table(("ledger",), [(problem,) for problem in self.ledger]),
            fields(
                worker=self.tasks.worker.value,
                waiting_tasks=self.tasks.waiting,
                dead_tasks=self.tasks.dead,
                last_failure=self.tasks.last_failure,
            ),
        )


def bank_health(services: Services, names: Mapping[str, str], banks: OpenBanks, tasks: TaskHealth) -> Health:
    """Look at the engine's parts and banks.

    Args:
        services: the engine's.
        names: role to what serves it, of storage.
        banks: the engine's.
        tasks: what waits.
    """
    ledger, opened = services.ledger, banks.projections()
    headers = ledger.banks()
    return Health(
        backends={
            **names,
            "embedder": str(services.embedder.identity),
            "reranker": services.reranker.name if services.reranker else "none",
            "model": services.model.name if services.model else "none",
            "tokens": services.tokens.name,
        },
        banks={header.name: (ledger.units.count(header.name), header.revision) for header in headers},
        failures=_told({name: projection.problems() for name, projection in opened.items()}),
        rebuilt=_told({name: projection.rebuilt for name, projection in opened.items()}),
        tasks=tasks,
        latest={header.name: ledger.units.latest_mention(header.name) for header in headers},
    )


def task_health(services: Services, *, working: bool, last_failure: str) -> TaskHealth:
    """Count what waits.

    Args:
        services: the engine's.
        working: whether its own worker is at it.
        last_failure: what that says of itself.
    """
    counts = services.ledger.tasks.counts()
    return TaskHealth(
        worker=services.worker,
        working=working,
        waiting=counts[TaskState.PENDING] + counts[TaskState.LEASED],
        dead=counts[TaskState.DEAD],
        next_due=services.ledger.tasks.next_due(able_kinds(services)),
        last_failure=last_failure,
    )


def checked_against_what_was_written(health: Health, services: Services) -> Health:
    """The same after everything was read and compared with its checksums."""
    ledger = services.ledger
    damaged, failures = {}, dict(health.failures)
    for name in health.banks:
        try:
            everything = (
                *ledger.units.damaged(name),
                *ledger.units.damaged_vectors(name),
                *ledger.items.damaged(name),
            )
            found = dict.fromkeys(everything)
        except StorageError as error:  # pages that cannot be read at all
            failures[name] = "; ".join(filter(None, (failures.get(name), str(error))))
        else:
            damaged.update({name: tuple(found)} if found else {})
    return replace(health, failures=failures, damaged=damaged, ledger=ledger.problems())


def _told(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Bank to its indexes and what is to be said of each, where there is anything."""
    return {
        bank: "; ".join(f"{index}: {what}" for index, what in indexes.items())
        for bank, indexes in found.items()
        if indexes
    }
