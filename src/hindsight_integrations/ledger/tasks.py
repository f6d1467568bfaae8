"""The task queue: enqueuing, leasing, renewing, failing and completing tasks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Row,
    Select,
    Subquery,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    union_all,
    update,
)

from hindsight_integrations.errors import TaskClosed
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.rows import find_bank
from hindsight_integrations.ledger.sql import Values, among, in_bank, insert, run_many, strings
from hindsight_integrations.ledger.tables import Int, banks, tasks
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros

_MICROSECOND = timedelta(microseconds=1)
_PENDING, _LEASED = TaskState.PENDING.value, TaskState.LEASED.value

KEYED = tasks.c.key != literal_column("''")
"""Condition: the task has a key.

The empty string must be a literal, as in the partial index on keys; with a parameter, the index would not be used.
"""

BATCHED = tasks.c.batch != literal_column("''")
"""Condition: the task belongs to a batch. Written as in the partial index."""

_COLUMNS = (
    "id",
    "kind",
    "key",
    "state",
    "attempts",
    "uncounted",
    "lease",
    "not_before",
    "lease_until",
    "last_error",
    "payload",
    "batch",
)
_TASKS = select(*tasks.c[_COLUMNS], banks.c.name).join_from(tasks, banks)
_BANK_TASKS = _TASKS.where(tasks.c.bank == bindparam("bank")).order_by(tasks.c.id)
_TASK = _TASKS.where(in_bank(tasks), tasks.c.id == bindparam("id"))
_KEYED_TASK = _TASKS.where(
    tasks.c.bank == bindparam("bank"),
    tasks.c.kind == bindparam("kind"),
    tasks.c.key == bindparam("key"),
    KEYED,
)
_COUNTS = select(tasks.c.state, func.count()).group_by(tasks.c.state)
_ANY_LEASED = select(tasks.c.id).where(tasks.c.lease_until.is_not(None)).limit(1)

_task = tasks.alias("task")


def _firsts(name: str, *conditions: ColumnElement[bool], leasing: bool = False) -> Subquery:
    """Select (bank, id, due) of the first due task of each of the given kinds, by one index search per kind.

    With `leasing`, the rows are locked, and rows that another process is leasing are skipped. (This concerns only
    PostgreSQL, because SQLite has one writer.)

    Args:
        name: `due` or `early`.
        conditions: conditions on the tasks.
        leasing: whether to lock the rows.
    """
    busy = select(banks.c.id).where(among(banks.c.name, "besides"))
    firsts = []
    for kind in TaskKind:
        wanted = literal_column(f"'{kind.value}'").in_(select(strings("kinds").c.value))
        query = select(_task.c.bank, _task.c.id, _task.c[name].label("due")).where(
            _task.c.kind == kind.value, wanted, _task.c.bank.not_in(busy), *conditions
        )
        if leasing:
            query = query.with_for_update(skip_locked=True, of=_task)
        firsts.append(select(query.order_by(_task.c[name], _task.c.id).limit(1).subquery()))
    return union_all(*firsts).subquery("first")


def _first(*, early: bool, of_bank: bool) -> Select[int, int, str]:
    """Select (bank, id, bank's name) of the first due task among the given kinds, and lock it."""
    name = "early" if early else "due"
    conditions = [_task.c[name] <= bindparam("now")]
    if of_bank:
        conditions.append(_task.c.bank == bindparam("of"))
    first = _firsts(name, *conditions, leasing=True)
    return (
        select(first.c.bank, first.c.id, banks.c.name)
        .join(banks, banks.c.id == first.c.bank)
        .order_by(first.c.due, first.c.id)
        .limit(1)
    )


_FIRST_DUE = {
    (early, of_bank): _first(early=early, of_bank=of_bank)
    for early in (False, True)
    for of_bank in (False, True)
}
_NEXT = select(_firsts("due", _task.c.due.is_not(None)).c.due)
_TAKEN = {
    "state": _LEASED,
    "attempts": tasks.c.attempts + 1,
    "lease": tasks.c.lease + 1,
    "lease_until": bindparam("until"),
}
_LEASE = (
    update(tasks)
    .where(in_bank(tasks, "of"), tasks.c.id == bindparam("task"))
    .values(_TAKEN)
    .returning(*tasks.c[_COLUMNS])
)


def _lease_others(*, early: bool) -> Executable:
    """Build the UPDATE that leases the other due tasks of a batch, except those that another process is leasing."""
    due = _task.c.early if early else _task.c.due
    others = (
        select(_task.c.id)
        .where(
            _task.c.bank == bindparam("of"),
            _task.c.kind == bindparam("of_kind"),
            _task.c.batch == bindparam("in_batch"),
            _task.c.batch != literal_column("''"),
            _task.c.due.is_not(None),
            due <= bindparam("now"),
        )
        .with_for_update(skip_locked=True, of=_task)
    )
    return (
        update(tasks)
        .where(in_bank(tasks, "of"), tasks.c.id.in_(others))
        .values(_TAKEN)
        .returning(*tasks.c[_COLUMNS])
    )


_LEASE_OTHERS = {early: _lease_others(early=early) for early in (False, True)}

# The lease number identifies a holder. Leasing the task again changes the number.
_HELD = update(tasks).where(
    tasks.c.bank == select(banks.c.id).where(banks.c.name == bindparam("of_bank")).scalar_subquery(),
    tasks.c.id == bindparam("task"),
    tasks.c.lease == bindparam("claim"),
    tasks.c.state == _LEASED,
)
_OF_BANK = tasks.c.bank == bindparam("of")
_RENEW = _HELD.values(lease_until=bindparam("until"))
_FAIL = _HELD.values(
    state=bindparam("outcome"),
    lease_until=None,
    last_error=bindparam("reason"),
    again=None,
    debounce=0,
    not_before=func.coalesce(bindparam("retry_at", type_=Int), tasks.c.not_before),
    attempts=tasks.c.attempts - bindparam("uncounted_attempts"),
    uncounted=tasks.c.uncounted + bindparam("uncounted_attempts"),
)
# A task that was enqueued again during its lease becomes pending at the end of the lease.
_RESTART = _HELD.where(tasks.c.again.is_not(None)).values(
    state=_PENDING,
    lease_until=None,
    attempts=0,
    uncounted=0,
    not_before=tasks.c.again + bindparam("now"),
    debounce=tasks.c.again,
    again=None,
)
_RESTART_OF_BANK = _RESTART.where(_OF_BANK)
_COMPLETE = _HELD.where(_OF_BANK, tasks.c.again.is_(None)).values(
    state=TaskState.DONE.value, payload="", last_error="", lease_until=None
)
_END_LEASES = (
    update(tasks)
    .where(tasks.c.lease_until.is_not(None))
    .values(
        state=_PENDING,
        lease=tasks.c.lease + 1,
        lease_until=None,
        not_before=bindparam("now"),
        debounce=0,
        again=None,
    )
)
_TAKE_BACK = _END_LEASES.where(_OF_BANK).values(attempts=tasks.c.attempts - 1)
_MAKE_DUE = (
    update(tasks)
    .where(_OF_BANK, among(tasks.c.kind, "kinds"), tasks.c.state.in_([_PENDING, TaskState.DEAD.value]))
    .values(state=_PENDING, attempts=0, uncounted=0, not_before=bindparam("now"), debounce=0)
)

# Tasks of a batch that are still being collected. A task that was made due, leased or failed has no `debounce`.
_GATHERING = (
    tasks.c.bank == bindparam("of"),
    tasks.c.kind == bindparam("of_kind"),
    tasks.c.batch == bindparam("in_batch"),
    BATCHED,
    tasks.c.state == _PENDING,
    tasks.c.debounce > 0,
    tasks.c.due > bindparam("now"),
)
_GATHERED = select(func.coalesce(func.sum(tasks.c.size), 0)).where(*_GATHERING)
_POSTPONE = (
    update(tasks).where(*_GATHERING).values(not_before=bindparam("until"), debounce=bindparam("delay"))
)

_NEW_TASK = insert(tasks)
_new = _NEW_TASK.excluded
_ended = tasks.c.due.is_(None)
_ENQUEUE = _NEW_TASK.on_conflict_do_update(
    index_elements=["bank", "kind", "key"],
    index_where=KEYED,
    set_={
        "payload": _new.payload,
        "last_error": case(
            (tasks.c.due.is_not(None) & (_new.last_error == ""), tasks.c.last_error), else_=_new.last_error
        ),
        "again": case((tasks.c.state == _LEASED, _new.debounce)),
        **{
            name: case((_ended, _new[name]), else_=tasks.c[name])
            for name in ("not_before", "debounce", "attempts", "uncounted", "state")
        },
    },
    where=or_(
        _ended,
        tasks.c.payload != _new.payload,
        (_new.last_error != "") & (_new.last_error != tasks.c.last_error),
        (tasks.c.state == _LEASED) & tasks.c.again.is_distinct_from(_new.debounce),
    ),
)
_ENQUEUE_ONE = _ENQUEUE.returning(tasks.c.id)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Delays of the tasks that a change of facts enqueues in the same transaction.

    Attributes:
        clock: the ledger's clock.
        observing: delay between a change of an entity's facts and the update of its observations; None enqueues no
            such task.
        refreshing: delay until mental models with automatic refresh are refreshed.
        reinforcing: delay until opinions are assessed against new facts.
    """

    clock: Clock
    observing: timedelta | None = None
    refreshing: timedelta = timedelta(0)
    reinforcing: timedelta = timedelta(0)


class TaskQueue:
    """A queue with leases. If the holder of a lease is killed, its task is due again when the lease ends.

    Many threads and processes may lease tasks at the same time. Callers pass durations, and only the ledger's clock is
    used, so that their clocks need not agree. The holder of a lease identifies it by a claim; an outdated claim changes
    nothing. None of these methods raises a bank's revision.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def lease(
        self,
        kinds: Collection[TaskKind],
        *,
        lasting: timedelta,
        bank: str | None = None,
        besides: Collection[str] = (),
        early: bool = False,
    ) -> Task | None:
        """Lease the task of these kinds that has been due longest; return None if none is due.

        A task is due if it is PENDING and its time has come, or LEASED and its lease has ended. The lease counts as an
        attempt and is durable before this returns. Due tasks of the same batch are leased together with the task.

        Args:
            kinds: the kinds of tasks that the caller can run.
            lasting: duration of the lease, unless it is renewed.
            bank: name of the only bank to search; None means all banks, at the same cost.
            besides: banks to skip, for workers that run one task per bank at a time.
            early: ignore the delay of keyed and batched tasks that were not leased since they were enqueued.

        Raises:
            BankNotFound: no bank has this name.
        """
        with self._database.writing() as connection:
            now = to_micros(self._database.clock.now())
            values = {**_kind_values(kinds, besides), "now": now, "until": now + lasting // _MICROSECOND}
            if bank is not None:
                values["of"] = find_bank(connection, bank).id
            first = connection.execute(_FIRST_DUE[early, bank is not None], values).one_or_none()
            if first is None:
                return None
            leased = {"of": first.bank, "task": first.id, "until": values["until"]}
            task = _task_from(connection.execute(_LEASE, leased).one(), first.name)
            if not task.batch:
                return task
            batch = {"of": first.bank, "of_kind": task.kind.value, "in_batch": task.batch}
            others = connection.execute(_LEASE_OTHERS[early], {**leased, **batch, "now": now})
            return replace(task, others=tuple(_task_from(row, first.name) for row in others))

    def renew(self, claim: TaskClaim, *, lasting: timedelta) -> bool:
        """Extend a lease from now on. Return False if it is no longer valid: taken over, ended, or done."""
        with self._database.writing() as connection:
            until = to_micros(self._database.clock.now()) + lasting // _MICROSECOND
            return connection.execute(_RENEW, {**_claim(claim), "until": until}).rowcount > 0

    def fail(
        self, claim: TaskClaim, *, reason: str, retry_in: timedelta | None, counted: bool = True
    ) -> bool:
        """End a lease without a result. Return False, changing nothing, if it is no longer valid.

        Args:
            claim: the lease.
            reason: the reason to show to people. Replaces the previous one.
            retry_in: delay until the task is due again. None makes it DEAD, or restarts it if it was enqueued again during
                the lease.
            counted: whether this counts as an attempt.
        """
        with self._database.writing() as connection:
            now = to_micros(self._database.clock.now())
            if retry_in is None and connection.execute(_RESTART, {**_claim(claim), "now": now}).rowcount:
                return True
            values = {
                **_claim(claim),
                "outcome": TaskState.DEAD.value if retry_in is None else _PENDING,
                "reason": reason,
                "retry_at": None if retry_in is None else now + retry_in // _MICROSECOND,
                "uncounted_attempts": int(not counted),
            }
            return connection.execute(_FAIL, values).rowcount > 0

    def next_due(self, kinds: Collection[TaskKind], *, besides: Collection[str] = ()) -> timedelta | None:
        """Return the time until a task of these kinds is due in a bank not in `besides`; None if there is none.

        Zero means that one is due now.
        """
        with self._database.reading_once() as connection:
            due = min(connection.execute(_NEXT, _kind_values(kinds, besides)).scalars(), default=None)
            now = to_micros(self._database.clock.now())
            return None if due is None else max(due - now, 0) * _MICROSECOND

    def counts(self) -> dict[TaskState, int]:
        """Return the number of tasks of all banks by state."""
        with self._database.reading_once() as connection:
            counts: dict[str, int] = dict(connection.execute(_COUNTS).all())
            return {state: counts.get(state, 0) for state in TaskState}

    def make_due(self, bank: str, kinds: Collection[TaskKind]) -> int:
        """Make PENDING and DEAD tasks of these kinds due now and reset their attempts; return their number."""
        with self._database.writing(bank) as connection:
            row, now = find_bank(connection, bank).id, to_micros(self._database.clock.now())
            return connection.execute(_MAKE_DUE, {"of": row, "kinds": sorted(kinds), "now": now}).rowcount

    def of_bank(self, bank: str) -> list[Task]:
        """Return all tasks of the bank, including done and dead ones, in the order in which they were first enqueued."""
        with self._database.reading() as connection:
            rows = connection.execute(_BANK_TASKS, {"bank": find_bank(connection, bank).id})
            return [_task_from(row, bank) for row in rows]


def enqueue(
    connection: Connection, bank: int, writes: Collection[TaskWrite], now: datetime
) -> tuple[Task, ...]:
    """Insert tasks, in order, or update those whose key exists. Unchanged tasks are not written."""
    return tuple(_enqueued(connection, bank, write, now) for write in writes)


def _enqueued(connection: Connection, bank: int, write: TaskWrite, now: datetime) -> Task:
    row = _new_row(bank, write, now)
    if write.batch is not None:
        _make_room(connection, row, write.batch.room, now)
    task = connection.execute(_ENQUEUE_ONE, row).scalar()
    if task is None:  # the task exists and is unchanged
        by_key = {name: row[name] for name in ("bank", "kind", "key")}
        stored = connection.execute(_KEYED_TASK, by_key).one()
    else:
        stored = connection.execute(_TASK, {"bank": row["bank"], "id": task}).one()
    return _task_from(stored, stored.name)


def _make_room(connection: Connection, row: Values, room: int, now: datetime) -> None:
    """Make room for a new task in its batch: postpone the batch's waiting tasks, or make them due if the batch is full."""
    batch = {"of": row["bank"], "of_kind": row["kind"], "in_batch": row["batch"], "now": to_micros(now)}
    full = connection.execute(_GATHERED, batch).scalar_one() + row["size"] > room
    due = (
        {"until": batch["now"], "delay": 0}
        if full
        else {"until": row["not_before"], "delay": row["debounce"]}
    )
    connection.execute(_POSTPONE, {**batch, **due})


def enqueue_keys(connection: Connection, bank: int, writes: Collection[TaskWrite], now: datetime) -> None:
    """Enqueue many keyed tasks together, without returning them."""
    run_many(connection, _ENQUEUE, [_new_row(bank, write, now) for write in writes])


def _new_row(bank: int, write: TaskWrite, now: datetime) -> dict[str, Any]:
    delay = write.delay // _MICROSECOND
    return {
        "bank": bank,
        "kind": write.kind.value,
        "key": write.key,
        "payload": write.payload,
        "state": _PENDING,
        "not_before": to_micros(now) + delay,
        "debounce": delay if write.key or write.batch else 0,
        "batch": write.batch.name if write.batch else "",
        "size": write.batch.size if write.batch else 0,
        "last_error": write.reason,
    }


def complete(connection: Connection, bank: int, claims: Collection[TaskClaim], now: datetime) -> None:
    """Mark tasks as done and drop their payloads. Tasks that were enqueued again during the lease become pending.

    Raises:
        TaskClosed: a lease is no longer valid; the transaction must be rolled back.
    """
    for claim in claims:
        values = {**_claim(claim), "of": bank}
        if connection.execute(_RESTART_OF_BANK, {**values, "now": to_micros(now)}).rowcount:
            continue
        if not connection.execute(_COMPLETE, values).rowcount:
            raise TaskClosed(claim.task)


def take_back(connection: Connection, bank: int | None, now: datetime) -> None:
    """End the leases of a bank, or of all banks, so that their holders can no longer commit.

    The leased tasks go back into the queue, behind those that are already due. For a single bank, the interrupted attempts
    do not count. For all banks they do, because the holders are gone, and a task that always kills its process must
    eventually become DEAD.
    """
    if bank is None:
        connection.execute(_END_LEASES, {"now": to_micros(now)})
    else:
        connection.execute(_TAKE_BACK, {"of": bank, "now": to_micros(now)})


def end_leases(database: Database) -> None:
    """End all leases. Only for a process that alone has the ledger open, right after opening it."""
    with database.reading() as connection:
        leased = connection.execute(_ANY_LEASED).first()
    if leased:
        with database.writing() as connection:
            take_back(connection, None, database.clock.now())


def _kind_values(kinds: Collection[TaskKind], besides: Collection[str]) -> dict[str, Any]:
    return {"kinds": sorted(kinds), "besides": sorted(besides)}


def _claim(claim: TaskClaim) -> dict[str, Any]:
    return {"of_bank": claim.bank, "task": claim.task, "claim": claim.lease}


def _task_from(row: Row[*tuple[Any, ...]], bank: str) -> Task:
    return Task(
        id=row.id,
        bank=bank,
        kind=TaskKind(row.kind),
        key=row.key,
        state=TaskState(row.state),
        attempts=row.attempts,
        uncounted=row.uncounted,
        lease=row.lease,
        not_before=from_micros(row.not_before),
        lease_until=None if row.lease_until is None else from_micros(row.lease_until),
        reason=row.last_error,
        payload=row.payload,
        batch=row.batch,
    )
