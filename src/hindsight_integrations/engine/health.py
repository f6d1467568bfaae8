"""Health report of an engine: backends, banks, tasks and problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hindsight_integrations.bank import OpenBanks
from hindsight_integrations.bank.tasks import able_kinds
from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.display import Displayed, Table, count, fields
from hindsight_integrations.model.erasure import BankCopy, copies_table
from hindsight_integrations.model.tasks import TaskState, WorkerMode
from hindsight_integrations.services import Services


@dataclass(frozen=True, slots=True)
class TaskHealth:
    """State of the background tasks of all banks.

    Attributes:
        worker: where tasks run.
        working: whether this engine's own worker is running; False if it has none or an error stopped it.
        waiting: number of unfinished tasks, including running ones.
        dead: number of tasks that are no longer retried. `bank.tasks.list` shows why; `bank.tasks.retry` retries them.
        next_due: time until the next task that this engine can run (extraction needs a model) is due; zero if one is due now,
            None if there is none.
        last_failure: the latest failure of the worker or of a task it ran since the engine was opened; empty if none.
    """

    worker: WorkerMode
    working: bool
    waiting: int
    dead: int
    next_due: timedelta | None = None
    last_failure: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Health(Displayed):
    """Health report of an engine and its banks.

    Attributes:
        backends: name of the backend by role.
        banks: (number of memories, revision) by bank.
        failures: index failures that could not be repaired, by open bank.
        rebuilt: index failures since opening that were repaired from the ledger, by open bank.
        tasks: state of the background tasks.
        damaged: ids of memories and items whose checksums do not match, by bank; only with `deep=True`.
        ledger: problems of the ledger file; only with `deep=True`.
        latest: mention time of the most recently retained memory, by bank; None for an empty bank.
        unconfirmed: copies of banks on PostgreSQL that have not applied an erasure.
    """

    backends: dict[str, str]
    banks: dict[str, tuple[int, int]]
    failures: dict[str, str]
    rebuilt: dict[str, str]
    tasks: TaskHealth
    damaged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ledger: tuple[str, ...] = ()
    latest: dict[str, datetime | None] = field(default_factory=dict)
    unconfirmed: tuple[BankCopy, ...] = ()

    def _display_facts(self) -> tuple[str, ...]:
        damaged = sum(map(len, self.damaged.values()))
        problems = {
            "banks with failed indexes": len(self.failures),
            "damaged memories": damaged,
            "ledger problems": len(self.ledger),
            "dead tasks": self.tasks.dead,
            "copies with unconfirmed erasures": len(self.unconfirmed),
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
            copies_table(self.unconfirmed),
            fields(
                worker=self.tasks.worker.value,
                waiting_tasks=self.tasks.waiting,
                dead_tasks=self.tasks.dead,
                last_failure=self.tasks.last_failure,
            ),
        )


def bank_health(services: Services, names: Mapping[str, str], banks: OpenBanks, tasks: TaskHealth) -> Health:
    """Build the health report without reading all memories."""
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
        failures=_described({name: projection.problems() for name, projection in opened.items()}),
        rebuilt=_described({name: projection.rebuilt for name, projection in opened.items()}),
        tasks=tasks,
        latest={header.name: ledger.units.latest_mention(header.name) for header in headers},
        unconfirmed=ledger.copies.unconfirmed() if ledger.shared else (),
    )


def task_health(services: Services, *, working: bool, last_failure: str) -> TaskHealth:
    """Build the report of the background tasks."""
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
    """Add the results of verifying all checksums to a health report."""
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
        except StorageError as error:  # pages of the file are unreadable
            failures[name] = "; ".join(filter(None, (failures.get(name), str(error))))
        else:
            damaged.update({name: tuple(found)} if found else {})
    return replace(health, failures=failures, damaged=damaged, ledger=ledger.problems())


def _described(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Format index messages by bank; banks without messages are omitted."""
    return {
        bank: "; ".join(f"{index}: {what}" for index, what in indexes.items())
        for bank, indexes in found.items()
        if indexes
    }
